"""Model folders of every form there was: written by the code of their time, and its answers are still theirs.

tests/data/folders/NAME is a model of random weights, tests/data/folders/NAME.json what the code that wrote it said of
`TEXTS`, by precision: target, aspect, polarity and probabilities.

entnet-first      the first graphs, in float32; options that were dropped later
entnet-biased     weights in float16, a bias for each class, a graph in int8
lr-dropped        regressions, with options that were dropped later
reader-first      a reader with question layers (MPNet), in float16
reader-int8       questions along the encoder, numbers in int8, calibrated for presence and polarity
reader-windows    long texts in windows, implied targets; the last without checksums.json
entnet-checksums, reader-checksums    with checksums.json
"""

import json
import shutil
from pathlib import Path

import pytest

import tabsa
from tabsa.checkpoint.checksums import CHECKSUMS
from tabsa.checkpoint.model_config import FORMAT
from tabsa.checkpoint.model_folder import read_folder
from tabsa.models.export import export

FOLDERS = Path(__file__).parents[1] / "data" / "folders"
NAMES = sorted(path.name for path in FOLDERS.iterdir() if path.is_dir())
TEXTS = (
    "Camden is cheap but not safe, and Hull is far from a nice place.",
    "The price of this phone: great! Its battery is awful. Camden was nice, I said, and the room good.",
    "Nothing is said of anybody here.",
)
# Of a probability: products in int8 are rounded otherwise on some processors.
TOLERANCE = {"float32": 1e-4, "int8": 2e-2}


def differences(path: Path, name: str, precision: str) -> float:
    """The largest difference of a probability from what it was, after all else was found to be the same."""
    expected = json.loads((FOLDERS / f"{name}.json").read_text())[precision]
    model = tabsa.load(path, threads=1, precision=precision)  # type: ignore[arg-type]
    largest = 0.0
    for text, opinions in zip(TEXTS, expected, strict=True):
        found = model.predict(text, ["Camden", "Hull"]).opinions
        assert [[o.target, o.aspect] for o in found] == [opinion[:2] for opinion in opinions]
        for opinion, (_, _, polarity, shares) in zip(found, opinions, strict=True):
            assert opinion.probabilities.keys() == shares.keys()
            largest = max(largest, *(abs(opinion.probabilities[label] - share) for label, share in shares.items()))
            if precision == "float32":
                assert opinion.polarity == polarity
    return largest


def precisions(name: str) -> list[str]:
    return list(json.loads((FOLDERS / f"{name}.json").read_text()))


def test_all_are_there() -> None:
    assert set(NAMES) == {
        *("entnet-biased", "entnet-checksums", "entnet-first", "lr-dropped"),
        *("reader-checksums", "reader-first", "reader-int8", "reader-windows"),
    }
    assert {read_folder(FOLDERS / name).config.format for name in NAMES} == {FORMAT}
    assert {name for name in NAMES if (FOLDERS / name / CHECKSUMS).exists()} == {"entnet-checksums", "reader-checksums"}
    assert sum(path.stat().st_size for path in FOLDERS.rglob("*") if path.is_file()) < 500_000


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("name", "precision"), [(name, one) for name in NAMES for one in precisions(name)])
def test_its_answers_are_those_of_its_time(name: str, precision: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert differences(FOLDERS / name, name, precision) < TOLERANCE[precision]
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("lr")])
def test_and_so_are_those_of_a_graph_made_now(name: str, tmp_path: Path) -> None:
    path = Path(shutil.copytree(FOLDERS / name, tmp_path / name))
    export(read_folder(path))
    assert differences(path, name, "float32") < TOLERANCE["float32"]


@pytest.mark.parametrize("name", NAMES)
def test_saved_for_others_it_is_of_today(name: str, tmp_path: Path) -> None:
    tabsa.load(FOLDERS / name).save_pretrained(tmp_path / name)
    assert (tmp_path / name / CHECKSUMS).is_file()
    assert read_folder(tmp_path / name).sha256 == read_folder(FOLDERS / name).sha256
    assert differences(tmp_path / name, name, "float32") < TOLERANCE["float32"]
