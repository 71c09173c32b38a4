"""Who is judged, on what, and how: targeted aspect-based sentiment analysis.

import tabsa

model = tabsa.load()                      # the model in the box; or a name, or a model folder
result = model.predict("Camden is lovely but dear.", targets=["Camden"])
result.opinions                           # every target-aspect pair, `none` included
tabsa.evaluate(model, "places")           # a Report: what it is worth on a dataset
tabsa.train("config.toml", out="mine")    # trains, and gives the new model
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tabsa.errors import TabsaError
from tabsa.schema import Dataset, Example, Opinion, Span, Target

if TYPE_CHECKING:
    from tabsa.evaluation.report import Report
    from tabsa.inference import Predictor
    from tabsa.training.callbacks import Callback
    from tabsa.training.config import RunConfig

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
    """A model that is ready to use: the one in the box, another of the package by name, or a model folder.

    Args:
        name: a name or a folder; None is the model in the box, "reader". "places", or "fast", is the other in the
            package: twelve aspects of places, several times as fast.
        threads: for the arithmetic; 0 takes as many as there are cores.
        precision: of the arithmetic; "int8" is about twice as fast on many texts, and nearly as good. "auto" takes it
            where the model was trained for it, and "float32" otherwise.
    """
    from tabsa.inference import load as load_predictor  # brings in numpy, which `import tabsa` does without

    return load_predictor(name, threads=threads, precision=precision)


def evaluate(
    model: "Predictor | str | Path",
    data: Dataset | str | Path,
    split: str = "test",
    *,
    data_dir: Path | None = None,
    bootstrap: int = 1000,
) -> "Report":
    """What a model is worth on a dataset: every figure in both families of definitions, and by aspect.

    Args:
        model: a model that was loaded, or what `load` takes.
        data: a Dataset, or a dataset's name, or the path of your own file or folder.
        split: the part of a named dataset to score on.
        data_dir: where a named dataset is looked for first.
        bootstrap: resamples for the 95% intervals; 0 leaves them out, which is faster.
    """
    from tabsa.inference import evaluate as evaluate_model

    return evaluate_model(model, data, split, data_dir=data_dir, bootstrap=bootstrap)


def train(
    config: "str | Path | Mapping[str, Any] | RunConfig",
    out: str | Path,
    *,
    seeds: int = 1,
    resume: bool = False,
    device: str = "auto",
    data_dir: Path | None = None,
    callbacks: "Sequence[Callback]" = (),
) -> "Predictor":
    """Train a model, write its folder, and load it.

    Args:
        config: a TOML file, the same as a mapping (`{"kind": "lr", "data": {"name": "my.csv"}}`), or a RunConfig.
        out: where the model folder is written.
        seeds: how many seeds are trained side by side; the best on dev is kept.
        resume: go on where a run into this folder stopped.
        device: cpu, cuda, or auto: cuda where there is one.
        data_dir: where data is looked for first.
        callbacks: what hears of the run while it trains (`tabsa.training.callbacks.Callback`).
    """
    try:
        from tabsa.training.config import RunConfig, read_config, run_config
        from tabsa.training.fit import fit
    except ImportError as e:
        raise TabsaError("training needs PyTorch: pip install 'tabsa[train]'") from e
    if isinstance(config, Mapping):
        run = run_config(dict(config))
    else:
        run = config if isinstance(config, RunConfig) else read_config(Path(config))
    fit(run, Path(out), seeds, callbacks, resume=resume, device=device, data_dir=data_dir)
    return load(out)
