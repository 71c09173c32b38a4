"""`tabsa score`, through the command line's own main."""

import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from command_line import CommandLine
from table_rows import text_rows, write_rows

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
COMMENTS, PLACES = EXAMPLES / "comments.csv", EXAMPLES / "places.txt"


@pytest.fixture
def score(command_line: CommandLine, tiny_model: Path) -> CommandLine:
    """Runs `tabsa score` with the tiny model."""
    return lambda *arguments: command_line("score", *arguments, "--threads", 1, "--model", tiny_model)


def test_the_analysts_command(score: CommandLine, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code, stdout, stderr = score(COMMENTS, out, "--targets", PLACES, "-a", "price", "-a", "safety")
    assert (code, stdout) == (0, "")
    assert re.fullmatch(r"12 rows: 12 scored, \d+ opinions found, 0 rejected; [\d,]+ rows/s\n", stderr)
    rows, given = list(text_rows(out)), list(text_rows(COMMENTS))
    assert [{name: row[name] for name in given[0]} for row in rows] == given
    places = ["Camden", "Brixton", "Croydon", "Richmond", "Walthamstow"]
    assert list(rows[0])[5:] == [f"{place}/{aspect}" for place in places for aspect in ("price", "safety")]


def test_options_reach_the_scoring(score: CommandLine, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text("key|comment|about|more\nk1|Camden is nice|Camden|x\nk2|Leeds||y\n")
    columns = ["--text-column", "comment", "--id-column", "key", "--target-column", "about"]
    layout = ["--layout", "long", "--all", "-a", "price", "--evidence"]
    code, _, stderr = score(source, out, *columns, *layout, "--chunk", 1, "--engine", "local")
    assert code == 0, stderr
    assert f"2 rows: 1 scored, 0 opinions found, 1 rejected (see {out}.rejects.jsonl); " in stderr
    (line,) = out.read_text().splitlines()
    new = ["target", "aspect", "polarity", "confidence", "evidence", "probabilities"]
    assert list(json.loads(line)) == ["key", "comment", "about", "more", *new]
    assert json.loads((tmp_path / "out.jsonl.rejects.jsonl").read_text())["reason"] == "no target in 'about'"


@pytest.mark.parametrize(("rows", "named", "warned"), [(20, 0, True), (19, 0, False), (20, 1, False), (21, 1, True)])
def test_few_texts_that_name_a_target(score: CommandLine, tmp_path: Path, rows: int, named: int, warned: bool) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text\n" + "Camden\n" * named + "nobody\n" * (rows - named) + " \n")  # the last is no text
    arguments = (source, tmp_path / "out.csv", "-t", "Camden", "--chunk", 6, "--layout", "long", "--all", "-a", "price")
    code, _, stderr = score(*arguments)
    assert (code, stderr.count("\n")) == (0, 1 + warned)
    warning = f"warning: only {named} of {rows} texts name a target; --implied reads the others as being about it\n"
    assert stderr.endswith(warning) == warned
    code, _, stderr = score(*arguments, "--implied", "--overwrite")
    assert (code, stderr.count("\n")) == (0, 1)
    assert all(float(row["probability_none"]) < 1 for row in text_rows(tmp_path / "out.csv"))


def test_a_dash_prints_json_lines(score: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, stdout, stderr = score(COMMENTS, "-", "-t", "Camden", "--layout", "long", "--all")
    assert (code, stderr[:9]) == (0, "12 rows: ")
    assert len([json.loads(line) for line in stdout.splitlines()]) == 12 * 4
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "in.csv").write_text("text\nCamden\n \n")
    code, stdout, stderr = score("in.csv", "-", "-t", "Camden")
    assert (code, len(stdout.splitlines()), stderr[:17]) == (0, 1, "2 rows: 1 scored,")


def test_a_folder_of_tables(score: CommandLine, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(COMMENTS, source / name)
    options = ("-t", "Camden", "--workers", 1)
    code, _, stderr = score(source, out, *options)
    assert code == 0, stderr
    assert stderr.startswith("2 tables, 24 rows: 24 scored, ")
    assert {"a.csv", "b.csv"} <= {path.name for path in out.iterdir()}
    assert "2 tables (2 were done before), 0 rows" in score(source, out, *options, "--resume")[2]
    (source / "c.csv").write_text("words\nCamden\n")
    code, _, stderr = score(source, out, *options, "--overwrite")
    assert code == 1
    assert stderr.splitlines()[0].startswith("warning: c.csv failed: ")
    assert stderr.endswith("mend them and go on with --resume\n")


def test_progress_is_shown_on_a_terminal(score: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr("tabsa.cli.console.err", Console(file=terminal, force_terminal=True, width=80))
    assert score(COMMENTS, tmp_path / "out.csv", "-t", "Camden", "--chunk", 5)[0] == 0
    assert re.search(r"\d+ rows, [\d,]+ rows/s", terminal.getvalue())


def test_scoring_loads_only_what_it_needs(tmp_path: Path, tiny_model: Path) -> None:
    code = (
        "import sys; from tabsa.cli import main\n"
        "try: main()\n"
        "finally: print(*{name.partition('.')[0] for name in sys.modules})"
    )
    arguments = ["score", COMMENTS, tmp_path / "out.csv", "-t", "Camden", "--model", tiny_model]
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "onnxruntime" in loaded
    assert not loaded & {"torch", "pyarrow", "pandas", "nltk", "matplotlib"}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["no.csv", "out.csv"], "no file no.csv; expected the table to score"),
        (["in.csv", "out.csv", "--text-column", "txt"], "in.csv has no column 'txt' (did you mean 'text'?); "),
        (["in.csv", "out.csv", "-a", "prices"], "the model does not know the aspect 'prices' ("),
        (["two.csv", "out.csv"], "two.csv has no column 'text', only: a, b; say with --text-column which it is"),
        (["taken.csv", "out.csv"], "the output would have two columns 'Camden/price'; rename it, or take --layout l"),
        (["in.csv", "there.csv"], "there.csv exists; replace it with --overwrite, or choose another name"),
        (["in.csv", "stopped.csv"], "a run into stopped.csv was stopped before its end; go on with --resume, or start"),
        (
            ["in.csv", "stopped.csv", "--resume"],
            "cannot resume stopped.csv: its record is of another version, or damaged",
        ),
    ],
)
def test_a_users_mistake_is_one_line(
    score: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text\nCamden is nice\n")
    (tmp_path / "two.csv").write_text("a,b\nCamden,Brixton\n")
    (tmp_path / "taken.csv").write_text("text,Camden/price\nCamden is nice,5\n")
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "stopped.csv.part").touch()
    (tmp_path / "stopped.csv.state.json").write_text("{")
    code, stdout, stderr = score(*arguments, "-t", "Camden")
    assert (code, stdout, stderr.count("\n")) == (1, "", 1)
    assert line in stderr
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert not (tmp_path / "out.csv").exists()


def test_a_corrupt_parquet_file_is_one_line(score: CommandLine, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "in.parquet", [{"text": f"Camden is nice {n}"} for n in range(3000)])
    whole = path.read_bytes()
    for start, end in ((100, 1000), (len(whole) - 300, len(whole) - 20), (20, 60), (4, 12)):
        path.write_bytes(whole[:start] + bytes((17 * n) % 251 for n in range(start, end)) + whole[end:])
        code, _, stderr = score(path, tmp_path / "out.csv", "-t", "Camden")
        assert (code, stderr[:7], stderr.count("\n")) == (1, "error: ", 1)
        assert "in.parquet" in stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["out.csv"],
        ["out.csv", "-t", "a", "--target-column", "b"],
        ["out.csv", "-t", "=NW1"],
        ["out.csv", "-t", "a", "--targets", PLACES],
        ["out.csv", "-t", "a", "--resume", "--overwrite"],
        ["-", "-t", "a", "--resume"],
        ["out.csv", "-t", "a", "--layout", "tall"],
        ["out.csv", "-t", "a", "--engine", "spark"],
        ["out.csv", "-t", "a", "--engine", "ray"],
        ["out.csv", "-t", "a", "--workers", 2],
        ["out.csv", "-t", "a", "--ray-address", "auto"],
    ],
)
def test_wrong_usage(
    score: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, stdout, stderr = score(COMMENTS, *arguments)
    assert (code, stdout, "Usage" in stderr) == (2, "", True)
    assert list(tmp_path.iterdir()) == []


def test_the_documentation_runs(
    score: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path
) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
    page = (ROOT / "docs" / "scoring.md").read_text("utf-8")
    shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    for line in "".join(blocks).splitlines():
        assert line.startswith("tabsa score ")
        code, _, stderr = score(*shlex.split(line.partition("|")[0])[2:])
        assert (code, stderr[:18]) == (0, "12 rows: 12 scored")
    (block,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    exec(compile(block.replace("load()", f"load({str(tiny_model)!r})"), "scoring.md", "exec"), {})
    assert (tmp_path / "opinions.parquet").exists()
