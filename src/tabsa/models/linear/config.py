"""The linear baseline's choices."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from tabsa.config import option

KIND: Final = "lr"
Decision = Literal["argmax", "threshold"]


@dataclass(frozen=True, kw_only=True)
class LRConfig:
    """What the features are, how the regressions are fitted, and when a pair counts as having an opinion.

    The defaults are the best of those tried on Sentihood's dev split that use tags, as the published system does.
    """

    DROPPED: ClassVar[dict[str, Any]] = {"lowercase": True, "min_count": 1, "counts": False, "tf_idf": True}

    word_ngrams: int = option(2, "words in the longest n-gram", low=1)
    pos_ngrams: int = option(2, "part-of-speech tags in the longest n-gram; 0: words only, no tagger needed", low=0)
    char_ngrams: int = option(5, "characters in a word's longest n-grams, the others have one fewer; 0: none", low=0)
    negation: int = option(5, "how many words behind a negation are read as negated; 0: none", low=0)
    c: tuple[float, ...] = option(
        (1.0, 3.0, 10.0, 30.0), "inverse strengths of regularisation to choose from on dev", low=1e-9
    )
    class_power: float = option(1.0, "a class weighs 1 / frequency ** this; 0: all the same", low=0, high=1)
    decision: Decision = option("threshold", "argmax: the likeliest label; threshold: `none` moved to suit dev")
