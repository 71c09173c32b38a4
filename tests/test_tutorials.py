"""The tutorials: every command of their pages and every cell of their notebooks is run, in order, beside their files.

Trainings are cut to one epoch, unless TABSA_WRITE_DOCS=1 asks for what the pages show to be printed anew.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from printed import alike, same_words

pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

FOLDER = Path(__file__).parents[1] / "docs" / "tutorials"
WRITE = bool(os.environ.get("TABSA_WRITE_DOCS"))
# A block of commands; or a block of what the last ones printed, after a comment that says which part of it:
# <!-- printed, from "a line with this" to "a line with that"; may differ -->
BLOCK = re.compile(
    r"^```sh\n(?P<commands>.*?)^```$"
    r'|^(?P<mark><!-- printed(?:, from "(?P<first>[^"]+)")?(?: to "(?P<last>[^"]+)")?(?P<loose>; may differ)? -->)\n'
    r"```text\n(?P<shown>.*?)^```$",
    re.M | re.S,
)
PAGES = sorted(FOLDER.glob("*.md"))
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
# What a program that opens a terminal of its own would see.
ENVIRONMENT = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the tutorials' files, and nothing else."""
    shutil.copytree(FOLDER / "files", tmp_path / "files")
    return tmp_path


def run(commands: str, folder: Path) -> str:
    """What a block of commands prints, on stdout and stderr together."""
    if "tabsa train" in commands:
        assert commands.count("--minutes 2") == commands.count("tabsa train"), "the tests shorten --minutes 2"
    if not WRITE:
        commands = commands.replace("--minutes 2", "--epochs 1")
    done = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder, env=ENVIRONMENT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{commands}\n{done.stdout}"
    return done.stdout


def visit(command: str, folder: Path) -> None:
    """Start a service on any free port, see its page and where its corrections go, and stop it."""
    service = subprocess.Popen(
        ["bash", "-c", f"exec {command.strip()} --port 0"], cwd=folder, env=ENVIRONMENT, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        assert service.stdout is not None
        line = next(line for line in service.stdout if "http://" in line)
        address = re.search(r"http://[\d.:]+", line)[0]
        with urllib.request.urlopen(address) as page:  # the line comes when it listens
            assert "<title>" in page.read().decode()
        with urllib.request.urlopen(f"{address}/v1/models") as answer:
            assert json.load(answer)["corrections"] == "corrections.jsonl"
    finally:
        service.terminate()
        service.communicate()
    assert (folder / "corrections.jsonl").exists()


def part(printed: str, block: re.Match) -> str:
    """What a page shows of it: from a line that has some words to one that has others, with dots for the rest."""
    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
    start = next((n for n, line in enumerate(lines) if block["first"] in line), None) if block["first"] else 0
    assert start is not None, f"nothing printed has {block['first']!r}: {printed}"
    end = len(lines)
    if block["last"]:
        end = next(n for n in range(start, end) if block["last"] in lines[n]) + 1
    shown = ["..."] * (start > 0) + lines[start:end] + ["..."] * (end < len(lines))
    return "".join(f"{line}\n" for line in shown)


@pytest.mark.notebook
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_do_what_it_shows(page: Path, place: Path) -> None:
    pytest.importorskip("fastapi", reason="needs the service: pip install '.[serve]'")
    text = page.read_text(encoding="utf-8")
    printed, trained = "", False

    def made(block: re.Match) -> str:
        nonlocal printed, trained
        if block["commands"]:
            if block["commands"].startswith("tabsa serve"):
                visit(block["commands"], place)
            else:
                printed = run(block["commands"], place)
            trained |= "tabsa train" in block["commands"]
            return block[0]
        anew = part(printed, block)
        if not WRITE:
            shown = block["shown"]
            # How many epochs fit into minutes is the machine's: what a trained model says may differ in most lines.
            right = same_words(shown, anew) >= 0.3 if trained or block["loose"] else alike(shown, anew)
            assert right, f"stale: run this test with TABSA_WRITE_DOCS=1\n{shown}\n{anew}"
        return f"{block['mark']}\n```text\n{anew}```"

    anew = BLOCK.sub(made, text)
    assert trained
    if WRITE:
        page.write_text(anew, encoding="utf-8")


@pytest.mark.notebook
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_the_cells_of_a_notebook_run(notebook: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("nbclient", "ipykernel", "pandas"):
        pytest.importorskip(package, reason="needs pip install '.[dev]'")
    import nbformat
    from nbclient import NotebookClient

    for folder in ("JUPYTER_RUNTIME_DIR", "IPYTHONDIR"):  # nothing goes to the home folder
        monkeypatch.setenv(folder, str(place / folder.lower()))
    cells = nbformat.read(notebook, as_version=4)
    for cell in cells.cells:
        if "tabsa.train(" in cell.source:
            assert cell.source.count("minutes=2") == cell.source.count("tabsa.train("), "the tests shorten minutes=2"
        cell.source = cell.source.replace("minutes=2", "epochs=1")
    NotebookClient(cells, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(place)}}).execute()
    said = " ".join(output.get("text", "") for cell in cells.cells for output in cell.get("outputs", ()))
    assert "Error" not in said


def test_each_page_has_its_notebook() -> None:
    assert [page.stem for page in PAGES] == [notebook.stem for notebook in NOTEBOOKS]
    assert len(PAGES) == 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_a_notebook_is_valid_and_clean(notebook: Path) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs pip install '.[dev]'")
    text = notebook.read_text(encoding="utf-8")
    cells = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
    assert (cells.nbformat, cells.nbformat_minor) == (4, 5)  # whose cells have ids
    nbformat.validate(cells)
    assert len({cell.id for cell in cells.cells}) == len(cells.cells)
    for cell in cells.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert not re.search(r"/home/|/Users/|/root|/tmp|[A-Z]:\\\\", text)


CAFE = {"text": "review", "aspect": "topic", "polarity": "label"}


@pytest.mark.parametrize(
    ("name", "texts", "columns"),
    [
        ("cafe.csv", 110, CAFE),
        ("cafe-test.csv", 40, CAFE),
        ("phones.csv", 60, None),
        ("phones-test.csv", 40, None),
        ("bikes-labelled.csv", 20, None),
        ("bikes-corrections.jsonl", 80, None),
        ("bikes-test.csv", 60, None),
    ],
)
def test_nothing_is_wrong_with_a_labelled_file(name: str, texts: int, columns: dict[str, str] | None) -> None:
    from tabsa.datasets.checking import check
    from tabsa.datasets.records import Columns

    found = check(FOLDER / "files" / name, Columns(**columns or {}))
    assert found.texts == texts
    assert {finding.code for finding in found.findings} <= {"no_target_column"}


def test_no_text_that_is_judged_is_learnt_from() -> None:
    from tabsa.tables.reading import read_good_rows

    def texts(*names: str) -> list[str]:
        rows = [row.values for name in names for row in read_good_rows(FOLDER / "files" / name)]
        return [str(row.get("text") or row["review"]) for row in rows]

    for learnt, judged in [
        (("cafe.csv", "cafe-new.csv"), "cafe-test.csv"),
        (("phones.csv", "phones-new.csv"), "phones-test.csv"),
        (("bikes.csv",), "bikes-test.csv"),
    ]:
        assert not set(texts(*learnt)) & set(texts(judged))
    assert set(texts("bikes-labelled.csv", "bikes-corrections.jsonl")) <= set(texts("bikes.csv"))
