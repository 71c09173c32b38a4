"""Opinions in other libraries: one file a library, which imports it; this one imports none."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tabsa.inference.predictor import Predictor, Targets


def predictor_of(model: "Predictor | str | Path | None" = None) -> "Predictor":
    """Return a loaded model as it is; load a name, a folder or None (the model in the box) once."""
    return _load(None if model is None else str(model)) if model is None or isinstance(model, str | Path) else model


@lru_cache(maxsize=4)
def _load(name: str | None) -> "Predictor":
    from tabsa.inference.predictor import load

    return load(name)


def reusable(targets: "Targets | None") -> "Targets | None":
    """Return targets that each part of a table can go through; an iterator would be used up by the first."""
    return targets if targets is None or isinstance(targets, Mapping) else cast("list[str]", list(targets))
