"""`tabsa data`, `tabsa data fetch` and `tabsa data check`, through the command line's own main."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from command_line import CommandLine, refused, tabsa
from tabsa.datasets.locate import catalogue


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder to run in, with an empty cache and no data anywhere."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("TABSA_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a Sentihood of other files than those published."""
    place = tmp_path / "data" / "sentihood"
    place.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (place / f"sentihood-{split}.json").write_text("[]")
    return tmp_path / "data"


def listed(*arguments: object) -> dict[str, dict[str, Any]]:
    code, out, err = tabsa("data", *arguments, "--json")
    assert (code, err) == (0, "")
    return {one["name"]: one for one in json.loads(out)}


def test_the_list_says_what_is_found(command_line: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "glove").mkdir()
    (folder / "glove" / "glove.840B.300d.zip").write_bytes(bytes(1500))
    code, out, err = command_line("data", "--data-dir", folder)
    assert (code, err) == (0, "")
    printed = " ".join(out.split())
    assert "differ from" in printed
    assert "not found: tabsa data" in printed
    assert max(map(len, out.splitlines())) <= 80
    monkeypatch.setenv("TABSA_DATA", str(folder))
    found = listed()
    sentihood = found["sentihood"]
    assert (sentihood["folder"], sentihood["get"]) == (str(folder), "tabsa data fetch sentihood")
    assert sentihood["missing"] == []
    for file in sentihood["files"]:
        content = Path(file["path"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert (file["size"], file["published"]) == (len(content), False)
    (vectors,) = found["glove-840b"]["files"]
    assert (vectors["size"], vectors["sha256"], vectors["published"]) == (1500, None, False)


def test_json_names_all_where_there_is_none() -> None:
    found = listed()
    assert found.keys() >= catalogue().keys()
    for name, source in catalogue().items():
        assert found[name]["folder"] is None
        if source.files:
            assert found[name]["missing"] == [file.path for file in source.files]
    assert found["semeval2014-3way"]["get"] == "tabsa data fetch semeval2014"
    assert found["senticnet4"]["get"] == "bring your own senticnet/senticnet4.tsv"


def test_a_dataset_that_is_incomplete(command_line: CommandLine, folder: Path) -> None:
    (folder / "sentihood" / "sentihood-dev.json").unlink()
    assert listed("--data-dir", folder)["sentihood"]["missing"] == ["sentihood/sentihood-dev.json"]
    assert "incomplete: tabsa data" in " ".join(command_line("data", "--data-dir", folder)[1].split())
    assert "nowhere" in refused("data", "--data-dir", folder / "nowhere")


@pytest.mark.parametrize("where", ["before", "after", "environment", "cache"])
def test_fetch_says_where_files_are_and_what_they_may_be_used_for(
    command_line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def fetch(name: str, place: Path, *, progress: bool) -> list[Path]:
        assert not progress, "a bar where stderr is not a terminal"
        return [place / name / "a.json"]

    monkeypatch.setattr("tabsa.datasets.locate.fetch", fetch)
    place = tmp_path / "fetched"
    if where == "environment":
        monkeypatch.setenv("TABSA_DATA", str(place))
    before, after = (["--data-dir", place] if where == name else [] for name in ("before", "after"))
    code, out, err = command_line("data", *before, "fetch", "sentihood", *after)
    expected = tmp_path / "home" / "tabsa" if where == "cache" else place
    assert (code, out) == (0, f"{expected / 'sentihood' / 'a.json'}\n")
    assert re.fullmatch(r"Licence: .+\. Cite: .+\.\n", err)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = (f"{n},Leeds is number {n}.,Leeds,price,{('positive', 'negative')[n % 2]}\n" for n in range(100, 120))
    path = tmp_path / "my.csv"
    path.write_text("id,text,target,aspect,polarity\n" + "".join(rows), encoding="utf-8")
    return path


def test_a_file_with_nothing_wrong(command_line: CommandLine, file: Path) -> None:
    code, out, err = command_line("data", "check", file)
    assert (code, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "20 texts, 0 with two or more targets" in lines
    assert "20 targets: 20 named, 0 unnamed, 0 not in text" in lines
    assert "20 questions (a target and an aspect): 20 judged, 0 none" in lines
    assert "polarities: positive 10 (50%), negative 10 (50%)" in lines
    assert lines[-1] == "Nothing looks wrong."


def test_findings_of_a_kind_are_capped_and_those_alike_are_one_line(command_line: CommandLine, file: Path) -> None:
    with file.open("a", encoding="utf-8") as stream:
        stream.writelines(f"{name},Leeds is {name}.,Leeds,price,{name}\n" for name in "abcde")
        stream.writelines(f"{n},,Leeds,price,positive\n" for n in range(10))
    code, out, err = command_line("data", "check", file)
    assert (code, err) == (0, "")
    assert "rows that cannot be read (10): loading stops at the first one" in out
    printed = " ".join(out.split())
    assert "row 27 'text' is empty; expected the text that is judged (also 28, 29, 30 ...)" in printed
    shown = re.findall(r"^ +row (\d+)  polarity '(\w)'", out, re.MULTILINE)
    assert shown == [("22", "a"), ("23", "b"), ("24", "c")]
    assert "15 findings; --json lists them all." in out
    found = json.loads(command_line("data", "check", file, "--json")[1])
    assert (found["file"], found["unit"], found["texts"], len(found["findings"])) == (str(file), "row", 25, 15)
    assert found["findings"][0].keys() == {"code", "line", "message"}


def test_any_content_fits_the_terminal_and_does_not_steer_it(command_line: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "my.jsonl"
    names = [f"{'a very long name ' * 5}{n}" for n in range(20)] + ["\x1b[31mred[/]", "[bold]\x07"]
    opinions = [{"target": name, "aspect": name, "polarity": name} for name in names]
    path.write_text(json.dumps({"text": "x" * 300, "opinions": opinions * 100}) + "\n", encoding="utf-8")
    code, out, _ = command_line("data", "check", path)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert not {"\x1b", "\x07"} & set(out)


def test_columns_are_named_by_options(command_line: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_text("key,review,brand,topic,mood\n7,Leeds is dear.,Leeds,price,negative\n", encoding="utf-8")
    assert refused("data", "check", path) == (
        f"{path} has no columns 'target', 'aspect', 'polarity'; it has key, review, brand, topic, mood; name "
        "columns with --text-column and others like it, or in a configuration under data.columns"
    )
    options = ["--text-column", "review", "--target-column", "brand", "--aspect-column", "topic"]
    options += ["--polarity-column", "mood", "--id-column", "key"]
    found = json.loads(command_line("data", "check", path, *options, "--json")[1])
    assert (found["texts"], found["opinions"], found["targets"]["named"]) == (1, 1, 1)
    guessed = json.loads(command_line("data", "check", path, *options[2:], "--json")[1])
    assert guessed["findings"][0]["code"] == "guessed_text_column"
