"""The choices of SenticLSTM."""

from dataclasses import dataclass
from typing import Any, ClassVar

from tabsa.config import option
from tabsa.models.lstm.config import AttentiveConfig


@dataclass(frozen=True, kw_only=True)
class SenticLSTMConfig(AttentiveConfig):
    """The attention's choices, and those of the concepts.

    The authors' concept vectors were never released, so a result depends on `concepts`: name it beside the figures.
    """

    DROPPED: ClassVar[dict[str, Any]] = {"forget_bias": -1.0, "related": False}

    concepts: str = option("", "a table of concepts, below a data folder or anywhere; empty: the package's lexicon")
