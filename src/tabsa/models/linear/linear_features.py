"""From a text and a target to n-grams, and from n-grams to numbers: what the linear baseline sees.

In the text every mention of the asked target is one token and every mention of any other target is another, so that
names do not matter and two targets of one text differ. A negated word is another one than the same word elsewhere.
Counted for each target are runs of words, of a word's characters and the spaces around it (here `_`), and of tags:

    Camden is not dear, unlike Brixton    asked of Camden, up to 2 words, 5 characters and 1 tag:
    w:<target>  w:is  w:not  w:<not>dear  w:,  w:unlike  w:<other>  w:<target> is  w:is not  w:not <not>dear  ...
    c:_is_  c:_not  c:not_  c:_not_  c:<not>_dea  c:<not>dear  c:<not>ear_  c:<not>_dear  c:<not>dear_  ...
    t:<target>  t:VBZ  t:RB  t:JJ  ...

No text has `<target>` or `<not>dear` as a token, because the tokeniser splits the brackets off.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.config import option
from tabsa.encoding.passages import Passage
from tabsa.text.tokens import Token

Tagger: TypeAlias = Callable[[Sequence[str]], list[str]]
"""Gives the tag of each token of a text."""

KIND: Final = "lr"


@dataclass(frozen=True, kw_only=True)
class LRConfig:
    """The features, and the fitting of the regressions.

    The defaults are the best of those tried on Sentihood's dev split that use tags, as the published system does.
    """

    word_ngrams: int = option(2, "words in the longest n-gram", low=1)
    pos_ngrams: int = option(2, "part-of-speech tags in the longest n-gram; 0: words only, no tagger needed", low=0)
    char_ngrams: int = option(5, "characters in a word's longest n-grams, the others have one fewer; 0: none", low=0)
    negation: int = option(5, "how many words behind a negation are read as negated; 0: none", low=0)
    c: tuple[float, ...] = option(
        (1.0, 3.0, 10.0, 30.0), "inverse strengths of regularisation to choose from on dev", low=1e-9
    )
    class_power: float = option(1.0, "a class weighs 1 / frequency ** this; 0: all the same", low=0, high=1)


_WORDS: Final = "not n't no never nothing nobody none nor neither nowhere without"
_WEAK: Final = "hardly barely scarcely rarely seldom less lack lacks lacking"
_VERBS: Final = "ai are ca could did does do had has have is should was were wo would"  # as in `dont`
_NEGATIONS: Final = frozenset(f"{_WORDS} {_WEAK}".split()) | {f"{verb}nt" for verb in _VERBS.split()}


def negated(words: Sequence[str], reach: int) -> list[bool]:
    """Say of each word, in lower case, whether it is one of the `reach` behind a negation and in the same clause.

    A clause ends at `but` and at every token without a letter or a digit.
    """
    result, left = [], 0
    for word in words:
        if word == "but" or not any(map(str.isalnum, word)):
            left = 0
        result.append(left > 0)
        left = reach if word in _NEGATIONS else max(left - 1, 0)
    return result


TARGET: Final = "<target>"
OTHER: Final = "<other>"
NOT: Final = "<not>"
# What the tagger reads in the place of every mention: a plain name, so that the tags around it depend on no name.
_NAME: Final = "London"


def passage_ngrams(passage: Passage, config: LRConfig, tagger: Tagger | None = None) -> Iterator[list[str]]:
    """List the n-grams of a passage for each of its targets; `tagger` is needed where `pos_ngrams` is not 0."""
    tokens = passage.tokens
    # A mention is no negation, whatever its name.
    under = negated([token.word if token.target is None else TARGET for token in tokens], config.negation)
    marks = [NOT if one else "" for one in under]
    characters = _characters(tokens, marks, config.char_ngrams)
    tags: Sequence[str] = ()
    if config.pos_ngrams:
        if tagger is None:
            raise ValueError("n-grams of tags need a tagger")
        tags = tagger([token.text if token.target is None else _NAME for token in tokens])
    marked = [mark + token.word for mark, token in zip(marks, tokens, strict=True)]
    for slot in range(len(passage.targets)):
        found = ngrams("w:", _masked(marked, tokens, slot), config.word_ngrams) + characters
        if config.pos_ngrams:
            found += ngrams("t:", _masked(tags, tokens, slot), config.pos_ngrams)
        yield found


def _characters(tokens: Sequence[Token], marks: Sequence[str], longest: int) -> list[str]:
    """List runs of `longest` characters of each word that mentions nobody, and of one fewer; with spaces around it."""
    return [
        f"c:{mark}{text[start : start + size]}"
        for token, mark in zip(tokens, marks, strict=True)
        if token.target is None
        for text in (f" {token.word} ",)
        for size in range(max(longest - 1, 1), longest + 1)
        for start in range(len(text) - size + 1)
    ]


def ngrams(prefix: str, items: Sequence[str], longest: int) -> list[str]:
    """List all runs of 1 to `longest` items, shorter ones first, each as one text behind the prefix."""
    return [
        prefix + " ".join(run)
        for size in range(1, longest + 1)
        for run in zip(*(items[start:] for start in range(size)), strict=False)
    ]


def _masked(items: Sequence[str], tokens: Sequence[Token], slot: int) -> list[str]:
    return [
        item if token.target is None else TARGET if token.target == slot else OTHER
        for item, token in zip(items, tokens, strict=True)
    ]


class SparseRows(NamedTuple):
    """Sparse rows: row n has `values[starts[n]:starts[n + 1]]` in the columns `columns[...]` of the same place."""

    starts: NDArray[np.int64]  # (N + 1,)
    columns: NDArray[np.int32]
    values: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The n-grams that count, in the order of their columns, and what their values are multiplied by."""

    ngrams: tuple[str, ...]
    scale: NDArray[np.float32]  # inverse document frequencies, (F,)
    config: LRConfig

    @classmethod
    def of(cls, groups: Sequence[Sequence[str]], config: LRConfig) -> "FeatureSpace":
        """Make the space of the training data, which alone decides it; `groups` has the n-grams of each target."""
        frequency = Counter(ngram for found in groups for ngram in set(found))
        # In order of first occurrence: sets have no order that a second run would repeat.
        first_seen = dict.fromkeys(ngram for found in groups for ngram in found)
        counts = np.array([frequency[ngram] for ngram in first_seen], np.float64)
        scale = (np.log((1 + len(groups)) / (1 + counts)) + 1).astype(np.float32)
        return cls(tuple(first_seen), scale, config)

    @cached_property
    def column(self) -> dict[str, int]:
        """The column of each n-gram."""
        return {ngram: column for column, ngram in enumerate(self.ngrams)}

    def encode(self, groups: Iterable[Sequence[str]]) -> SparseRows:
        """Make a row of length 1 for each target's n-grams; those outside the space are left out."""
        starts, columns, values = [0], list[NDArray[np.int32]](), list[NDArray[np.float64]]()
        for found in groups:
            # Sorted, because equal n-grams in another order must give an equal sum, to the last bit.
            own = sorted({column for ngram in found if (column := self.column.get(ngram)) is not None})
            columns.append(np.array(own, np.int32))
            values.append(self.scale[columns[-1]].astype(np.float64))
            values[-1] /= max(float(np.sqrt(np.square(values[-1]).sum())), 1e-300)
            starts.append(starts[-1] + len(own))
        return SparseRows(
            np.array(starts), np.concatenate([np.zeros(0, np.int32), *columns]), np.concatenate([np.zeros(0), *values])
        )
