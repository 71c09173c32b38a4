"""The rows of a table that are worth labelling, as a table to be filled in."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tabsa.errors import DataError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.inference.suggesting import MarkedText, Suggestion, suggest_of
from tabsa.scoring.request import Request, RowQuestions, find_columns, guessed_text
from tabsa.scoring.scorer import chunks
from tabsa.scoring.single import open_input
from tabsa.tables.fields import is_whole
from tabsa.tables.reading import Row, Values, read_rows, warn_of_guess
from tabsa.tables.writing import check_table_name, write_table

_DIGITS: Final = 4  # of a probability: for the eye
# A person fills in `polarity`; the rest of a row is one's own data (`tabsa.datasets.own`), or passed over there.
_COLUMNS: Final = ("row", "text", "target", "aspect", "said", "probability", "polarity", "asked_only")


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
    labelled: Sequence[str] = (),
    overwrite: bool = False,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Suggested:
    """Write the questions of a table's texts whose answers would teach a model most, to be answered by a person.

    One row a question: its text, target and aspect, the model's answer and its probability, and an empty `polarity`.
    Rows that are filled in are one's own data; a row that is left empty does not count. There are `n` texts, and at
    most so many `questions` of each, the least sure; neither `labelled` texts nor texts like them are picked.
    `on_progress` is called with how much of the table has been read, from 0 to 1.

    Raises:
        DataError: the table cannot be read, or none of its texts can be asked about.
        OutputError: the questions cannot be written.
    """
    check_table_name(out)
    if out.exists() and out.resolve() == source.resolve():
        raise OutputError(f"{out} is the input; write to another file")
    if out.exists() and not overwrite:
        raise OutputError(f"{out} exists", code="output_exists")
    counts = Suggested()
    texts = _texts(source, predictor, request, counts, on_progress)
    found = suggest_of(predictor, texts, request.aspects, n, questions=questions, labelled=labelled)
    if not found:
        if counts.silent:
            raise DataError(f"none of the {counts.rows:,} rows of {source} names a target", code="no_target_named")
        expected = "expected texts that are not labelled yet, and their targets"
        raise DataError(f"{source} has {counts.rows:,} rows; {expected}")
    counts.texts, counts.questions = len(found), sum(len(one.questions) for one in found)
    aliases = {name: ";".join(others) for name, others in (request.targets or {}).items() if others}
    write_table(out, [*_COLUMNS, *["aliases"] * bool(aliases)], [row for one in found for row in _rows(one, aliases)])
    return counts


def _texts(
    source: Path, predictor: Predictor, request: Request, counts: Suggested, on_progress: Callable[[float], None]
) -> Iterator[MarkedText]:
    """Read the rows of a table, as far as they can be asked about."""
    questions, columns = RowQuestions(predictor, request), None
    with open_input(source) as file:
        size = source.stat().st_size
        for chunk in chunks(read_rows(source, file), request.chunk):
            rows = [row for row in chunk if isinstance(row, Row) and is_whole(row.values)]
            counts.rows += len(chunk)
            counts.unread += len(chunk) - len(rows)
            if columns is None and rows:
                columns = find_columns(source, rows, request)
                if line := guessed_text(source, columns, request):
                    warn_of_guess(line)
            on_progress(1.0 if file.closed else file.tell() / max(1, size))
            for row in rows:
                try:
                    question = questions.of(row.values, columns.text if columns else "")
                except DataError:
                    counts.unread += 1
                    continue
                counts.silent += not question.read_for
                yield MarkedText(row.number, question.text, question.read_for)


def _rows(found: Suggestion, aliases: dict[str, str]) -> Iterator[Values]:
    for question in found.questions:
        target = question.target if question.named else None
        answer = (question.predicted, round(question.probability, _DIGITS))
        row: Values = dict(
            zip(_COLUMNS, (found.index, found.text, target, question.aspect, *answer, None, True), strict=True)
        )
        yield row | ({"aliases": aliases.get(target or "")} if aliases else {})
