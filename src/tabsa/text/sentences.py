"""Sentence boundaries: rules of our own, because the model of NLTK's splitter is not on the package registry."""

import re
from typing import Final

from tabsa.schema import Span

# Where a sentence may end: a run of end marks with the quotes and brackets that close after it, then white space;
# an East Asian end mark, which needs no white space; a blank line. The look-behind keeps long runs linear.
_END: Final = re.compile(
    r"""
      (?<![.!?…।॥؟۔]) (?P<mark>[.!?…।॥؟۔]++) (?P<close>[)\]}>"'”’»›]*+) (?=\s)
    | [。！？｡]++ [」』）］】》〉”’"']*+
    | \n\s*\n | \u2029
    """,
    re.VERBOSE,
)
# What follows: the opening marks, the first word, and whether a full stop follows it.
_NEXT: Final = re.compile(r"""\s*(?P<open>["'“‘«„‹(\[{¿¡]*)(?P<word>\w*)(?P<stop>\.?)""")
_ONLY_CLOSERS: Final = re.compile(r"""[\s)\]}>"'”’»›]*\Z""")
_CONTINUES: Final = frozenset(",;:)]}.!?…»”’›%")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list that is written as a text."""
    return frozenset(text.split())


# Titles and Latin: a name or an example always follows.
_NEVER_LAST: Final = word_set("mr mrs ms mx messrs dr prof rev capt col gen lt sgt hon e.g i.e eg ie vs cf viz")
# These may be the last word of a sentence, and are when a word that opens sentences follows.
_ABBREVIATIONS: Final = word_set(
    "st rd ave av blvd ln sq pl hwy mt ft bldg apt dept etc approx min mins max hr hrs sec secs wk wks yr yrs mth mths "
    "pcm pw est inc ltd co corp jr sr bros tel ext incl excl misc al lb lbs oz km jan feb apr aug sept oct nov dec "
    "tues thurs govt assoc univ"
)
_BEFORE_NUMBERS: Final = word_set("no nos p pp fig vol ch art sect")
_STARTERS: Final = word_set(
    "The A An I It We He She They You My Our Your Their His Her Its This That These Those There Here But And So If "
    "When While Then What Why How Who Where In On At For From With After Before Also However Not Yes Is Are Was"
)
_LONGEST: Final = 16  # characters before a full stop that can matter; longer words are no abbreviations


def is_abbreviation(word: str) -> bool:
    """Return whether `word`, given without its last full stop, is one that has it for good: `St`, `a.m`, `J`."""
    initial = len(word) == 1 and word.isupper()
    dotted = "." in word and all(len(part) == 1 and part.isalpha() for part in word.split("."))
    return initial or dotted or word.lower() in _NEVER_LAST or word.lower() in _ABBREVIATIONS


def split_sentences(text: str) -> list[Span]:
    """Return the sentences of a text, in order: spans without white space at their ends that cover all the rest.

    A sentence ends at `.`, `!`, `?` or `…`, and the quotes and brackets that close after it, when white space
    and something that can start a sentence follow; at `。`, `！` or `？`; and at a blank line. Abbreviations,
    initials, list numbers, decimals, and an ellipsis before a lower-case word do not end it.
    """
    spans: list[Span] = []
    start = 0
    for match in _END.finditer(text):
        if match["mark"] is None or _ends(text, start, match):
            _add(spans, text, start, match.end())
            start = match.end()
    _add(spans, text, start, len(text))
    return spans


def _add(spans: list[Span], text: str, start: int, end: int) -> None:
    sentence = text[start:end]
    if body := sentence.strip():
        start += len(sentence) - len(sentence.lstrip())
        spans.append(Span(start, start + len(body)))


def _ends(text: str, start: int, match: re.Match[str]) -> bool:
    """Decide whether the sentence that begins at `start` ends at this end mark."""
    following = _NEXT.match(text, match.end())
    assert following is not None  # noqa: S101 (every part of the pattern is optional)
    first = text[following.start("open") : following.start("open") + 1]
    if first in _CONTINUES or (following["open"] and _ONLY_CLOSERS.match(text, match.end())):
        return False
    mark, word = match["mark"], following["word"]
    ellipsis = mark != "." and mark.strip(".…") == ""
    if (ellipsis or match["close"]) and word[:1].islower():
        return False
    if mark != ".":
        return True
    starts = word in _STARTERS and not following["stop"]
    return _full_stop_ends(text[max(start, match.start() - _LONGEST) : match.start()], word, starts)


def _full_stop_ends(before: str, word: str, starts: bool) -> bool:
    """Decide whether a full stop ends its sentence, from the text before it and the word after it."""
    *earlier, last = before.split() or [""]
    last = last.lstrip("\"'“‘«„‹([{")
    if last.isdecimal() and len(last) <= 3 and not earlier:  # "1. Go there."
        return False
    if last.lower() in _BEFORE_NUMBERS:
        return not word[:1].isdecimal()
    if last.lower() in _NEVER_LAST:
        return False
    return starts or not is_abbreviation(last)
