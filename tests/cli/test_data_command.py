"""`tabsa data` and `tabsa data fetch`, through the command line's own main."""

import hashlib
import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer

import tabsa.cli
from tabsa.cli import data
from tabsa.datasets.locate import DATASET, Entry, File, catalogue


class Result(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `tabsa data ...` from an empty folder, with an empty cache and no data anywhere."""
    root = typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False)
    root.add_typer(data.app, name="data")
    monkeypatch.setattr("tabsa.cli.commands.app", root)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.delenv("TABSA_DATA", raising=False)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "80")

    def command(*arguments: str | Path) -> Result:
        monkeypatch.setattr(sys, "argv", ["tabsa", "data", *map(str, arguments)])
        # `main` changes how warnings are shown; this puts it back.
        with warnings.catch_warnings(), pytest.raises(SystemExit) as caught:
            tabsa.cli.main()
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err
        return Result(int(caught.value.code or 0), printed.out, printed.err)

    return command


def opinion(target: str, aspect: str = "price") -> dict[str, str]:
    return {"target_entity": target, "aspect": aspect, "sentiment": "Positive"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with a Sentihood of 2 / 1 / 1 sentences, the first of which repeats an opinion."""
    one = {"id": 1, "text": "LOCATION1 is cheap", "opinions": [opinion("LOCATION1"), opinion("LOCATION1")]}
    two = {"id": 2, "text": "LOCATION1 and LOCATION2 are cheap", "opinions": [opinion("LOCATION2")]}
    place = tmp_path / "data" / "sentihood"
    place.mkdir(parents=True)
    for split, records in {"train": [one, two], "dev": [two], "test": [two]}.items():
        (place / f"sentihood-{split}.json").write_text(json.dumps(records))
    return tmp_path / "data"


def listed(run: Run, *arguments: str | Path) -> dict[str, dict[str, Any]]:
    result = run(*arguments, "--json")
    assert (result.code, result.err) == (0, "")
    return {one["name"]: one for one in json.loads(result.out)}


def test_the_list_counts_what_is_found(run: Run, folder: Path) -> None:
    result = run("--data-dir", folder)
    printed = " ".join(result.out.split())
    assert result.code == 0
    assert "2 / 1 / 1 sentences" in printed
    assert "differ from" in printed
    assert "not found: tabsa data" in printed
    assert "dropped 1 repeated opinion" in result.err
    assert max(map(len, result.out.splitlines())) <= 80


def test_json_has_it_all(run: Run, folder: Path) -> None:
    found = listed(run, "--data-dir", folder)["sentihood"]
    assert found["folder"] == str(folder)
    assert found["splits"]["train"] == {"sentences": 2, "groups": 3}
    assert found["get"] == "tabsa data fetch sentihood"
    assert found["missing"] == []
    assert found["error"] is None
    assert found["warnings"] == ["sentihood train: dropped 1 repeated opinion"]
    for file in found["files"]:
        content = Path(file["path"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["size"] == len(content)
        assert file["published"] is False


def test_json_names_every_dataset_and_resource_where_there_is_none(run: Run) -> None:
    found = listed(run)
    assert found.keys() >= catalogue().keys()
    for name, source in catalogue().items():
        assert found[name]["folder"] is None
        if source.files:
            assert found[name]["missing"] == [file.path for file in source.files]
    assert found["semeval2014-3way"]["get"] == "tabsa data fetch semeval2014"
    assert found["senticnet4"]["get"] == "bring your own senticnet/senticnet4.tsv"


def test_the_environment_names_a_folder_too(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TABSA_DATA", str(folder))
    assert listed(run)["sentihood"]["folder"] == str(folder)


def test_word_vectors_are_listed_by_size(run: Run, folder: Path) -> None:
    (folder / "glove").mkdir()
    (folder / "glove" / "glove.840B.300d.zip").write_bytes(bytes(1500))
    (file,) = listed(run, "--data-dir", folder)["glove-840b"]["files"]
    assert (file["size"], file["sha256"], file["published"]) == (1500, None, False)


def test_an_incomplete_dataset_says_so(run: Run, folder: Path) -> None:
    (folder / "sentihood" / "sentihood-dev.json").unlink()
    assert listed(run, "--data-dir", folder)["sentihood"]["missing"] == ["sentihood/sentihood-dev.json"]
    result = run("--data-dir", folder)
    assert result.code == 0
    assert "incomplete: tabsa data" in " ".join(result.out.split())


def test_a_broken_dataset_does_not_hide_the_others(run: Run, folder: Path) -> None:
    (folder / "sentihood" / "sentihood-dev.json").write_text("[")
    result = run("--data-dir", folder)
    assert result.code == 0
    assert "sentihood-dev.json" in result.err
    assert "glove-840b" in result.out
    assert "sentihood-dev.json" in listed(run, "--data-dir", folder)["sentihood"]["error"]


def test_a_folder_that_is_not_there_is_one_line(run: Run, tmp_path: Path) -> None:
    result = run("--data-dir", tmp_path / "nowhere")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith("error: ")
    assert "nowhere" in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["--nonsense"], ["nonsense"], ["fetch"], ["fetch", "sentihood", "again"]])
def test_wrong_usage_is_2(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).code == 2


@pytest.mark.parametrize(
    ("arguments", "example"), [([], "tabsa data --json"), (["fetch"], "tabsa data fetch sentihood")]
)
def test_help_has_an_example(run: Run, arguments: list[str], example: str) -> None:
    result = run(*arguments, "--help")
    assert result.code == 0
    assert f"Example: {example}" in " ".join(result.out.split())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nonsense", "choose one of sentihood, "),
        ("senticnet4", "put your own copy at "),
        ("places", "it is in the package"),
    ],
)
def test_what_cannot_be_fetched_is_one_line(run: Run, name: str, expected: str) -> None:
    result = run("fetch", name)
    assert (result.code, result.out) == (1, "")
    assert expected in result.err
    assert result.err.count("\n") == 1


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def published(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Entry]:
    """The small Sentihood, published by a server of this process in place of the real one."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        files = []
        for split in ("train", "dev", "test"):
            path = f"sentihood/sentihood-{split}.json"
            content = (folder / path).read_bytes()
            url = f"http://127.0.0.1:{server.server_port}/{path}"
            files.append(File(path, len(content), hashlib.sha256(content).hexdigest(), url))
        entry = Entry("sentihood", DATASET, "small", "none", "nobody", tuple(files), datasets=("sentihood",))
        monkeypatch.setitem(catalogue(), "sentihood", entry)
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield entry
        server.shutdown()


@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("where", ["before", "after", "environment", "cache"])
def test_fetch_brings_what_the_list_then_finds(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    place = tmp_path / "fetched"
    if where == "environment":
        monkeypatch.setenv("TABSA_DATA", str(place))
    before = ["--data-dir", place] if where == "before" else []
    after = ["--data-dir", place] if where == "after" else []
    result = run(*before, "fetch", "sentihood", *after)
    assert result.code == 0
    paths = [Path(line) for line in result.out.splitlines()]
    assert [path.name for path in paths] == [f"sentihood-{split}.json" for split in ("train", "dev", "test")]
    assert all(path.is_file() for path in paths)
    assert paths[0].is_relative_to(tmp_path / "home" if where == "cache" else place)
    assert result.err == "Licence: none. Cite: nobody.\n", "no progress bar where stderr is not a terminal"

    found = listed(run, *before, *after)["sentihood"]
    assert found["splits"]["train"]["sentences"] == 2
    assert all(file["published"] for file in found["files"])


def test_fetch_of_other_bytes_is_refused(run: Run, folder: Path, tmp_path: Path, published: Entry) -> None:
    path = folder / "sentihood" / "sentihood-dev.json"
    path.write_bytes(path.read_bytes().replace(b"cheap", b"clean"))
    got = hashlib.sha256(path.read_bytes()).hexdigest()
    place = tmp_path / "fetched"

    result = run("fetch", "sentihood", "--data-dir", place)
    assert (result.code, result.out) == (1, "")
    assert result.err.count("\n") == 1
    assert got in result.err
    assert str(published.files[1].sha256) in result.err
    assert not (place / "sentihood" / path.name).exists()


@pytest.mark.usefixtures("published")
def test_progress_is_shown_on_a_terminal(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data.err, "_force_terminal", True)
    result = run("fetch", "sentihood", "--data-dir", tmp_path / "fetched")
    assert result.code == 0
    assert "100%" in result.err
    assert len(result.out.splitlines()) == 3
