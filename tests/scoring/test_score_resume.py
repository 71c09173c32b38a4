"""A run that is stopped, anywhere and any number of times, ends with the bytes of one that was not."""

import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from killing import Killed, kill_at
from tabsa.errors import OutputError
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.single import score_table
from tabsa.tables.outputs import FileOutput

BOTH = {"Camden": (), "Brixton": ()}
FORMATS = ["out.csv", "out.jsonl", "out.parquet"]


@pytest.fixture(scope="module")
def model(predictor) -> Predictor:
    return predictor


def write(path: Path, count: int) -> Path:
    """A table of which every ninth row is bad and every fifth says nothing."""
    texts = {0: "Nothing here.", 1: "Camden is nice,\nBrixton awful", 2: 'not "Brixton"', 3: "Camden, cheap", 4: "dear"}
    with path.open("w") as stream:
        stream.write("id,text\n")
        for n in range(count):
            text = texts[n % 5].replace('"', '""')
            stream.write(f"{n}\n" if n % 9 == 4 else f'{n},"{text} {n}"\n')
    return path


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def expected(source: Path, out: str, model: Predictor, request: Request) -> dict[str, bytes]:
    folder = source.parent / "expected"
    folder.mkdir()
    score_table(source, folder / out, model, request)
    assert sorted(files(folder)) == [out, f"{out}.rejects.jsonl"]
    return files(folder)


# In one process, at every point there is


@pytest.mark.parametrize("out", FORMATS)
@pytest.mark.parametrize("layout", Layout)
def test_a_run_that_dies_at_every_point_comes_to_the_same_end(tmp_path, model, monkeypatch, layout, out):
    source = write(tmp_path / "in.csv", 30)
    request = Request(targets=BOTH, layout=layout, probabilities=True, chunk=8)
    whole = expected(source, out, model, request)
    point = 0
    while True:
        point += 1
        folder = tmp_path / f"died-{point}"
        folder.mkdir()
        try:
            with monkeypatch.context() as patch:
                kill_at(patch, point, ((os, "fsync"), (Path, "replace"), (Path, "unlink")))
                patch.setattr(FileOutput, "__exit__", lambda self, *_: [file.close() for file in self._files] and None)
                score_table(source, folder / out, model, request)
            break
        except Killed:
            begun = (folder / f"{out}.part").exists() or (folder / f"{out}.state.json").exists()
            score_table(source, folder / out, model, request, **{"resume" if begun else "overwrite": True})
            assert files(folder) == whole, point
    assert point > 20


def test_what_a_killed_run_was_about_to_rename_is_removed(stopped, model):
    source, out, request = stopped
    for name in (".out.csv.1234abcd.tmp", ".out.csv.state.json.1234abcd.tmp"):
        out.with_name(name).write_bytes(b"half of it")
    assert score_table(source, out, model, request, resume=True).resumed == 5
    assert sorted(files(out.parent)) == ["in.csv", "out.csv", "out.csv.rejects.jsonl"]


# A real process and a real signal


DYING = """
import os, signal, sys
from tabsa.cli import main
from tabsa.tables.outputs import FileOutput
left, plain = int(sys.argv.pop(1)), FileOutput.save

def save(self, *data):
    global left
    plain(self, *data)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)

FileOutput.save = save
main()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs a system with SIGKILL")
@pytest.mark.parametrize("out", [FORMATS[0], *(pytest.param(name, marks=pytest.mark.slow) for name in FORMATS[1:])])
def test_kill_minus_nine(tmp_path, model, tiny_model, out):
    source = write(tmp_path / "in.csv", 200)
    whole = expected(source, out, model, Request(targets=BOTH, chunk=4))
    folder = tmp_path / "killed"
    folder.mkdir()
    options = shlex.split(f"-t Camden -t Brixton --chunk 4 --threads 1 --resume --model {tiny_model}")

    def run(chunks: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", DYING, str(chunks), "score", str(source), str(folder / out), *options]
        return subprocess.run(command, capture_output=True, text=True)

    for chunks, row in ((3, 13), (20, 93)):
        assert run(chunks).returncode == -signal.SIGKILL
        assert not (folder / out).exists()
        assert json.loads((folder / f"{out}.state.json").read_text())["row"] == row
    ended = run(0)
    assert (ended.returncode, ended.stderr.partition(" scored")[0]) == (0, "200 rows: 178")
    assert files(folder) == whole


# What does not go together


@pytest.fixture
def stopped(tmp_path, model):
    """A run that was stopped after its first chunk: source, output, request."""
    source, out = write(tmp_path / "in.csv", 20), tmp_path / "out.csv"
    request = Request(targets=BOTH, chunk=5)

    def stop(_: object) -> None:
        raise Killed

    with pytest.raises(Killed):
        score_table(source, out, model, request, on_progress=stop)
    assert (tmp_path / "out.csv.part").exists()
    return source, out, request


def test_a_stopped_run_is_not_replaced_unless_told(stopped, model):
    source, out, request = stopped
    with pytest.raises(OutputError, match=r"a run into .*out\.csv was stopped before its end") as error:
        score_table(source, out, model, request)
    assert error.value.code == "job_exists"
    assert score_table(source, out, model, request, overwrite=True).resumed == 0
    assert sorted(files(out.parent)) == ["in.csv", "out.csv", "out.csv.rejects.jsonl"]


def test_resuming_asks_for_the_same_again(stopped, model):
    source, out, request = stopped

    def refused(name: str, request: Request, model: Predictor = model) -> OutputError:
        with pytest.raises(OutputError, match=rf"cannot resume .*out\.csv: '{name}' is not what it was when") as error:
            score_table(source, out, model, request, resume=True)
        return error.value

    for other in ({"targets": {"Camden": ()}}, {"layout": Layout.LONG}, {"implied": True}):
        refused(next(iter(other)), replace(request, **other))
    refused("precision", request, load(model.folder.path, precision="int8"))
    with source.open("a") as stream:
        stream.write("20,more\n")
    assert refused("input", request).code == "job_differs"


def test_parts_that_were_tampered_with_are_one_clear_line(stopped, model):
    source, out, request = stopped
    part, state = out.with_name("out.csv.part"), out.with_name("out.csv.state.json")
    part.write_bytes(part.read_bytes()[:-1])
    with pytest.raises(OutputError, match=r"out\.csv\.part is shorter than its state says") as error:
        score_table(source, out, model, request, resume=True)
    assert error.value.code == "job_unusable"
    for content in (
        "{",
        "[1]",
        '{"format": "tabsa score 6", "counts": {}}',
        '{"format": "tabsa score 2", "identity": {}}',
    ):
        state.write_text(content)
        with pytest.raises(OutputError, match="its record is of another version, or damaged") as error:
            score_table(source, out, model, request, resume=True)
        assert error.value.code == "job_unusable"


def test_resuming_where_there_is_nothing_starts(tmp_path, model):
    source, out = write(tmp_path / "in.csv", 20), tmp_path / "out.csv"
    assert score_table(source, out, model, Request(targets=BOTH), resume=True).resumed == 0
    with pytest.raises(OutputError, match=r"out\.csv exists, and there is no stopped run to resume") as error:
        score_table(source, out, model, Request(targets=BOTH), resume=True)
    assert error.value.code == "output_exists"


def test_two_runs_do_not_write_one_output(tmp_path, model):
    pytest.importorskip("fcntl", reason="needs a system with file locks")
    source, out = write(tmp_path / "in.csv", 20), tmp_path / "out.csv"
    request = Request(targets=BOTH, chunk=5)

    def start_another(_: object) -> None:
        for options in ({"resume": True}, {"overwrite": True}):
            with pytest.raises(OutputError, match=r"another run is writing .*out\.csv"):
                score_table(source, out, model, request, **options)

    score_table(source, out, model, request, on_progress=start_another)
    assert out.read_text().count("\n") > 18
