"""Which words of a text are negated: those a few behind a negation, up to the end of its clause.

In "It is not that safe at night, but cheap", with a reach of 5: that, safe, at, night.
"""

from collections.abc import Sequence
from typing import Final

_WORDS: Final = "not n't no never nothing nobody none nor neither nowhere without"
_WEAK: Final = "hardly barely scarcely rarely seldom less lack lacks lacking"
_VERBS: Final = "ai are ca could did does do had has have is should was were wo would"  # as in `dont`
_NEGATIONS: Final = frozenset(f"{_WORDS} {_WEAK}".split()) | {f"{verb}nt" for verb in _VERBS.split()}


def negated(words: Sequence[str], reach: int) -> list[bool]:
    """Of each word, in lower case, whether it is one of the `reach` behind a negation and in the same clause.

    A clause ends at `but` and at every token without a letter or a digit.
    """
    result, left = [], 0
    for word in words:
        if word == "but" or not any(map(str.isalnum, word)):
            left = 0
        result.append(left > 0)
        left = reach if word in _NEGATIONS else max(left - 1, 0)
    return result
