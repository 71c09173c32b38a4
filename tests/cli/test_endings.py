"""How a command ends when the disk is full, when it is stopped, and when there is nothing left to do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
TABLE = "text\nCamden is nice\nBrixton is far\n"
# Stands before what a program imports: Ctrl-C comes while that module is imported.
STOPPED = """
import sys

class Stopped:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            {raised}

sys.meta_path.insert(0, Stopped())
sys.argv = ["tabsa", *{arguments!r}]
from tabsa.cli import main
main()
"""


def tabsa(folder: Path, *arguments: object, out: Path | None = None) -> tuple[int, str]:
    """The exit code and what is on stderr."""
    with (out or Path(os.devnull)).open("wb") as stdout:
        command = [sys.executable, "-m", "tabsa", *map(str, arguments)]
        done = subprocess.run(command, cwd=folder, stdout=stdout, stderr=subprocess.PIPE, timeout=120, check=False)
    return done.returncode, done.stderr.decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text(TABLE)
    return tmp_path


# ---- a full disk


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "Camden is nice", "-t", "Camden", "--model", "places"],
        ["predict", "Camden is nice", "-t", "Camden", "--model", "places", "--json"],
        ["score", "in.csv", "-", "-t", "Camden", "--model", "places"],
        ["models"],
        ["--version"],
        ["--help"],
    ],
    ids=" ".join,
)
def test_standard_output_on_a_full_disk_is_one_line(folder: Path, arguments: list[str]) -> None:
    code, stderr = tabsa(folder, *arguments, out=FULL)
    assert (code, stderr) == (1, "error: cannot write to standard output: No space left on device\n")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
def test_rejects_on_a_full_disk(folder: Path) -> None:
    (folder / "in.csv").write_text(TABLE + '""\n')
    arguments = ("score", "in.csv", "-", "-t", "Camden", "--model", "places", "--rejects", FULL, "--overwrite")
    assert tabsa(folder, *arguments) == (1, "error: cannot write /dev/full: No space left on device\n")


# ---- nothing is lost, and what is finished is finished


@pytest.mark.parametrize("name", ["out.csv.part", "out.csv.state.json", "../{folder}/out.csv.part"])
def test_rejects_in_the_way_of_the_output(folder: Path, name: str) -> None:
    rejects = name.format(folder=folder.name)
    code, stderr = tabsa(
        folder, "score", "in.csv", "out.csv", "-t", "Camden", "--model", "places", "--rejects", rejects
    )
    assert code == 1
    assert stderr == f"error: {rejects} is in the way of the files beside out.csv; give --rejects another name\n"
    assert [path.name for path in folder.iterdir()] == ["in.csv"]


def test_an_output_in_the_way_of_the_rejects(folder: Path) -> None:
    arguments = ("score", "in.csv", "r.jsonl.part", "-t", "Camden", "--model", "places", "--rejects", "r.jsonl")
    code, stderr = tabsa(folder, *arguments)
    assert code == 1
    assert stderr.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["in.csv"]


def test_resuming_until_it_succeeds(folder: Path) -> None:
    command = ("score", "in.csv", "out.csv", "-t", "Camden", "--model", "places", "--resume")
    assert tabsa(folder, *command)[0] == 0
    before = (folder / "out.csv").read_bytes()
    assert tabsa(folder, *command) == (0, "out.csv is finished, and there is nothing to resume\n")
    assert (folder / "out.csv").read_bytes() == before
    code, stderr = tabsa(folder, *command[:-1])
    assert (code, stderr.startswith("error: out.csv exists")) == (1, True)


def test_a_corrupt_parquet_file_is_one_line(folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = folder / "in.parquet"
    parquet.write_table(pyarrow.table({"text": [f"Camden is nice {n}" for n in range(3000)]}), path)
    whole = path.read_bytes()
    for start, end in ((100, 1000), (len(whole) - 300, len(whole) - 20), (20, 60), (4, 12)):
        path.write_bytes(whole[:start] + bytes((17 * n) % 251 for n in range(start, end)) + whole[end:])
        code, stderr = tabsa(folder, "score", "in.parquet", "out.csv", "-t", "Camden", "--model", "places")
        assert code == 1
        assert stderr.startswith("error: ")
        assert "in.parquet" in stderr
        assert stderr.count("\n") == 1


# ---- Ctrl-C


@pytest.mark.parametrize(
    ("module", "raised"),
    [
        ("typer", "raise KeyboardInterrupt"),
        ("rich.console", "raise KeyboardInterrupt"),
        ("numpy", "raise KeyboardInterrupt"),
        ("onnxruntime", "raise KeyboardInterrupt"),
        # What an extension makes of it.
        ("onnxruntime", "raise ImportError('initialization failed') from KeyboardInterrupt()"),
    ],
)
def test_stopped_while_a_module_is_imported(folder: Path, module: str, raised: str) -> None:
    arguments = ["predict", "Camden is nice", "-t", "Camden", "--model", "places"]
    program = STOPPED.format(module=module, raised=raised, arguments=arguments)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "error: interrupted\n")
