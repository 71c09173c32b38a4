"""One table: chunks of rows in, bytes of results out, and a state after each."""

import dataclasses
import hashlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from tabsa import __version__
from tabsa.checkpoint.model_folder import ANSWERING
from tabsa.errors import DataError, DataNotFoundError, OutputError
from tabsa.files import reason
from tabsa.inference.predictor import Predictor
from tabsa.scoring.request import Request, is_implied
from tabsa.scoring.scorer import Scorer, chunks
from tabsa.tables.outputs import Counts, FileOutput, State, rejects_file
from tabsa.tables.reading import INPUT_SUFFIXES, arrow_schema, read_rows, suffix_of, warn_of_guess

_STREAM_SUFFIX: Final = ".jsonl"  # of standard output


class Progress(NamedTuple):
    """How far a run is."""

    counts: Counts
    resumed: int  # of the rows, those that an earlier run did
    share: float  # of the input that was read, from 0 to 1


def score_table(
    source: Path,
    out: Path | None,
    predictor: Predictor,
    request: Request,
    *,
    resume: bool = False,
    overwrite: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_guess: Callable[[str], None] = warn_of_guess,
) -> Progress:
    """Ask a model of every row of a table, and write its answers in the format that the name of `out` tells.

    Rows that cannot be scored go to `out` with ".rejects.jsonl" after it, with the reason.
    Memory does not grow with the table. A run that was killed is taken up with `resume`, and gives the same output as
    one that was not; `overwrite` replaces what is there, finished or not. Without `out`, JSON Lines go to standard
    output. `on_progress` is called after each chunk, `on_guess` with how the table is read, where its name is no help.

    Raises:
        DataError: the table cannot be read, or none of its rows can be scored.
        OutputError: the results cannot be written, or a run cannot be resumed.
    """
    suffix = suffix_of(out) if out else _STREAM_SUFFIX
    with open_input(source) as file, ExitStack() as held:
        schema = arrow_schema(source) if suffix == ".parquet" else None
        scorer = Scorer(source, suffix, predictor, request, schema=schema, on_guess=on_guess)
        size, state, output = max(1, os.fstat(file.fileno()).st_size), State(), None
        if out:
            identity = {"input": [size, os.fstat(file.fileno()).st_mtime_ns], **request_identity(predictor, request)}
            if out.is_dir():
                raise OutputError(f"{out} is a folder; expected the name of a file")
            if source.resolve() in (out.resolve(), rejects_file(out).resolve()):
                raise OutputError(f"{source} is the input; write to another file")
            output = held.enter_context(FileOutput(out, identity, resume=resume, overwrite=overwrite))
            state = output.state
        resumed, scorer.begun = state.counts.rows, bool(state.output)
        rows = read_rows(source, file, on_guess=on_guess) if not state.done else ()
        for chunk in chunks(rows, scorer.chunk):
            scorer.settle(chunk)
            if chunk[-1].number <= state.row:
                continue
            answers, rejected, counts = scorer.score(chunk)
            state.row = chunk[-1].number
            state.counts.add(counts)
            if output:
                output.save(answers, rejected)
            else:
                sys.stdout.buffer.write(answers)
                sys.stdout.buffer.flush()
            on_progress(Progress(state.counts, resumed, 1.0 if file.closed else file.tell() / size))
        if state.counts.rows == 0:
            raise DataError(f"{source} holds no rows; expected at least one text", code="no_rows", counts=state.counts)
        if output:
            output.finish()
    if not state.counts.scored:
        seen = f"; see {rejects_file(out)}" if out else ""
        message = f"all {state.counts.rows:,} rows were rejected, the first: {state.counts.first_reason}{seen}"
        raise DataError(message, code="all_rejected", counts=state.counts)
    return Progress(state.counts, resumed, 1.0)


def open_input(source: Path) -> BinaryIO:
    """Open the table, to be read as bytes."""
    suffix_of(source, INPUT_SUFFIXES)
    if source.is_dir():
        raise DataError(f"{source} is a folder; expected a file")
    try:
        return source.open("rb")
    except FileNotFoundError as e:
        raise DataNotFoundError(f"no file {source}; expected the table to score") from e
    except OSError as e:
        raise DataError(f"cannot read {source}: {reason(e)}") from e


def request_identity(predictor: Predictor, request: Request) -> dict[str, Any]:
    """Return all that decides, beside the input, what the output is; a run is resumed only where it is the same."""
    folder = predictor.folder
    model = {name: folder.files.digest(name) for name in ANSWERING if (folder.path / name).is_file()}
    targets = [(name, *aliases) for name, aliases in (request.targets or {}).items()]
    settled = {
        "targets": _digest(targets),  # there may be thousands
        "aspects": predictor.choose_aspects(request.aspects),
        "implied": is_implied(predictor, request),
    }
    identity = {"model": _digest(model), "precision": predictor.precision, "version of tabsa": __version__}
    return dict(json.loads(json.dumps(identity | dataclasses.asdict(request) | settled)))


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
