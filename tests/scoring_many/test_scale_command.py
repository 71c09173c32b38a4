"""`tabsa score` on many tables, through the command line's own main."""

import gzip
import io
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from rich.console import Console

COMMENTS = Path(__file__).parents[2] / "docs" / "examples" / "comments.csv"


@pytest.fixture
def tabsa(command_line, tiny_model, tmp_path, monkeypatch):
    """Runs `tabsa score` with the tiny model, in a folder with a folder of tables; gives code, stdout and stderr."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    shutil.copy(COMMENTS, tmp_path / "in" / "a.csv")
    (tmp_path / "in" / "sub" / "b.jsonl").write_text('{"text": "Camden is nice"}\n{"text": ""}\n')
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        return command_line("score", *arguments, "--model", tiny_model, "--threads", 64)  # one process, no pool

    return run


def test_a_folder(tabsa, tmp_path):
    code, stdout, stderr = tabsa("in", "out", "-t", "Camden")
    assert (code, stdout) == (0, "")
    assert re.fullmatch(r"2 parts, 14 rows: 13 scored, \d+ opinions found, 1 rejected; [\d,]+ rows/s\n", stderr)
    assert tabsa("in/a.csv", "alone.csv", "-t", "Camden")[0] == 0
    assert (tmp_path / "out" / "a.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert (tmp_path / "out" / "sub" / "b.jsonl.rejects.jsonl").exists()


def test_a_pattern_and_a_format(tabsa, tmp_path):
    assert tabsa("in/**/*.jsonl", "out", "-t", "Camden", "--format", "csv")[0] == 0
    names = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.csv")}
    assert names == {"sub/b.csv"}


def test_a_model_by_a_relative_path(command_line, tabsa, tmp_path, tiny_model):
    shutil.copytree(tiny_model, tmp_path / "model")
    assert command_line("score", "in", "out", "-t", "Camden", "--model", "model")[0] == 0


def test_texts_that_do_not_name_what_they_are_about(tabsa, tmp_path):
    (tmp_path / "in" / "a.csv").write_text("text\n" + "Not cheap but nice\n" * 24)
    told = "warning: only 1 of 25 texts name a target; --implied reads the others as being about it"
    code, _, stderr = tabsa("in", "out", "-t", "Camden")
    assert (code, stderr.splitlines()[1:]) == (0, [told])
    assert tabsa("in", "out", "-t", "Camden", "--resume")[2].splitlines()[1:] == [told]
    code, _, stderr = tabsa("in", "implied", "-t", "Camden", "--implied")
    assert (code, stderr.count("\n")) == (0, 1)
    assert (tmp_path / "out" / "a.csv").read_bytes() != (tmp_path / "implied" / "a.csv").read_bytes()


def test_going_on(tabsa, tmp_path):
    assert tabsa("in", "out", "-t", "Camden")[0] == 0
    code, _, stderr = tabsa("in", "out", "-t", "Camden", "--resume")
    assert (code, stderr.split(":")[0]) == (0, "2 parts, 14 rows")
    advice = "error: a job into out is done; go on with --resume, or start again with --overwrite\n"
    assert tabsa("in", "out", "-t", "Camden") == (1, "", advice)
    advice = (
        "the prefix is not what it was when the job began; ask for the same again, or start again with --overwrite\n"
    )
    code, _, stderr = tabsa("in", "out", "-t", "Camden", "--prefix", "x", "--resume")
    assert (code, stderr) == (1, f"error: cannot resume out: {advice}")
    assert tabsa("in", "out", "-t", "Camden", "--overwrite")[0] == 0


def test_parts_that_fail_are_told_at_once_and_at_the_end(tabsa, tmp_path):
    (tmp_path / "in" / "bad.csv.gz").write_bytes(gzip.compress(b"text\nCamden\n")[:-8])
    code, stdout, stderr = tabsa("in", "out", "-t", "Camden")
    assert (code, stdout) == (1, "")
    first, last = stderr.splitlines()
    assert first.startswith("warning: bad.csv.gz refused: ")
    assert last.startswith("error: 1 of 3 tables failed, the others are done: bad.csv.gz: ")
    assert last.endswith("; mend them and go on with --resume")
    assert json.loads((tmp_path / "out" / "_summary.json").read_text())["scored"] == 13


def test_progress_as_lines(tabsa, monkeypatch):
    monkeypatch.setattr("tabsa.cli.many._LINE_EVERY", -1.0)
    lines = tabsa("in", "out", "-t", "Camden")[2].splitlines()
    assert [line.partition(" rows")[0] for line in lines[:2]] == ["1 part, 12", "2 parts, 14"]
    assert lines[1].endswith("(100%)")


def test_progress_on_a_terminal(tabsa, monkeypatch):
    terminal = io.StringIO()
    monkeypatch.setattr("tabsa.cli.many.err", Console(file=terminal, force_terminal=True, width=80))
    assert tabsa("in", "out", "-t", "Camden")[0] == 0
    assert "2 parts, 14 rows" in terminal.getvalue()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["in", "out", "--text-column", "body"], r"unknown column of \S+a\.csv 'body'; expected one of id, "),
        (["in", "out", "-a", "prices"], r"the model does not know the aspect 'prices' \(did you mean 'price'\?\); "),
        (["in", "out", "--format", "xml"], "there is no format 'xml'; expected one of csv, "),
        (["in", "in"], "in holds the input; write to another folder"),
        (["in", "in/a.csv/out"], "cannot write in/a.csv/out: Not a directory"),
        (["*.xml", "out"], r"no table in \*\.xml; expected files ending in one of "),
        (["in", "notes"], "notes is a file; many tables are written to a folder"),
        (["in", "out", "--engine", "ray", "--text-column", "body"], "unknown column of "),
    ],
)
def test_a_users_mistake_is_one_line(tabsa, tmp_path, arguments, line):
    if "ray" in arguments:
        pytest.importorskip("ray")
    (tmp_path / "notes").touch()
    code, stdout, stderr = tabsa(*arguments, "-t", "Camden")
    assert (code, stdout) == (1, "")
    assert re.match(f"error: {line}", stderr), stderr
    assert stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["in", "-"], "OUT -"),
        (["in", "out", "--rejects", "bad.jsonl"], "--rejects"),
        (["in/a.csv", "out.csv", "--format", "csv"], "--format"),
        (["in/a.csv", "out.csv", "--workers", 2], "--workers"),
        (["s3://bucket/in", "out"], "IN"),
        (["in", "s3://bucket/out"], "OUT"),
        (["in", "out", "--ray-address", "auto"], "--ray-address"),
        (["in", "out.csv"], "OUT"),
        (["in/a.csv", "out.csv", "--engine", "ray"], "OUT"),
        (["in", "out", "--resume", "--overwrite"], "--overwrite"),
    ],
)
def test_options_that_do_not_go_together(tabsa, tmp_path, arguments, name):
    code, _, stderr = tabsa(*arguments, "-t", "Camden")
    assert code == 2
    assert f"Invalid value for {name}:" in stderr
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_without_ray(tabsa, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, stderr = tabsa("in", "out", "-t", "Camden", "--engine", "ray")
    advice = "install it with `pip install 'tabsa[scale]'`; or leave out --engine ray"
    assert (code, stderr) == (1, f"error: a Ray cluster needs ray; {advice}\n")
