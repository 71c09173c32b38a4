"""However a table is written down, its results are the same bytes, also where the run was stopped and went on."""

import csv
import io
from pathlib import Path

import pytest

from tabsa.errors import DataWarning
from tabsa.inference.predictor import Predictor, load
from tabsa.scoring.request import Request
from tabsa.scoring.single import Progress, rejects_file, score_table

TARGETS = {"Camden": (), "Brixton": ()}
ROWS = [["id", "text", "stars"]] + [
    [str(n), text, "3,5"]
    for n, text in enumerate(
        ["Café Camden; “cher”", "Brixton – très bon,\nvraiment", "", "rien", 'Camden "so" cheap'] * 9
    )
]
FORMS = {
    "plain": (",", "utf-8"),
    "mark": (",", "utf-8-sig"),
    "semicolons": (";", "utf-8"),
    "excel": (";", "cp1252"),
    "unicode text": ("\t", "utf-16"),
    "bars": ("|", "utf-8"),
}


class StoppedError(Exception):
    """Somebody pressed Ctrl-C."""


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> Predictor:
    return load(tiny_model, threads=1)


def write(path: Path, separator: str = ",", encoding: str = "utf-8") -> Path:
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator).writerows(ROWS)
    path.write_bytes(stream.getvalue().encode(encoding))
    return path


def run(source: Path, out: Path, model: Predictor, stop: int = 0, **options: bool) -> tuple[bytes, bytes]:
    """The output and the rejects; the run ends after `stop` chunks, if that is not 0."""
    chunks = 0

    def count(_: Progress) -> None:
        nonlocal chunks
        chunks += 1
        if chunks == stop:
            raise StoppedError

    request = Request(targets=TARGETS, chunk=4)
    score_table(source, out, model, request, on_progress=count, on_guess=lambda _: None, **options)
    return out.read_bytes(), rejects_file(out).read_bytes()


@pytest.fixture(scope="module")
def expected(model: Predictor, tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, bytes]:
    folder = tmp_path_factory.mktemp("plain")
    return run(write(folder / "in.csv"), folder / "out.csv", model)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_bytes_come_of_every_form(
    tmp_path: Path, model: Predictor, expected: tuple[bytes, bytes], form: str
) -> None:
    source, out = write(tmp_path / "in.csv", *FORMS[form]), tmp_path / "out.csv"
    assert run(source, out, model) == expected
    assert expected[0].startswith(b"id,text,stars,Camden/")
    for stop in (1, 4, 9):
        again = tmp_path / f"again-{stop}.csv"
        with pytest.raises(StoppedError):
            run(source, again, model, stop)
        assert run(source, again, model, resume=True) == expected


def test_a_workbook_gives_the_same(tmp_path: Path, model: Predictor, expected: tuple[bytes, bytes]) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="needs openpyxl: pip install '.[dev]'")
    book = openpyxl.Workbook()
    for row in ROWS:
        book.active.append(row)
    book.save(tmp_path / "in.xlsx")
    assert run(tmp_path / "in.xlsx", tmp_path / "out.csv", model) == expected
    with pytest.raises(StoppedError):
        run(tmp_path / "in.xlsx", tmp_path / "again.csv", model, 3)
    assert run(tmp_path / "in.xlsx", tmp_path / "again.csv", model, resume=True) == expected


def test_what_was_guessed_is_a_warning(tmp_path: Path, model: Predictor) -> None:
    source = write(tmp_path / "in.csv", ";", "cp1252")
    with pytest.warns(DataWarning, match=r"in\.csv: read as Windows-1252, separated by semicolons$") as told:
        score_table(source, tmp_path / "out.csv", model, Request(targets=TARGETS))
    assert len(told) == 1
