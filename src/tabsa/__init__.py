"""Who is judged, on what, and how: targeted aspect-based sentiment analysis.

import tabsa

model = tabsa.load()                      # the model in the box; or a name, or a model folder
result = model.predict("Camden is lovely but dear.", targets=["Camden"])
result.opinions                           # every target-aspect pair, `none` included
result.evidence("Camden", "price")        # the words, phrases and sentences that carry an answer
tabsa.evaluate(model, "places")           # a Report: what it is worth on a dataset
tabsa.train("my.csv", out="mine")         # learns from your labels, and gives the new model
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tabsa.errors import TabsaError
from tabsa.schema import Dataset, Example, Opinion, Span, Target

if TYPE_CHECKING:
    from tabsa.datasets import Columns
    from tabsa.evaluation.report import Report
    from tabsa.inference import Predictor
    from tabsa.training.callbacks import Callback

__version__ = "0.1.0"
__all__ = [
    "Dataset",
    "Example",
    "Opinion",
    "Span",
    "TabsaError",
    "Target",
    "__version__",
    "evaluate",
    "load",
    "train",
]


def load(
    name: str | Path | None = None, *, threads: int = 0, precision: Literal["auto", "float32", "int8"] = "auto"
) -> "Predictor":
    """A model that is ready to use: the one in the box, another of the package by name, a folder, or one of the hub.

    Args:
        name: a name or a folder; None is the model in the box, "reader". "places", or "fast", is the other in the
            package: twelve aspects of places, several times as fast. "hub:OWNER/NAME" is one of the Hugging Face hub,
            with "@REVISION" and "#sha256=HEX" where it is to be pinned; it is downloaded once, and checked.
        threads: for the arithmetic; 0 takes as many as there are cores.
        precision: of the arithmetic; "int8" is about twice as fast on many texts, and nearly as good. "auto" takes it
            where the model was trained for it, and "float32" otherwise.
    """
    from tabsa.inference import load as load_predictor  # brings in numpy, which `import tabsa` does without

    return load_predictor(name, threads=threads, precision=precision)


def evaluate(
    model: "Predictor | str | Path",
    data: Any,
    split: str = "test",
    *,
    data_dir: Path | None = None,
    columns: "Columns | Mapping[str, str] | None" = None,
    bootstrap: int = 1000,
    evidence: int = 0,
) -> "Report":
    """What a model is worth on a dataset: every figure in both families of definitions, its parts, and its mistakes.

    Args:
        model: a model that was loaded, or what `load` takes.
        data: a dataset's name, or the path of your own file or folder; or labels in memory: a Dataset, a DataFrame,
            rows as mappings, Examples.
        split: the part of what has a name or a path to score on.
        data_dir: where a named dataset is looked for first.
        columns: what your own file calls its columns, those that are called otherwise: `{"text": "Review"}`.
        bootstrap: resamples for the 95% intervals; 0 leaves them out, which is faster.
        evidence: of how many of the worst mistakes the words that carry the answer are looked for; each costs at most
            ten readings of its text.
    """
    from tabsa.inference import Predictor
    from tabsa.inference import evaluate as evaluate_model

    predictor = model if isinstance(model, Predictor) else load(model)
    report = evaluate_model(predictor, data, split, data_dir=data_dir, columns=columns, bootstrap=bootstrap)
    if not evidence:
        return report
    from tabsa.evidence.mistakes import with_evidence

    return with_evidence(report, predictor, evidence)


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
    callbacks: "Sequence[Callback]" = (),
) -> "Predictor":
    """Train a model on labels of your own, write its folder, and load it.

    Args:
        data: labels: the path of a table, a DataFrame, rows as mappings, Examples or a Dataset. They fine-tune a
            reader. Or a whole configuration: a TOML file, the same as a mapping (`{"kind": "lr", "data": {"name":
            "my.csv"}}`), or a RunConfig.
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
        callbacks: what hears of the run while it trains (`tabsa.training.callbacks.Callback`).
    """
    try:
        from tabsa.training.fit import fit
        from tabsa.training.sources import asked_training
    except ImportError as e:
        raise TabsaError("training needs PyTorch: pip install 'tabsa[train]'") from e
    run, dataset = asked_training(
        data, base=None if base is None else str(base), full=full, minutes=minutes, epochs=epochs, columns=columns
    )
    fit(run, Path(out), seeds, callbacks, resume=resume, device=device, data_dir=data_dir, data=dataset)
    return load(out)
