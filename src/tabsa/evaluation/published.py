"""Published figures on Sentihood's test set, of the paper's Table 1 and later. Plain data.

The paper does not say in which family of definitions it computed strict accuracy and F1 (`docs/evaluation.md`).
"""

from dataclasses import asdict, dataclass

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

    def to_dict(self) -> dict[str, float | str | None]:
        """Plain data for JSON."""
        return asdict(self)


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

# Later systems this package does not have, for comparison.
OTHERS: dict[str, PublishedFigures] = {
    "BERT-pair-QA-M": PublishedFigures(0.794, 0.864, 0.970, 0.936, 0.964, "Sun et al. (2019)"),
    "BERT-pair-QA-B": PublishedFigures(0.792, 0.879, 0.971, 0.933, 0.970, "Sun et al. (2019)"),
    "QACG-BERT": PublishedFigures(0.809, 0.897, 0.978, 0.938, 0.978, "Wu and Ong (2021)"),
}
