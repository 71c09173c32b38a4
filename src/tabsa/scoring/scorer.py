"""Chunks of rows to bytes of results."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tabsa.errors import ConfigError, DataError, DataWarning
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction
from tabsa.schema import NONE
from tabsa.scoring.layouts import Item, RowMaker, row_maker
from tabsa.scoring.reading import TableColumns, find_columns
from tabsa.scoring.request import Layout, Request
from tabsa.scoring.targets import OwnTargets, SharedTargets, Targets
from tabsa.tables.fields import is_blank
from tabsa.tables.formats import Format, dump_json, make_format
from tabsa.tables.rows import BadRow, Row, Values
from tabsa.tables.saving import Counts
from tabsa.text.sentences import split_sentences

_MANY_COLUMNS: Final = 500
# Of a chunk's new cells, with their names; where the output is very wide, a chunk has fewer rows for it.
_CHUNK_CELLS: Final = 500_000
_CHUNK_CHARACTERS: Final = 16_000_000
_SHOWN: Final = 2000  # characters of a line that could not be read
_FLAGS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Scored(NamedTuple):
    """The results of a chunk."""

    output: bytes
    rejects: bytes
    counts: Counts


class Scorer:
    """Scores chunks of a table's rows.

    Args:
        source: the table's name.
        suffix: the format of the results, such as ".csv".
        predictor: the model.
        request: what to ask, and how to lay it out.
        schema: the Arrow schema of a Parquet table that is no file of this machine.
    """

    _columns: TableColumns  # these three are known once a row has been seen
    _maker: RowMaker
    _form: Format
    _settled = False

    def __init__(
        self, source: Path, suffix: str, predictor: Predictor, request: Request, *, schema: Any = None
    ) -> None:
        self._source, self._suffix, self._predictor, self._request = source, suffix, predictor, request
        self._schema = schema
        self._aspects = predictor.choose_aspects(request.aspects)
        self._shared = SharedTargets(request.targets) if request.targets is not None else None
        self._implied = is_implied(predictor, request)
        self._targets: Targets = self._shared or OwnTargets(
            request.target_column or "", most=request.most_targets, longest=request.longest_name
        )
        self._cells = self._bytes = 0  # that were written

    @property
    def columns(self) -> int:
        """How many new columns the results have, at least."""
        request = self._request
        if request.layout is Layout.LONG:
            return 0
        pairs = len(self._shared.names if self._shared else "1") * len(self._aspects)
        return pairs * (1 + len(self._predictor.labels) * request.probabilities + request.evidence)

    @property
    def chunk(self) -> int:
        """How many rows to score at a time."""
        columns = max(1, self.columns)
        names = self._shared.names if self._shared else ("",)
        length = len(self._request.prefix) + max(map(len, names)) + max(map(len, self._aspects))
        return max(1, min(self._request.chunk, _CHUNK_CELLS // columns, _CHUNK_CHARACTERS // (columns * (length + 16))))

    def settle(self, chunk: Sequence[Row | BadRow]) -> None:
        """Decide on the columns by the first chunk that has a row; to be called on each, in order."""
        rows = [row for row in chunk if isinstance(row, Row)]
        if self._settled or not rows:
            return
        self._columns = find_columns(self._source, rows, self._request)
        self._maker = row_maker(
            self._request,
            self._columns,
            self._shared.names if self._shared else None,
            self._aspects,
            self._predictor.labels,
            nested=self._suffix.startswith((".jsonl", ".ndjson")),
        )
        self._form = make_format(
            self._suffix,
            self._source,
            rows,
            self._maker,
            escape_formulas=self._request.escape_formulas,
            schema=self._schema,
        )
        self._settled = True
        if len(self._maker.added) > _MANY_COLUMNS:
            message = f"{len(self._maker.added):,} new columns; the long layout has a row for each opinion instead"
            warnings.warn(message, DataWarning, stacklevel=3)

    def score(self, chunk: Sequence[Row | BadRow], *, first: bool) -> Scored:
        """The results of a chunk; `first` where nothing has been written."""
        items: list[Item] = []
        rejects: list[bytes] = []
        counts = Counts(rows=len(chunk))
        for row in chunk:
            try:
                items.append(self._item(row))
            except DataError as e:
                why = str(e).removeprefix(f"{self._source} ")
                rejects.append(_reject(row, why))
                counts.first_reason = counts.first_reason or f"row {row.number}: {why}"
        counts.scored, counts.rejected = len(items), len(rejects)
        counts.named = sum(any(target.mentions for target in item.read_for) for item in items)
        if not self._settled:
            return Scored(b"", b"".join(rejects), counts)
        read = [item for item in items if item.read_for]
        predictions = self._predictor.predict_many(
            [item.text for item in read],
            aspects=self._aspects,
            targets_of_each=[item.read_for for item in read],
            explain=self._request.evidence,
        )
        results: list[Values] = []
        written = 0
        for item in items:
            prediction = next(predictions) if item.read_for else None
            opinions = prediction.opinions if prediction else ()
            sentences = carrying_sentences(prediction) if prediction and self._request.evidence else {}
            counts.opinions += sum(opinion.polarity != NONE for opinion in opinions)
            for result in self._maker.rows(item, opinions, sentences):
                results.append(result)
                written += len(result) - len(item.kept)
            self._refuse_more(written)
        output = self._form.encode(results, first=first)
        self._cells += written
        self._bytes += len(output)
        self._refuse_more()
        return Scored(output, b"".join(rejects), counts)

    def _refuse_more(self, written: int = 0) -> None:
        """Raise where the results are larger than was allowed."""
        for most, count, what in (
            (self._request.most_cells, self._cells + written, "cells"),
            (self._request.most_bytes, self._bytes, "bytes"),
        ):
            if most is not None and count > most:
                raise DataError(
                    f"the results would be larger than {most:,} {what}; score fewer rows, targets or aspects at a time"
                )

    def _item(self, row: Row | BadRow) -> Item:
        if isinstance(row, BadRow):
            raise row.error
        text = self._columns.text_of(row.values)
        implied = _flag(row.values.get(self._request.implied_column or ""), self._request.implied_column, self._implied)
        names, found = self._targets.of(row.values, text, implied=implied)
        read_for = self._predictor.implied_targets(names, found) if implied else found
        kept = self._maker.keep(row.values)
        _refuse_broken(kept)
        self._form.check(kept)
        return Item(row.number, kept, text, names, read_for)


def carrying_sentences(prediction: Prediction) -> dict[tuple[str, str], str]:
    """The sentence that carries each opinion found, by target and aspect."""
    text = prediction.text
    if len(split_sentences(text)) == 1:
        return {(opinion.target, opinion.aspect): text.strip() for opinion in prediction.found()}
    found = {}
    for opinion in prediction.found():
        evidence = prediction.evidence(opinion.target, opinion.aspect, words=False)
        if evidence.sentences:
            start, end = evidence.sentences[0].span
            found[opinion.target, opinion.aspect] = text[start:end]
    return found


def is_implied(predictor: Predictor, request: Request) -> bool:
    """Whether a text that does not name a target is taken to be about it.

    Raises:
        ConfigError: no target is asked for, and the model was not taught to do without.
    """
    implied = predictor.implied if request.implied is None else request.implied
    if not implied and request.targets is not None and not request.targets and request.implied_column is None:
        raise ConfigError("no target is asked for; name at least one", code="no_target")
    return implied


def _flag(value: object, column: str | None, default: bool) -> bool:
    """What a row says of itself: true or false, or in a table of text yes or no too."""
    if column is None or is_blank(value):
        return default
    word = str(value).strip().lower()
    if word not in _FLAGS:
        raise DataError(f"{column!r} is {value!r}; expected true or false")
    return _FLAGS[word]


def _refuse_broken(values: Values) -> None:
    """Raise a DataError where text has half a character in it, which no file can hold."""
    for piece in (*values, *values.values()):
        written = dump_json(piece) if isinstance(piece, list | dict) else piece
        if isinstance(written, str) and not written.isascii():
            try:
                written.encode()
            except UnicodeEncodeError as e:
                raise DataError("half a character (a lone surrogate) is in the row; write it as UTF-8") from e


def _reject(row: Row | BadRow, why: str) -> bytes:
    """A line of the rejects file; of a line that could not be read, only the start."""
    content = row.values if isinstance(row, Row) else row.content
    shown = content[:_SHOWN] if isinstance(content, str) else content
    line = dump_json({"row": row.number, "reason": why, "content": shown})
    return line.encode(errors="backslashreplace") + b"\n"  # JSON writes half a character just so
