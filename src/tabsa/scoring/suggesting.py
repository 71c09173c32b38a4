"""The rows of a table that are worth labelling, as a table to be filled in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tabsa.errors import DataError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.inference.suggesting import AskedText, Measure, Suggestion, suggest_of
from tabsa.scoring.reading import InputTable, TableColumns, find_columns
from tabsa.scoring.request import Request
from tabsa.scoring.scorer import is_implied
from tabsa.scoring.targets import OwnTargets, SharedTargets, Targets
from tabsa.tables.fields import is_whole
from tabsa.tables.rows import Row, Values
from tabsa.tables.writing import check_table_name, write_table

_DIGITS: Final = 4  # of a probability: for the eye
# A person fills in `polarity`; the rest of a row is one's own data (`tabsa.datasets.own`), or passed over there.
_COLUMNS: Final[dict[str, type]] = {
    "row": int,
    "text": str,
    "target": str,
    "aspect": str,
    "said": str,
    "probability": float,
    "polarity": str,
    "asked_only": bool,
}


@dataclass(slots=True)
class Suggested:
    """What came of it."""

    texts: int = 0
    questions: int = 0
    rows: int = 0  # of the table
    unread: int = 0  # rows without a text or a target of their own, or that cannot be read
    silent: int = 0  # rows whose text names no target


def suggest_table(
    source: Path,
    out: Path,
    predictor: Predictor,
    request: Request,
    n: int = 50,
    *,
    questions: int | None = 3,
    measure: Measure = "margin",
    labelled: Sequence[str] = (),
    overwrite: bool = False,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Suggested:
    """Write the questions of a table's texts whose answers would teach a model most, to be answered by a person.

    One row a question: its text, target and aspect, what the model said and how sure it was, and an empty `polarity`.
    What is filled in is one's own data; what is left empty was not asked.

    Args:
        source: the table: .csv, .tsv, .jsonl (any of them with .gz) or .parquet.
        out: where the questions go, in the format its name tells.
        predictor: the model.
        request: whom and what to ask about, and which column holds the texts.
        n: how many texts.
        questions: how many a text, the least sure; None is all.
        measure: of uncertainty, as for `tabsa.inference.suggesting.suggest`.
        labelled: texts that have their labels; neither they nor texts like them are picked.
        overwrite: replace what is there.
        on_progress: told how much of the table has been read, from 0 to 1.

    Raises:
        DataError: the table cannot be read, or none of its texts can be asked about.
        OutputError: the questions cannot be written.
    """
    _refuse(source, out, overwrite=overwrite)
    counts = Suggested()
    with InputTable(source) as table:
        asked = _asked(table, predictor, request, counts, on_progress)
        found = suggest_of(
            predictor, asked, request.aspects, n, questions=questions, measure=measure, labelled=labelled
        )
    if not found:
        raise _nothing(source, counts)
    counts.texts, counts.questions = len(found), sum(len(one.questions) for one in found)
    aliased = {name: list(others) for name, others in (request.targets or {}).items() if others}
    columns = _COLUMNS | ({"aliases": str} if aliased else {})
    write_table(out, columns, [row for one in found for row in _rows(one, aliased)])
    return counts


def _refuse(source: Path, out: Path, *, overwrite: bool) -> None:
    check_table_name(out)
    if out.is_dir():
        raise OutputError(f"{out} is a folder; expected the name of a file")
    if out.exists() and out.resolve() == source.resolve():
        raise OutputError(f"{out} is the input; write to another file")
    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists", code="output_exists")


def _asked(
    table: InputTable,
    predictor: Predictor,
    request: Request,
    counts: Suggested,
    on_progress: Callable[[float], None],
) -> Iterator[AskedText]:
    """The rows of a table, as far as they can be asked about."""
    targets: Targets = (
        SharedTargets(request.targets) if request.targets is not None else OwnTargets(request.target_column or "")
    )
    implied = is_implied(predictor, request)
    columns: TableColumns | None = None
    for chunk in table.chunks(request.chunk):
        rows = [row for row in chunk if isinstance(row, Row) and is_whole(row.values)]
        counts.rows += len(chunk)
        counts.unread += len(chunk) - len(rows)
        if columns is None and rows:
            columns = find_columns(table.path, rows, request)
        on_progress(table.share())
        for row in rows:
            try:
                text = columns.text_of(row.values) if columns else ""
                names, found = targets.of(row.values, text, implied=implied)
            except DataError:
                counts.unread += 1
                continue
            read_for = predictor.implied_targets(names, found) if implied else found
            counts.silent += not read_for
            yield AskedText(row.number, text, read_for)


def _rows(suggestion: Suggestion, aliased: dict[str, list[str]]) -> Iterator[Values]:
    for question in suggestion.questions:
        row: Values = {
            "row": suggestion.index,
            "text": suggestion.text,
            "target": question.target if question.named else None,
            "aspect": question.aspect,
            "said": question.said,
            "probability": round(question.probability, _DIGITS),
            "polarity": None,
            "asked_only": True,
        }
        if aliased:
            row["aliases"] = ";".join(aliased.get(question.target, ()) if question.named else ()) or None
        yield row


def _nothing(source: Path, counts: Suggested) -> DataError:
    """Why there is nothing to label."""
    if not counts.rows:
        return DataError(f"{source} holds no rows; expected at least one text")
    if counts.silent:
        return DataError(f"none of the {counts.rows:,} rows of {source} names a target", code="no_target_named")
    if counts.unread:
        return DataError(f"none of the {counts.rows:,} rows of {source} has a text and a target")
    return DataError(f"all texts of {source} are labelled already, or like ones that are")
