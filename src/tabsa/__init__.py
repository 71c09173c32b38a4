"""Targeted aspect-based sentiment analysis: who is judged, on what, and how.

import tabsa

model = tabsa.load()                      # the model in the box; or a name, or a model folder
result = model.predict("Camden is lovely but dear.", targets=["Camden"])
result.opinions                           # every target-aspect pair, `none` included
result.evidence("Camden", "price")        # the words, phrases and sentences that carry an answer
tabsa.score("in.csv", "out.csv", ["Camden"])   # a whole table
tabsa.evaluate(model, "places")           # a Report: what it is worth on a dataset
tabsa.train("my.csv", out="mine")         # learns from your labels, and gives the new model
"""

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tabsa.errors import TabsaError
from tabsa.schema import Dataset, Example, Opinion, Span, Target

if TYPE_CHECKING:
    from tabsa.datasets.records import Columns
    from tabsa.evaluation.report import Report
    from tabsa.inference.predictor import Predictor
    from tabsa.inference.results import Prediction
    from tabsa.scoring.single import Progress
    from tabsa.training.callbacks import Callback

__version__ = "0.1.0"
__all__ = [
    "Dataset",
    "Example",
    "Opinion",
    "Prediction",
    "Predictor",
    "Span",
    "TabsaError",
    "Target",
    "__version__",
    "evaluate",
    "load",
    "score",
    "train",
]
_LATER = {"Predictor": "tabsa.inference.predictor", "Prediction": "tabsa.inference.results"}  # they need numpy


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tabsa' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)


def load(
    name: str | Path | None = None, *, threads: int = 0, precision: Literal["auto", "float32", "int8"] = "auto"
) -> "Predictor":
    """Load a model: the one in the box, another of the package by name, a folder, or one of the hub.

    Args:
        name: a name or a folder; None is the model in the box, "reader". "places", or "fast", is the other in the
            package: twelve aspects of places, several times as fast. "hub:OWNER/NAME" is one of the Hugging Face hub,
            with "@REVISION" and "#sha256=HEX" where it is to be pinned; it is downloaded once, and checked.
        threads: for the arithmetic; 0 takes as many as there are cores.
        precision: of the arithmetic; "int8" is faster and nearly as good; "auto" takes it where a model was trained so.
    """
    from tabsa.inference.predictor import load as load_predictor

    return load_predictor(name, threads=threads, precision=precision)


def score(
    table: str | Path,
    out: str | Path,
    targets: "Mapping[str, Sequence[str]] | Iterable[str] | None" = None,
    aspects: Sequence[str] | None = None,
    *,
    model: "Predictor | str | Path | None" = None,
    resume: bool = False,
    overwrite: bool = False,
    **options: Any,
) -> "Progress":
    """Ask a model of every row of a table, and write the answers beside the rows, as `tabsa score` does.

    Args:
        table: CSV, JSON Lines, Parquet or Excel, by the name.
        out: where to; a run that was killed goes on with `resume`.
        targets: names to look for in every row, or a mapping of each to its aliases; without them `target_column`
            says who a row is about.
        aspects: as for `Predictor.predict`.
        model: a model that was loaded, or what `load` takes.
        resume: go on where a run with the same questions was stopped.
        overwrite: write over an output that is there.
        options: fields of `tabsa.scoring.request.Request`, such as `text_column`, `target_column` and `layout`.
    """
    from tabsa.inference.predictor import Predictor
    from tabsa.scoring.request import Request
    from tabsa.scoring.single import score_table

    if targets is not None and not isinstance(targets, Mapping):
        targets = dict.fromkeys(targets, ())
    request = Request(targets=targets, aspects=aspects, **options)
    predictor = model if isinstance(model, Predictor) else load(model)
    return score_table(Path(table), Path(out), predictor, request, resume=resume, overwrite=overwrite)


def evaluate(
    model: "Predictor | str | Path",
    data: Any,
    split: str = "test",
    *,
    data_dir: Path | None = None,
    columns: "Columns | Mapping[str, str] | None" = None,
    bootstrap: int = 1000,
    exclusive: bool = False,
) -> "Report":
    """Score a model on a dataset: every figure in both families of definitions, its parts, and its mistakes.

    Args:
        model: a model that was loaded, or what `load` takes.
        data: a dataset's name, or the path of your own file or folder; or labels in memory: a Dataset, a DataFrame,
            rows as mappings, Examples.
        split: the part of what has a name or a path to score on.
        data_dir: where a named dataset is looked for first.
        columns: what your own file calls its columns, those that are called otherwise: `{"text": "Review"}`.
        bootstrap: resamples for the 95% intervals; 0 leaves them out, which is faster.
        exclusive: as for `Predictor.predict`.
    """
    from tabsa.inference.evaluating import evaluate as evaluate_model
    from tabsa.inference.predictor import Predictor

    predictor = model if isinstance(model, Predictor) else load(model)
    given: dict[str, Any] = {"data_dir": data_dir, "columns": columns, "bootstrap": bootstrap, "exclusive": exclusive}
    return evaluate_model(predictor, data, split, **given)


def train(
    data: Any,
    out: str | Path,
    *,
    base: str | Path | None = None,
    full: bool = False,
    minutes: float | None = None,
    epochs: int | None = None,
    columns: "Columns | Mapping[str, str] | None" = None,
    seeds: int = 1,
    resume: bool = False,
    device: str = "auto",
    data_dir: Path | None = None,
    callbacks: "Sequence[Callback] | None" = None,
) -> "Predictor":
    """Train a model on labels of your own, write its folder, and load it.

    Args:
        data: labels that fine-tune a reader: the path of a table, a DataFrame, rows as mappings, Examples or a Dataset;
            or a whole configuration: a TOML file, the same as a mapping, or a RunConfig.
        out: where the model folder is written; its `report.html` says what the model is worth.
        base: the reader that fine-tuning starts from, by name or folder; None is the one in the box.
        full: train the encoder too, not only what answers.
        minutes: be done in about this time.
        epochs: how often the texts are read; None: by how many they are.
        columns: what the table calls its columns, those that are called otherwise: `{"text": "Review"}`.
        seeds: how many seeds are trained side by side, but in fine-tuning; the best on dev is kept.
        resume: go on where a run into this folder stopped.
        device: cpu, cuda, or auto: cuda where there is one.
        data_dir: where data is looked for first.
        callbacks: what hears of the run while it trains (`tabsa.training.callbacks.Callback`); None shows a bar on a
            terminal or in a notebook, and prints a line an epoch; () is silent.
    """
    try:
        from tabsa.cli.progress import ProgressBar
        from tabsa.training.fit import fit
        from tabsa.training.run_config import requested_run
    except ImportError as e:
        raise TabsaError("training needs PyTorch: pip install 'tabsa[train]'") from e
    run, dataset = requested_run(
        data, base=None if base is None else str(base), full=full, minutes=minutes, epochs=epochs, columns=columns
    )
    shown = [ProgressBar()] if callbacks is None else callbacks
    fit(run, Path(out), seeds, shown, resume=resume, device=device, data_dir=data_dir, data=dataset)
    return load(out)
