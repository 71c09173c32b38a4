"""Chunks of rows to bytes of results."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction
from tabsa.schema import NONE, UNSURE
from tabsa.scoring.layouts import Item, LongLayout, WideLayout
from tabsa.scoring.request import Layout, Request, RowQuestions, TableColumns, find_columns, guessed_text
from tabsa.tables.fields import is_whole
from tabsa.tables.outputs import Counts
from tabsa.tables.reading import BadRow, Row, Values, warn_of_guess
from tabsa.tables.writing import ArrowEncoder, RowEncoder, dump_json
from tabsa.text.languages import looks_foreign
from tabsa.text.sentences import split_sentences

_CHUNK_CELLS: Final = 500_000  # new ones; where the output is very wide, a chunk has fewer rows for it
_CHUNK_CHARACTERS: Final = 4_000_000  # ends a chunk before its rows do, so that long texts do not fill the memory
_LOOKED_AT: Final = 500  # names, for those that are parts of others
_LONG_TEXT: Final = 5  # words; shorter texts repeat by chance
_SHOWN: Final = 2000  # characters of a line that could not be read


class Rejected(NamedTuple):
    """A row that cannot be scored, and why."""

    row: Row | BadRow
    reason: str

    def line(self) -> bytes:
        """Return its line of the rejects file; of a line that could not be read, only the start."""
        content = self.row.values if isinstance(self.row, Row) else self.row.content
        shown = content[:_SHOWN] if isinstance(content, str) else content
        line = dump_json({"row": self.row.number, "reason": self.reason, "content": shown})
        return line.encode(errors="backslashreplace") + b"\n"  # JSON writes half a character just so


class Scorer:
    """Scores chunks of a table's rows; `suffix` is the format of the results, `schema` a Parquet table's Arrow schema.

    `on_guess` is called with a line on the column of texts, where it was guessed.
    """

    table_columns: TableColumns  # these three are known once a row has been seen
    encoder: RowEncoder
    _layout: WideLayout | LongLayout
    settled = False

    def __init__(
        self,
        source: Path,
        suffix: str,
        predictor: Predictor,
        request: Request,
        *,
        schema: Any = None,
        on_guess: Callable[[str], None] = warn_of_guess,
    ) -> None:
        self._source, self._suffix, self._predictor, self._request = source, suffix, predictor, request
        self._schema, self._on_guess = schema, on_guess
        self._aspects = predictor.choose_aspects(request.aspects)
        self._questions = RowQuestions(predictor, request)
        self.begun = False  # whether a header has been written

    @property
    def chunk(self) -> int:
        """How many rows to score at a time."""
        request, pairs = self._request, len(self._questions.names or "1") * len(self._aspects)
        cells = pairs * (1 + len(self._predictor.labels) * request.probabilities + request.evidence)
        most = request.chunk if request.layout is Layout.LONG else min(request.chunk, _CHUNK_CELLS // max(1, cells))
        return max(1, most)

    def settle(self, chunk: Sequence[Row | BadRow]) -> None:
        """Decide on the columns by the first chunk that has a row."""
        rows = [row for row in chunk if isinstance(row, Row)]
        if self.settled or not rows:
            return
        request, labels = self._request, self._predictor.labels
        columns = self.table_columns = find_columns(self._source, rows, request)
        for line in (guessed_text(self._source, columns, request), *self._doubts(rows, columns)):
            if line:
                self._on_guess(line)
        if request.layout is Layout.LONG:
            nested = self._suffix in (".jsonl", ".ndjson")
            self._layout = LongLayout(request, columns, self._aspects, labels, nested=nested)
        else:
            self._layout = WideLayout(request, columns, self._questions.names, self._aspects, labels)
        names, added = self._layout.columns, self._layout.added
        for name, count in Counter(names).items():
            if not is_whole(name):
                raise DataError(f"the name of the column {name!r} has half a character in it; write it as UTF-8")
            if count > 1:
                raise DataError(f"the output would have two columns {name!r}", code="column_taken")
        if self._suffix == ".parquet":
            self.encoder = ArrowEncoder(names, added, self._schema)
        else:
            self.encoder = RowEncoder(self._suffix, names, added, escape_formulas=request.escape_formulas)
        self.settled = True

    def _doubts(self, rows: Sequence[Row], columns: TableColumns) -> Iterator[str]:
        """Find what makes a table's answers doubtful, by its first rows: better said before hours are spent."""
        if not self._request.exclusive and (note := self._predictor.overlap(self._aspects)):
            yield note
        names = sorted(self._request.targets or (), key=len)
        for place, name in enumerate(names[:_LOOKED_AT]):
            inside = re.compile(rf"\b{re.escape(name)}\b", re.IGNORECASE)
            if longer := next(filter(inside.search, names[place + 1 : _LOOKED_AT]), None):
                yield f"the name {name!r} is part of {longer!r}: where a text has the longer one, only that is judged"
                break
        column = self._request.target_column
        pairs = [(str(row.values.get(columns.text) or ""), str(row.values.get(column or ""))) for row in rows]
        pairs = [one for one in pairs if len(one[0].split()) >= _LONG_TEXT]
        if repeated := len(pairs) - len(set(pairs)):
            yield f"{self._source}: of the first {len(rows):,} texts, {repeated:,} repeated; each counts again"

    def score(self, chunk: Sequence[Row | BadRow]) -> tuple[bytes, bytes, Counts]:
        """Return the results of a chunk as bytes, and the rejects."""
        results, rejected, counts = self.answer(chunk)
        output = self.encoder.encode(results, first=not self.begun) if self.settled else b""
        self.begun = self.begun or self.settled
        return output, b"".join(one.line() for one in rejected), counts

    def answer(self, chunk: Sequence[Row | BadRow]) -> tuple[list[Values], list[Rejected], Counts]:
        """Return the output's rows of a chunk, and the input's that are none."""
        self.settle(chunk)
        items: list[Item] = []
        rejected: list[Rejected] = []
        for row in chunk:
            try:
                items.append(self._item(row))
            except DataError as e:
                rejected.append(Rejected(row, str(e).removeprefix(f"{self._source} ")))
        counts = Counts(rows=len(chunk), scored=len(items), rejected=len(rejected))
        counts.first_reason = f"row {rejected[0].row.number}: {rejected[0].reason}" if rejected else ""
        counts.named = sum(any(target.mentions for target in item.question.read_for) for item in items)
        if self._predictor.english_only:
            counts.foreign = sum(looks_foreign(item.question.text) for item in items)
        read = [item.question for item in items if item.question.read_for]
        predictions = self._predictor.predict_many(
            [question.text for question in read],
            aspects=self._aspects,
            targets_of_each=[question.read_for for question in read],
            exclusive=self._request.exclusive,
            explain=self._request.evidence,
        )
        results: list[Values] = []
        for item in items:
            prediction = next(predictions) if item.question.read_for else None
            opinions = prediction.opinions if prediction else ()
            sentences = carrying_sentences(prediction) if prediction and self._request.evidence else {}
            counts.opinions += sum(one.polarity != NONE for one in opinions)
            counts.unsure += sum(one.polarity != NONE and one.confidence < UNSURE for one in opinions)
            results.extend(self._layout.rows(item, opinions, sentences))
        return results, rejected, counts

    def _item(self, row: Row | BadRow) -> Item:
        if isinstance(row, BadRow):
            raise row.error
        question = self._questions.of(row.values, self.table_columns.text)
        values = {name: value for name, value in row.values.items() if name not in self._layout.left_out}
        if not is_whole(values):
            raise DataError("half a character (a lone surrogate) is in the row; write it as UTF-8")
        self.encoder.check(values)
        return Item(row.number, values, question)


def chunks(rows: Iterable[Row | BadRow], size: int) -> Iterator[list[Row | BadRow]]:
    """Cut rows into chunks of at most `size`; the same chunks each time."""
    chunk: list[Row | BadRow] = []
    characters = 0
    for row in rows:
        chunk.append(row)
        values = row.values.items() if isinstance(row, Row) else ()
        characters += sum(len(name) + (len(value) if isinstance(value, str) else 0) for name, value in values)
        if len(chunk) == size or characters > _CHUNK_CHARACTERS:
            yield chunk
            chunk, characters = [], 0
    if chunk:
        yield chunk


def first_columns(
    source: Path, rows: Iterable[Row | BadRow], predictor: Predictor, request: Request
) -> TableColumns | None:
    """Try the first rows of a table: what is wrong with a request is better reported before there are workers."""
    scorer = Scorer(source, ".jsonl", predictor, request)
    for chunk in chunks(rows, scorer.chunk):
        scorer.settle(chunk)
        if scorer.settled:
            return scorer.table_columns
    return None


def carrying_sentences(prediction: Prediction) -> dict[tuple[str, str], str]:
    """Return the sentence that carries each opinion found, by target and aspect."""
    text = prediction.text
    if len(split_sentences(text)) == 1:
        return {(opinion.target, opinion.aspect): text.strip() for opinion in prediction.found()}
    found = {}
    for opinion in prediction.found():
        evidence = prediction.evidence(opinion.target, opinion.aspect, words=False)
        if evidence.sentences:
            found[opinion.target, opinion.aspect] = text[slice(*evidence.sentences[0].span)]
    return found
