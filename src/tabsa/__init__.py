"""Who is judged, on what, and how: targeted aspect-based sentiment analysis.

import tabsa

model = tabsa.load()                      # the model in the box; or a name, or a model folder
result = model.predict("Camden is lovely but dear.", targets=["Camden"])
result.opinions                           # every target-aspect pair, `none` included
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tabsa.errors import TabsaError
from tabsa.schema import Dataset, Example, Opinion, Span, Target

if TYPE_CHECKING:
    from tabsa.predictor import Predictor

__version__ = "0.1.0"
__all__ = ["Dataset", "Example", "Opinion", "Span", "TabsaError", "Target", "__version__", "load"]


def load(
    name: str | Path | None = None, *, threads: int = 0, precision: Literal["float32", "int8"] = "float32"
) -> "Predictor":
    """A model that is ready to use: the one in the box, another of the package by name, or a model folder.

    Args:
        name: a name or a folder; None is the model in the box.
        threads: for the arithmetic; 0 takes as many as there are cores.
        precision: of the arithmetic; "int8" is about twice as fast on many texts, and nearly as good.
    """
    from tabsa.predictor import load as load_predictor  # brings in numpy, which `import tabsa` does without

    return load_predictor(name, threads=threads, precision=precision)
