"""The job: chunks of rows in, bytes of results out, and a state after each."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from tabsa import __version__
from tabsa.checkpoint.model_folder import ANSWERING, GRAPHS, READER_GRAPHS
from tabsa.errors import DataError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.scoring.reading import InputTable
from tabsa.scoring.request import Request
from tabsa.scoring.scorer import Scorer, is_implied
from tabsa.tables import parquet
from tabsa.tables.kinds import suffix_of
from tabsa.tables.rows import warn_of_guess
from tabsa.tables.saving import Counts, FileOutput, StandardOutput, working_files

_STREAM_SUFFIX: Final = ".jsonl"  # of standard output


class Progress(NamedTuple):
    """How far a job is."""

    counts: Counts
    resumed: int  # of the rows, those that an earlier run did
    share: float  # of the input that was read, from 0 to 1


def score(
    source: Path,
    out: Path | None,
    predictor: Predictor,
    request: Request,
    *,
    rejects: Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_guess: Callable[[str], None] = warn_of_guess,
) -> Progress:
    """Ask a model of every row of a table, and write what it says.

    Rows that cannot be scored go to the rejects file with the reason. Memory does not grow with the table. A run that
    was killed is taken up with `resume`, and gives the same output as one that was not.

    Args:
        source: the table: .csv, .tsv, .jsonl (any of them with .gz), .parquet or .xlsx.
        out: where the results go, in the format its name tells; None is standard output, as JSON Lines.
        predictor: the model.
        request: what to ask, and how to lay it out.
        rejects: where rejected rows go; by default `out` with ".rejects.jsonl" after it.
        resume: go on with the run that is there, if there is one.
        overwrite: replace what is there, finished or not.
        on_progress: called after each chunk of rows.
        on_guess: told how the table is read, where its name does not tell; a `DataWarning` says it by default.

    Raises:
        DataError: the table cannot be read, or none of its rows can be scored.
        OutputError: the results cannot be written, or a run cannot be resumed.
    """
    suffix = suffix_of(out) if out else _STREAM_SUFFIX
    if out is not None and suffix == ".parquet":
        parquet.require(out)
    with (
        InputTable(source, on_guess=on_guess) as table,
        _output(source, out, rejects, resume=resume, overwrite=overwrite) as output,
    ):
        scorer = Scorer(source, suffix, predictor, request)
        output.begin({"the input": table.identity(), **request_identity(predictor, request)})
        state = output.state
        resumed = state.counts.rows
        for chunk in table.chunks(scorer.chunk) if not state.done else ():
            scorer.settle(chunk)
            if chunk[-1].number <= state.row:
                continue
            scored = scorer.score(chunk, first=not state.output)
            state.row = chunk[-1].number
            state.counts.add(scored.counts)
            output.save(scored.output, scored.rejects)
            on_progress(Progress(state.counts, resumed, table.share()))
        if state.counts.rows == 0:
            raise DataError(f"{source} holds no rows; expected at least one text")
        output.finish()
    if not state.counts.scored:
        seen = f"; see {rejects or rejects_file(out)}" if out else ""
        raise DataError(f"all {state.counts.rows:,} rows were rejected, the first: {state.counts.first_reason}{seen}")
    return Progress(state.counts, resumed, 1.0)


def rejects_file(out: Path) -> Path:
    """Where rejected rows go unless told."""
    return out.with_name(out.name + ".rejects.jsonl")


def _output(
    source: Path, out: Path | None, rejects: Path | None, *, resume: bool, overwrite: bool
) -> FileOutput | StandardOutput:
    paths = [path for path in (out, rejects or (rejects_file(out) if out else None)) if path]
    for path in paths:
        if path.is_dir():
            raise OutputError(f"{path} is a folder; expected the name of a file")
        if path.resolve() == source.resolve():
            raise OutputError(f"{path} is the input; write to another file")
    if out is None:
        return StandardOutput(rejects, overwrite=overwrite)
    if paths[0].resolve() == paths[1].resolve():
        raise OutputError(f"{out} cannot hold both the output and the rejects", code="rejects_in_the_way")
    _refuse_clashes(source, *paths)
    return FileOutput(*paths, resume=resume, overwrite=overwrite)


def _refuse_clashes(source: Path, out: Path, rejects: Path) -> None:
    """Refuse names under which the run keeps files of its own: one would be written over the other."""
    own = {path.resolve() for path in working_files(out)}
    of_rejects = working_files(rejects)[0].resolve()
    if rejects.resolve() in own or of_rejects in own | {out.resolve()}:
        raise OutputError(f"{rejects} is in the way of the files beside {out}", code="rejects_in_the_way")
    if source.resolve() in own | {of_rejects}:
        raise OutputError(f"{source} is the input, and has the name of a file that grows beside {out}; rename one")


def request_identity(predictor: Predictor, request: Request) -> dict[str, Any]:
    """All that decides, beside the input, what the output is; a run can be resumed only where it is the same."""
    folder = predictor.folder
    others = {name for names in (GRAPHS.values(), *READER_GRAPHS.values()) for name in names}
    others -= {GRAPHS[predictor.precision], *READER_GRAPHS[predictor.precision]}
    files = (name for name in ANSWERING if name not in others)
    model = {name: folder.files.digest(name) for name in files if (folder.path / name).is_file()}
    targets = json.dumps([(name, *aliases) for name, aliases in (request.targets or {}).items()])
    return {
        "the precision": predictor.precision,
        "the model": hashlib.sha256(json.dumps(model).encode()).hexdigest(),
        "the list of targets": hashlib.sha256(targets.encode()).hexdigest(),
        "the column of targets": request.target_column,
        "whether targets may be implied": is_implied(predictor, request),
        "the column that says which are": request.implied_column,
        "the list of aspects": list(predictor.choose_aspects(request.aspects)),
        "the column of texts": request.text_column,
        "the column of ids": request.id_column,
        "the layout": str(request.layout),
        "the list of kept columns": None if request.keep is None else sorted(request.keep),
        "whether there are probabilities": request.probabilities,
        "whether `none` is written": request.every,
        "whether evidence is written": request.evidence,
        "the prefix": request.prefix,
        "whether formulas are escaped": request.escape_formulas,
        "the size of a chunk": request.chunk,
        "the version of tabsa": __version__,
    }
