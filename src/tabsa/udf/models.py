"""The model that a frame or a query asks: loaded once, however often it is asked."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import cast

from tabsa.inference import Predictor, load
from tabsa.inference.predictor import Targets

_KEPT = 4  # models that stay loaded


def predictor_of(model: Predictor | str | Path | None = None) -> Predictor:
    """A model that was loaded as it is; by a name, a folder, or None for the one in the box, loaded at first use."""
    return model if isinstance(model, Predictor) else _loaded(None if model is None else str(model))


@lru_cache(maxsize=_KEPT)
def _loaded(name: str | None) -> Predictor:
    return load(name)


def reusable(targets: Targets | None) -> Targets | None:
    """Targets that can be gone through for each part of a table: an iterator would be used up by the first."""
    return targets if targets is None or isinstance(targets, Mapping) else cast("list[str]", list(targets))
