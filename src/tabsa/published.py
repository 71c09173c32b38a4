"""The systems of the paper's Table 1 and what was published of them on Sentihood's test set. Plain data.

The paper does not say in which family of definitions it computed strict accuracy and F1 (`docs/evaluation.md`).
"""

from dataclasses import asdict, dataclass

_SAEIDI = "Saeidi et al. (2016)"
_MA = "Ma et al. (2018)"
_LIU = "Liu, Cohn and Baldwin (2018)"
_TABLE = f"{_LIU}, Table 1"


@dataclass(frozen=True)
class Figures:
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


@dataclass(frozen=True)
class System:
    """A system this package has: what it is, whose it is, and what it needs besides the package itself."""

    name: str
    about: str
    paper: str
    needs: tuple[str, ...]
    published: Figures


_PYTORCH = "PyTorch"
SYSTEMS: dict[str, System] = {
    system.name: system
    for system in (
        System(
            "lr",
            "logistic regression on word and part-of-speech n-grams, one model an aspect",
            _SAEIDI,
            ("scikit-learn", "POS tagger"),
            Figures(None, 0.393, 0.924, 0.875, 0.905),
        ),
        System(
            "lstm-final",
            "bi-directional LSTM, its final states; one reading a target",
            _SAEIDI,
            (_PYTORCH,),
            Figures(None, 0.689, 0.898, 0.820, 0.854),
        ),
        System(
            "lstm-loc",
            "bi-directional LSTM, its states at the target's mentions; one reading a target",
            _SAEIDI,
            (_PYTORCH,),
            Figures(None, 0.693, 0.897, 0.819, 0.839),
        ),
        System(
            "lstm-ta-sa",
            "bi-directional LSTM with attention from the target, then from target and aspect",
            _MA,
            (_PYTORCH,),
            Figures(0.664, 0.767, None, 0.868, None),
        ),
        System(
            "sentic-lstm",
            "the same over an LSTM whose gates hear a concept vector at each word",
            _MA,
            (_PYTORCH, "concepts"),
            Figures(0.674, 0.782, None, 0.893, None),
        ),
        System(
            "entnet",
            "recurrent entity network: memory chains with gated updates",
            "Henaff et al. (2017)",
            (_PYTORCH,),
            Figures(0.663, 0.698, 0.895, 0.876, 0.897),
        ),
        System(
            "delayed-entnet",
            "recurrent entity network with delayed memory update",
            _LIU,
            (_PYTORCH,),
            Figures(0.735, 0.785, 0.944, 0.910, 0.948),
        ),
    )
}

# Later systems this package does not have, for comparison.
OTHERS: dict[str, Figures] = {
    "BERT-pair-QA-M": Figures(0.794, 0.864, 0.970, 0.936, 0.964, "Sun et al. (2019)"),
    "BERT-pair-QA-B": Figures(0.792, 0.879, 0.971, 0.933, 0.970, "Sun et al. (2019)"),
    "QACG-BERT": Figures(0.809, 0.897, 0.978, 0.938, 0.978, "Wu and Ong (2021)"),
}
