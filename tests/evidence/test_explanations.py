import re
import struct
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ET

import pytest

from prediction_factory import made_up
from tabsa.errors import OutputError
from tabsa.evidence import write_explanation


def size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def test_the_extension_chooses_the_format(tmp_path):
    pytest.importorskip("matplotlib")
    for name, start in (
        ("a.html", b"<!doctype html>"),
        ("b.HTML", b"<!doctype"),
        ("c.png", b"\x89PNG"),
        ("d.svg", b"<?xml"),
    ):
        path = write_explanation(made_up(), tmp_path / name)
        assert path == tmp_path / name
        assert path.read_bytes().startswith(start)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.html", "b.HTML", "c.png", "d.svg"]


@pytest.mark.parametrize("name", ["a.pdf", "a", "html", "a.html.gz"])
def test_another_extension_is_refused(tmp_path, name):
    with pytest.raises(OutputError, match=r"ends in \.html, \.png, \.svg"):
        write_explanation(made_up(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_explanation(made_up(), tmp_path / "file" / "a.html")


def test_what_was_there_stays_when_drawing_fails(tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    path.write_bytes(b"before")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        OutputError, match=r"needs matplotlib: pip install 'tabsa\[plot\]'; a page \(\.html\) needs nothing"
    ):
        write_explanation(made_up(), path)
    assert path.read_bytes() == b"before"
    write_explanation(made_up(), tmp_path / "a.html")  # needs none


def test_half_a_character_does_not_stop_a_page(tmp_path):
    path = write_explanation(made_up(text="Camden \ud800 is dear", targets=["Camden"]), tmp_path / "a.html")
    assert "</mark> \ufffd is dear" in path.read_text("utf-8")


def test_importing_loads_no_matplotlib():
    code = "import sys, tabsa.evidence; assert not {'matplotlib', 'onnxruntime', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- pictures


@pytest.fixture
def drawn(tmp_path):
    pytest.importorskip("matplotlib")

    def draw(prediction, name="a.png", **options):
        return write_explanation(prediction, tmp_path / name, **options).read_bytes()

    return draw


def test_a_picture_grows_with_what_it_shows(drawn):
    one = size(drawn(made_up()))
    two = size(drawn([made_up(), made_up()], "two.png"))
    assert two[0] == one[0]
    assert 1.6 * one[1] < two[1] < 2 * one[1]
    long = size(drawn(made_up(text="Camden " + "is very " * 22 + "dear"), "long.png"))
    assert long[0] > one[0]


def test_pixels_are_shaded_by_the_gates(drawn, tmp_path):
    """The palest and the reddest pictures differ as their gates do."""
    image = pytest.importorskip("matplotlib.image")
    reds = []
    for value in (0.0, 0.5, 1.0):
        prediction = made_up()
        prediction.passages[0].gates[:] = value
        drawn(prediction)
        pixels = image.imread(tmp_path / "a.png")[..., :3]
        reds.append(float((pixels[..., 0] - pixels[..., 1]).clip(0).mean()))
    assert reds[0] < reds[1] < reds[2]


def test_a_vector_picture_is_sound_and_the_same_each_time(drawn):
    text = "Camden costs $5 or $6 & <b>more</b> \x01 --> end"
    first, second = drawn(made_up(text=text), "a.svg"), drawn(made_up(text=text), "b.svg")
    assert first == second
    root = ET.fromstring(first)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [e for e in root.iter() if e.tag.endswith(("script", "image", "foreignObject"))]


def test_odd_characters_give_no_warning(drawn):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = drawn(made_up(text="Camden 東京 😀 \u0e01 $x$ {y} \\frac is dear"))
    assert min(size(picture)) > 100


def test_dollars_in_a_name_are_no_formula(drawn):
    name = "$\\frac$"  # no formula that can be drawn, either
    found = {(name, "price"): "negative"}
    picture = drawn(made_up(text=f"{name} is dear", targets=[name], found=found), "a.svg", title=name)
    written = re.findall(r"<!-- (.*?) -->", picture.decode())  # what each run of glyphs says
    assert written.count(name) == 3  # the title, the target's row, the word
    assert {f"price: {name}", f"→ {name}", f"← {name}"} <= set(written)


@pytest.mark.parametrize(
    "prediction",
    [made_up(directions=0), made_up(directions=1), made_up(targets=["Oslo"]), made_up(found={}), made_up(targets=[])],
    ids=["no gates", "one direction", "not mentioned", "no opinion", "no target"],
)
def test_anything_can_be_drawn(drawn, prediction):
    assert min(size(drawn(prediction))) > 100


def test_too_many_texts_for_a_picture_are_refused(drawn):
    with pytest.raises(OutputError, match=r"200 texts are too many for one picture; write a page"):
        drawn([made_up()] * 200)
