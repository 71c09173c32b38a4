"""Names in a text that may be targets: capitalised phrases that are not merely the starts of sentences.

A capital in the middle of a sentence makes a name; names join (`Camden Town`, `Bank of England`), and a number right
after one belongs to it (`Pixel 9`, `Windows 11 Pro`), unless it counts something (`Camden 20 years ago`) or is a year.
At the start of a sentence a single word counts only if the text uses it as a name elsewhere, or if it stands as one:
before a verb (`Camden is dear`), or before another name (`Camden and Brixton are dear`).
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

from tabsa.errors import DataError
from tabsa.schema import Span
from tabsa.text.sentences import split_sentences, word_set
from tabsa.text.targets import TargetFinder
from tabsa.text.tokens import Token, tokenise

_MOST: Final = 50  # names
_MANY: Final = 20  # texts
_JOINERS: Final = word_set("of on upon de la le the and & 's ’s")  # inside a name, between two capitals
_WEAK_JOINERS: Final = word_set("the and")  # these join nothing by themselves
_VERBS: Final = word_set(
    "is was has had are were isn't wasn't 's does did do can could will would should must may might feels felt seems "
    "seemed looks looked gets got offers offered needs used tends lacks became becomes remains takes took costs cost "
    "comes came works worked makes made keeps kept lasts lasted runs ran"
)
# 9, 9a, 737-800, S (but "I" and "A" are words); not a year, a place in a row, or an amount.
_MODEL: Final = re.compile(r"\d{1,4}(?:[-.]\d{1,4})?[a-zA-Z]{0,2}|[B-HJ-Z]")
_NO_MODEL: Final = re.compile(r"(?:19|20)\d\d|\d+(?:st|nd|rd|th|am|pm|km|kg|k|m)")
_COUNTED: Final = word_set(
    "year month week day night hour hr minute min second time bed bedroom room person people star mile metre meter km "
    "kg pound euro dollar quid grand percent % to or out ago"
)
_TITLES: Final = word_set("st. mr. mrs. ms. dr. prof. mt.")
# Capitals that name nobody: pronouns, and what opens sentences.
_NEVER: Final = _VERBS | word_set(
    "i i'm i've i'd i'll ok okay lol btw imo imho asap faq tv diy uk eu usa pm am mon tue wed thu fri sat sun monday "
    "tuesday wednesday thursday friday saturday sunday january february march april may june july august september "
    "october november december christmas easter a an the this that these those there here it its he she we you they my "
    "your his her our their who what when where why how which whose and or but so if as at by for from in into of off "
    "on onto out over to under up upon with without after before since until while although though because unless "
    "not no nor yes also just even only very too much many more most some any all both each every few other another "
    "such one two three first second last next then than now never always often sometimes usually still already again "
    "maybe perhaps however anyway overall plus apart despite besides everything everyone nothing nobody something "
    "someone anything anyone people place places area areas rent rents price prices house houses housing flat flats "
    "transport traffic crime safety parking shops shopping food nightlife schools life living location good great nice "
    "lovely bad cheap expensive quiet noisy safe dangerous avoid try go going get getting love loved hate hated "
    "are don't doesn't didn't aren't hi hello hey thanks thank please sorry honestly personally"
)


def suggest(text: str) -> list[tuple[str, list[Span]]]:
    """Return the names, in the order of their first mentions, each with where it stands; at most fifty."""
    tokens = tokenise(text)
    spans: dict[str, list[Span]] = {}
    doubtful: list[Span] = []
    for sentence in _sentences(text, tokens):
        if not any(any(map(str.islower, token.text)) for token in sentence):
            continue  # all in capitals: they tell nothing
        for first, last in _runs(sentence):
            span = Span(sentence[first].start, sentence[last].end)
            if first == 0 and not any(map(_is_capitalised, sentence[1 : last + 1])) and not _stands(sentence, last):
                doubtful.append(span)
            else:
                spans.setdefault(text[span.start : span.end], []).append(span)
    for span in doubtful:
        name = text[span.start : span.end]
        if name in spans:
            spans[name] = sorted([*spans[name], span])
    return sorted(spans.items(), key=lambda item: item[1][0])[:_MOST]


def suggest_common(texts: Sequence[str], most: int = _MOST) -> list[tuple[str, int]]:
    """Return the names of many texts, each with how many of them name it: the most frequent first.

    Where there are many texts, a name that only one of them has is left out.
    """
    found = Counter(name for text in texts for name, _ in suggest(text))
    likely: dict[str, int] = {}
    for name, count in found.most_common(4 * most):
        with suppress(DataError):  # it is another's name in other letters (`CAMDEN`)
            TargetFinder([*likely, name])
            likely[name] = count
    least = 2 if len(texts) >= _MANY else 1
    return [(name, count) for name, count in likely.items() if count >= least][:most]


def _sentences(text: str, tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the tokens of each sentence, without the quotes and dashes that it may open with."""
    ends = [span.end for span in split_sentences(text)]
    sentences = []
    for _, group in groupby(tokens, lambda token: bisect_right(ends, token.start)):
        words = list(group)
        opening = next((n for n, token in enumerate(words) if token.text[0].isalnum()), len(words))
        sentences.append(words[opening:])
    return sentences


def _runs(sentence: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the first and last tokens of each name."""
    runs: list[tuple[int, int]] = []
    for place, token in enumerate(sentence):
        if not _is_capitalised(token):
            continue
        end = place
        while _is_model(sentence, end + 1):
            end += 1
        if runs and _joins(sentence, runs[-1][1], place):
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((place, end))
    return [(first, last) for first, last in runs if sentence[last].text.lower() not in _TITLES]


def _is_capitalised(token: Token) -> bool:
    word = token.text
    starts = word[0].isupper() or (word[0] in "ei" and word[1:2].isupper())  # iPhone, eBay
    return starts and len(word) > 1 and word.lower().replace("’", "'") not in _NEVER


def _is_model(sentence: Sequence[Token], place: int) -> bool:
    """Decide whether the token is a number or a letter that belongs to the name before it, and counts nothing."""
    if place >= len(sentence) or sentence[place].start - sentence[place - 1].end != 1:
        return False
    word = sentence[place].text
    following = sentence[place + 1].text.lower() if place + 1 < len(sentence) else ""
    return (
        bool(_MODEL.fullmatch(word)) and not _NO_MODEL.fullmatch(word) and following.removesuffix("s") not in _COUNTED
    )


def _joins(sentence: Sequence[Token], last: int, place: int) -> bool:
    """Decide whether the capital at `place` goes on with the name that reaches `last`."""
    between = [token.text.lower() for token in sentence[last + 1 : place]]
    return len(between) <= 2 and _JOINERS.issuperset(between) and not (between and _WEAK_JOINERS.issuperset(between))


def _stands(sentence: Sequence[Token], last: int) -> bool:
    """Decide whether the name at the start of a sentence, which reaches `last`, is followed by what follows names."""
    following = [token.text.lower().replace("’", "'") for token in sentence[last + 1 : last + 3]]
    if not following:
        return False
    listed = following[0] in {",", "and", "or", "&"} and len(following) > 1 and _is_capitalised(sentence[last + 2])
    return following[0] in _VERBS or listed
