"""`tabsa score`, through the command line's own main."""

import csv
import dataclasses
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tabsa.checkpoint.model_folder import read_folder
from tabsa.cli import main
from tabsa.cli.score import command
from tabsa.datasets.loading import load
from tabsa.evaluation.predictions import read_predictions
from tabsa.models.export import export

Tabsa = Callable[..., tuple[int, str, str]]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
COMMENTS, PLACES = EXAMPLES / "comments.csv", EXAMPLES / "places.txt"


@pytest.fixture
def tabsa(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes], tiny_model: Path) -> Tabsa:
    """Runs `tabsa score` with arguments and the tiny model; gives the exit code, stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        given = ["--threads", 1, *([] if "--model" in arguments else ["--model", tiny_model])]
        monkeypatch.setattr(sys, "argv", ["tabsa", "score", *map(str, [*arguments, *given])])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        output, errors = capsysbinary.readouterr()
        return code, output.decode(), errors.decode()

    return run


def records(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# ---- exit code 0


def test_the_analysts_command(tabsa: Tabsa, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code, stdout, stderr = tabsa(COMMENTS, out, "--targets", PLACES, "-a", "price", "-a", "safety")
    assert (code, stdout) == (0, "")
    assert re.fullmatch(r"12 rows: 12 scored, \d+ opinions found, 0 rejected; [\d,]+ rows/s\n", stderr)
    rows, given = records(out), records(COMMENTS)
    assert [{name: row[name] for name in given[0]} for row in rows] == given
    places = ["Camden", "Brixton", "Croydon", "Richmond", "Walthamstow"]
    assert list(rows[0])[5:] == [f"{place}/{aspect}" for place in places for aspect in ("price", "safety")]


def test_names_with_other_names(tabsa: Tabsa, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("text\nNW1 is not cheap\n")
    for option, status in (("Camden=Camden Town,NW1", 0), ("=NW1", 2)):
        assert tabsa(tmp_path / "in.csv", tmp_path / "out.csv", "-t", option, "--layout", "long", "--all")[0] == status
    assert {row["target"] for row in records(tmp_path / "out.csv")} == {"Camden"}
    assert any(row["confidence"] != "1.0" for row in records(tmp_path / "out.csv"))  # it was found, and read


@pytest.mark.parametrize("targets", [["-t", "restaurant=bistro"], ["--target-column", "about"]])
def test_texts_that_do_not_name_what_they_are_about(tabsa: Tabsa, tmp_path: Path, targets: list[str]) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("text,about\n" + "Not cheap but nice,restaurant\n" * 20)
    arguments = (source, out, *targets, "--text-column", "text", "--layout", "long", "--all", "-a", "price")
    code, _, stderr = tabsa(*arguments)
    assert code == 0
    assert {row["probability_none"] for row in records(out)} == {"1.0"}
    warning = "warning: only 0 of 20 texts name a target; --implied reads the others as being about it"
    assert stderr.splitlines()[1:] == [warning]
    code, _, stderr = tabsa(*arguments, "--implied", "--overwrite")
    assert (code, len(stderr.splitlines())) == (0, 1)
    assert {row["target"] for row in records(out)} == {"restaurant"}
    assert all(float(row["probability_none"]) < 1 for row in records(out))


@pytest.mark.parametrize(("rows", "named", "warned"), [(20, 0, True), (19, 0, False), (20, 1, False), (21, 1, True)])
def test_few_texts_that_name_a_target_are_told_of(
    tabsa: Tabsa, tmp_path: Path, rows: int, named: int, warned: bool
) -> None:
    source = tmp_path / "in.csv"
    source.write_text("text\n" + "Camden\n" * named + "nobody\n" * (rows - named) + " \n")  # the last is no text
    code, _, stderr = tabsa(source, tmp_path / "out.csv", "-t", "Camden", "--chunk", 6)
    assert code == 0
    assert (f"warning: only {named} of {rows} texts name a target; --implied reads" in stderr) == warned
    assert stderr.count("\n") == 1 + warned


def test_int8(tabsa: Tabsa, tmp_path: Path, tiny_model: Path) -> None:
    arguments = (COMMENTS, tmp_path / "out.csv", "--targets", PLACES, "--probabilities", "--precision", "int8")
    code, _, stderr = tabsa(*arguments)
    assert code == 1
    assert f"has no model.int8.onnx; make it with `tabsa export {tiny_model} --precision int8`" in stderr
    folder = shutil.copytree(tiny_model, tmp_path / "model")
    export(read_folder(folder), "int8")
    assert tabsa(*arguments, "--overwrite", "--model", folder)[0] == 0
    full = tmp_path / "full.csv"
    assert tabsa(COMMENTS, full, "--targets", PLACES, "--probabilities")[0] == 0
    small, shares = records(tmp_path / "out.csv"), [name for name in records(full)[0] if name.endswith("/none")]
    for one, other in zip(records(full), small, strict=True):
        assert [float(one[name]) for name in shares] == pytest.approx([float(other[name]) for name in shares], abs=0.05)


def test_every_option(tabsa: Tabsa, tmp_path: Path) -> None:
    source = tmp_path / "in.tsv"
    source.write_text("key\tcomment\tabout\nk1\tCamden is nice\tCamden\nk2\tLeeds\t\n")
    out, rejects = tmp_path / "out.jsonl", tmp_path / "bad.jsonl"
    columns = ["--text-column", "comment", "--id-column", "key", "--target-column", "about"]
    layout = ["--layout", "long", "--all", "--prefix", "my_", "--probabilities", "-a", "price"]
    code, _, stderr = tabsa(source, out, *columns, *layout, "--rejects", rejects, "--chunk", 1, "--engine", "local")
    assert code == 0
    assert f"2 rows: 1 scored, 0 opinions found, 1 rejected (see {rejects}); " in stderr
    (line,) = out.read_text().splitlines()
    assert list(json.loads(line)) == [
        *("key", "comment", "about", "my_target", "my_aspect", "my_polarity", "my_confidence", "my_probabilities")
    ]
    assert json.loads(rejects.read_text())["reason"] == "no target in 'about'"


def test_a_dash_prints_json_lines(tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, stdout, stderr = tabsa(COMMENTS, "-", "-t", "Camden", "--layout", "long", "--all")
    assert code == 0
    assert stderr.startswith("12 rows: ")
    assert len([json.loads(line) for line in stdout.splitlines()]) == 12 * 4
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "in.csv").write_text("text\nCamden\n \n")
    code, stdout, _ = tabsa("in.csv", "-", "-t", "Camden", "--rejects", "bad.jsonl")
    assert (code, len(stdout.splitlines())) == (0, 1)
    assert json.loads((tmp_path / "bad.jsonl").read_text())["row"] == 3
    assert tabsa("in.csv", "-", "-t", "Camden", "--rejects", "bad.jsonl")[0] == 1


def test_long_json_lines_are_predictions_that_can_be_evaluated(tabsa: Tabsa, tmp_path: Path) -> None:
    gold, source, out = tmp_path / "gold.jsonl", tmp_path / "in.csv", tmp_path / "predictions.jsonl"
    opinion = {"target": "Camden", "aspect": "price", "polarity": "negative"}
    gold.write_text(json.dumps({"id": 1, "text": "Camden is dear", "opinions": [opinion]}))
    source.write_text("id,text\n1,Camden is dear\n")
    assert tabsa(source, out, "-t", "Camden", "--layout", "long", "--all", "-a", "price")[0] == 0
    dataset = load(gold, "all")
    # The tiny model knows `positive`, which this gold does not have.
    dataset = dataclasses.replace(dataset, labels=("none", "positive", "negative"))
    assert read_predictions(out, dataset).shape == (1, 1, 3)


def test_progress_is_shown_on_a_terminal(tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr("tabsa.cli.score.err", Console(file=terminal, force_terminal=True, width=80))
    assert tabsa(COMMENTS, tmp_path / "out.csv", "-t", "Camden", "--chunk", 5)[0] == 0
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


# ---- exit code 1: one line


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["no.csv", "out.csv", "-t", "a"], "no file no.csv; expected the table to score"),
        ([COMMENTS, "out.xls", "-t", "a"], "cannot tell the format of out.xls by its name; expected one of .csv, "),
        (
            [COMMENTS, "out.csv", "-t", "a", "--text-column", "txt"],
            f"{COMMENTS} has no column 'txt' (did you mean 'text'?); ",
        ),
        ([COMMENTS, "out.csv", "-t", "a", "-a", "prices"], "the model does not know the aspect 'prices' ("),
        ([COMMENTS, "out.csv", "-t", "Camden", "-t", "camden"], "'camden' stands for two targets"),
        ([COMMENTS, "out.csv", "--targets", "no.txt"], "cannot read no.txt: No such file"),
        (
            ["empty.csv", "out.csv", "-t", "a"],
            "all 2 rows were rejected, the first: row 2: no text in 'text'; see out.csv",
        ),
    ],
)
def test_a_users_mistake_is_one_line(
    tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").write_text("text,x\n,1\n,2\n")
    code, stdout, stderr = tabsa(*arguments)
    assert (code, stdout) == (1, "")
    assert stderr.startswith(f"error: {line}")
    assert stderr.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["two.csv", "out.csv"], "two.csv has no column 'text', only: a, b; say with --text-column which it is"),
        (
            ["taken.csv", "out.csv", "-a", "price"],
            "the output would have two columns 'Camden/price'; tell the new ones apart with --prefix, such as "
            "--prefix tabsa/, or leave it out "
            "with --keep",
        ),
        (["in.csv", "there.csv"], "there.csv exists; replace it with --overwrite, or choose another name"),
        (
            ["in.csv", "stopped.csv"],
            "a run into stopped.csv was stopped before its end; go on with --resume, or start again with --overwrite",
        ),
        (
            ["in.csv", "stopped.csv", "--resume"],
            "cannot resume stopped.csv: its record is damaged; start again with --overwrite",
        ),
        (
            ["in.csv", "out.csv", "--rejects", "out.csv"],
            "out.csv is in the way of out.csv and the files beside it; give --rejects another name",
        ),
        (
            ["in.csv", "out.csv", "--rejects", "out.csv.part"],
            "out.csv.part is in the way of out.csv and the files beside it; give --rejects another name",
        ),
        (
            ["in.csv", "out.csv", "--rejects", "./out.csv.state.json"],
            "out.csv.state.json is in the way of out.csv and the files beside it; give --rejects another name",
        ),
    ],
)
def test_options_that_help_are_named(
    tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object], line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("text\nCamden is nice\n")
    (tmp_path / "two.csv").write_text("a,b\nCamden,Brixton\n")
    (tmp_path / "taken.csv").write_text("text,Camden/price\nCamden is nice,5\n")
    (tmp_path / "there.csv").write_text("mine")
    (tmp_path / "stopped.csv.part").touch()
    (tmp_path / "stopped.csv.state.json").write_text("{")
    assert tabsa(*arguments, "-t", "Camden") == (1, "", f"error: {line}\n")
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("names", [("in.parquet", "out.csv"), ("in.csv", "out.parquet")])
def test_parquet_without_pyarrow_says_what_to_install(
    tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    shutil.copy(COMMENTS, names[0])
    code, _, stderr = tabsa(*names, "-t", "Camden")
    assert code == 1
    assert "needs pyarrow; install it with `pip install 'tabsa[tables]'`" in stderr
    assert stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == [names[0]]


def test_a_stopped_run_says_how_to_go_on(tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tabsa.scoring.single.score_table", interrupted)
    code, _, stderr = tabsa(COMMENTS, tmp_path / "out.csv", "-t", "Camden")
    assert code not in (0, 2)
    assert "warning: stopped; the same command with --resume goes on from here\n" in stderr


# ---- exit code 2


@pytest.mark.parametrize(
    "arguments",
    [
        [COMMENTS],
        [COMMENTS, "out.csv"],
        [COMMENTS, "out.csv", "-t", "a", "--target-column", "b"],
        [COMMENTS, "out.csv", "-t", "a", "--targets", PLACES],
        [COMMENTS, "out.csv", "-t", "a", "--resume", "--overwrite"],
        [COMMENTS, "-", "-t", "a", "--resume"],
        [COMMENTS, "out.csv", "-t", "a", "--layout", "tall"],
        [COMMENTS, "out.csv", "-t", "a", "--engine", "spark"],
        [COMMENTS, "out.csv", "-t", "a", "--chunk", 0],
    ],
)
def test_wrong_usage(tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[object]) -> None:
    monkeypatch.chdir(tmp_path)
    code, stdout, stderr = tabsa(*arguments)
    assert (code, stdout) == (2, "")
    assert "Usage" in stderr
    assert list(tmp_path.iterdir()) == []


# ---- what the documentation says


def documented() -> list[str]:
    page = (ROOT / "docs" / "scoring.md").read_text("utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    lines = [line.partition("|")[0] for block in blocks for line in block.splitlines()]
    return [*lines, *re.findall(r"Example: `(.*)`", command.__doc__ or "")]


@pytest.mark.parametrize("line", documented())
def test_documented_commands_run(tabsa: Tabsa, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    assert line.startswith("tabsa score ")
    code, _, stderr = tabsa(*shlex.split(line)[2:])
    assert code == 0, stderr
    assert stderr.startswith("12 rows: 12 scored")


def test_the_python_on_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_model: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'tabsa[tables]'")
    shutil.copytree(EXAMPLES, tmp_path / "docs" / "examples")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "scoring.md").read_text("utf-8"), re.DOTALL)
    code = block.replace("load()", f"load({str(tiny_model)!r})")
    exec(compile(code, "scoring.md", "exec"), {})
    assert (tmp_path / "opinions.parquet").exists()
