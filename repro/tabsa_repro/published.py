"""Published figures on Sentihood's test set, of the paper's Table 1. Plain data.

The paper does not say in which family of definitions it computed strict accuracy and F1 (`docs/evaluation.md`).
"""

from dataclasses import dataclass

_TABLE = "Liu, Cohn and Baldwin (2018), Table 1"


@dataclass(frozen=True)
class PublishedFigures:
    """Published figures, as fractions; None where none was published."""

    strict_accuracy: float | None
    macro_f1: float | None
    aspect_auc: float | None
    sentiment_accuracy: float | None
    sentiment_auc: float | None
    source: str = _TABLE


# The systems of Table 1, by the names they have in this package.
PUBLISHED: dict[str, PublishedFigures] = {
    "lr": PublishedFigures(None, 0.393, 0.924, 0.875, 0.905),
    "lstm-final": PublishedFigures(None, 0.689, 0.898, 0.820, 0.854),
    "lstm-loc": PublishedFigures(None, 0.693, 0.897, 0.819, 0.839),
    "lstm-ta-sa": PublishedFigures(0.664, 0.767, None, 0.868, None),
    "sentic-lstm": PublishedFigures(0.674, 0.782, None, 0.893, None),
    "entnet": PublishedFigures(0.663, 0.698, 0.895, 0.876, 0.897),
    "delayed-entnet": PublishedFigures(0.735, 0.785, 0.944, 0.910, 0.948),
}
