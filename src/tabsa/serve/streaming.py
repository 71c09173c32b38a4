"""Results that leave while later rows are still to be read."""

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from concurrent.futures import Executor
from pathlib import Path

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor
from tabsa.scoring import Counts, Request
from tabsa.scoring.reading import InputTable
from tabsa.scoring.scorer import Scorer


def scored(
    source: Path,
    suffix: str,
    predictor: Predictor,
    request: Request,
    *,
    on_rows: Callable[[int], None] = lambda _: None,
) -> Generator[bytes, None, None]:
    """The results of a table, chunk by chunk; the first comes when it is known that rows can be scored.

    `on_rows` is told how many rows each chunk had.
    """
    counts, header = Counts(), b""
    with InputTable(source, on_guess=lambda _: None) as table:
        scorer = Scorer(source, suffix, predictor, request)
        for chunk in table.chunks(scorer.chunk):
            scorer.settle(chunk)
            result = scorer.score(chunk, first=not (counts.scored or header))
            counts.add(result.counts)
            on_rows(result.counts.rows)
            if counts.scored:
                yield header + result.output
                header = b""
            else:
                header += result.output
    if not counts.rows:
        raise DataError(f"{source} holds no rows; expected at least one text")
    if not counts.scored:
        raise DataError(f"all {counts.rows:,} rows were rejected, the first: {counts.first_reason}")


class RowsResponse(StreamingResponse):
    """Sends pieces that a thread makes; `close` is called at the end, however that comes."""

    def __init__(
        self, first: bytes, rest: Iterator[bytes], close: Callable[[], None], media_type: str, threads: Executor
    ) -> None:
        super().__init__(_pieces(first, rest, threads), media_type=media_type)
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._close()


async def _pieces(first: bytes, rest: Iterator[bytes], threads: Executor) -> AsyncIterator[bytes]:
    yield first
    loop = asyncio.get_running_loop()
    while (piece := await loop.run_in_executor(threads, next, rest, None)) is not None:
        yield piece
