"""`tabsa report`: a page and the numbers of a scored table."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

import scored_tables as made
from command_line import CommandLine, refused
from tabsa.pages.counting import summarise

ROOT = Path(__file__).parents[2]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    return made.long(tmp_path / "scored.csv", made.answered(9, 80))


def test_a_page_and_its_numbers(command_line: CommandLine, scored: Path, tmp_path: Path) -> None:
    code, printed, notes = command_line("report", scored, "--out", tmp_path / "report.html", "--title", "My <reviews>")
    assert code == 0
    summary = summarise(scored, title="My <reviews>")
    assert printed == " ".join(summary.sentences()) + "\n"
    assert notes == f"wrote {tmp_path / 'report.html'}\nwrote {tmp_path / 'report.csv'}\n"
    assert "My &lt;reviews&gt;" in (tmp_path / "report.html").read_text("utf-8")
    assert len((tmp_path / "report.csv").read_text().splitlines()) == 1 + len(summary.cells)


def test_what_is_there_is_replaced_only_when_asked(command_line: CommandLine, scored: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    (tmp_path / "report.csv").write_text("mine")
    line = f"{tmp_path / 'report.csv'} exists; replace it with --overwrite, or choose another name"
    assert refused("report", scored, "--out", out) == line
    assert (tmp_path / "report.csv").read_text() == "mine"
    assert not out.exists()
    assert command_line("report", scored, "--out", out, "--overwrite")[0] == 0
    assert (tmp_path / "report.csv").read_text() != "mine"


def test_the_input_is_never_written_over(scored: Path) -> None:
    before = scored.read_bytes()
    line = refused("report", scored, "--out", scored.with_suffix(".html"), "--overwrite")
    assert line == f"{scored} is the input; choose another name"
    assert scored.read_bytes() == before
    folder = scored.parent / "many"
    folder.mkdir()
    made.long(folder / "a.csv", made.answered(1, 5))
    assert "would lie among the scored tables" in refused("report", folder, "--out", folder / "report.html")
    assert [path.name for path in folder.iterdir()] == ["a.csv"]


def test_json_for_programs(command_line: CommandLine, scored: Path) -> None:
    code, printed, notes = command_line("report", scored, "--json")
    assert (code, notes) == (0, "")
    assert json.loads(printed) == summarise(scored).to_dict()


def test_options_reach_the_table(command_line: CommandLine, tmp_path: Path) -> None:
    rows = [{"key": n, "words": "a b c d", "day": "x", "on": "3/4/2024", "p/q": "positive"} for n in range(3)]
    path = made.write(tmp_path / "t.csv", rows)
    names = ("--text-column", "words", "--id-column", "key", "--date-column", "on", "--day-first")
    code, printed, _ = command_line("report", path, *names, "--json")
    found = json.loads(printed)
    assert code == 0
    assert (found["targets"], found["aspects"]) == (["p"], ["q"])
    assert found["columns"] == {"text": "words", "id": "key", "date": "on"}
    assert found["time"]["total"][0]["start"] == "2024-04-03"
    own = made.write(tmp_path / "own.csv", [{"text": "a b", "who": "x", "price": "negative"}])
    _, printed, notes = command_line("report", own, "--target-column", "who", "--json")
    assert (json.loads(printed)["targets"], notes) == (["x"], "")
    _, printed, notes = command_line("report", own, "--json")
    assert json.loads(printed)["targets"] == [None]
    assert notes.startswith(
        "warning: the answers are of what texts do not name; if a column names it, say which with --t"
    )


WHOSE = "two.csv has several answers in a cell, and no column tells whose they are; say with --target-column which does"
NO_PAGE = "cannot write a page to 'r.pdf'; expected a name that ends in .html (a browser prints it)"


@pytest.mark.parametrize(("arguments", "line"), [(["two.csv"], WHOSE), (["plain.csv", "--out", "r.pdf"], NO_PAGE)])
def test_what_is_wrong_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    made.write(tmp_path / "plain.csv", [{"text": "a", "stars": 3}])
    made.write(tmp_path / "two.csv", [{"text": "a", "price": "positive;negative"}])
    assert refused("report", *arguments) == line


def test_the_documentation_runs(
    command_line: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path
) -> None:
    page = (ROOT / "docs" / "report.md").read_text("utf-8")
    shutil.copytree(ROOT / "docs" / "examples", tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    (commands,) = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in commands.splitlines():
        _, name, *arguments = shlex.split(line)
        code, _, notes = command_line(name, *arguments, *(("--model", tiny_model) if name == "score" else ()))
        assert code == 0, notes
    assert {path.name for path in tmp_path.iterdir()} == {"docs", "opinions.csv", "report.html", "report.csv"}
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block, "report.md", "exec"), {})
    assert (tmp_path / "places.html").exists()


def test_the_documentation_has_the_figures_that_were_measured() -> None:
    found = json.loads((ROOT / "benchmarks" / "results" / "report.json").read_text("utf-8"))["tables"]
    rows = re.findall(r"^\| .* \| ([\d.]+) \| (\d+) \|$", (ROOT / "docs" / "report.md").read_text("utf-8"), re.M)
    assert [(float(s), int(peak)) for s, peak in rows] == [(t["seconds"], round(t["peak_mib"])) for t in found]
    assert all(table["rows"] >= 100_000 and table["seconds"] < 30 and table["peak_mib"] < 500 for table in found)
