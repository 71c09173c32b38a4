"""Stand-ins for a word that has no vector of its own: another spelling of it, its parts, or a made-up vector.

The ways, in the order they are tried:

    exact        the word itself
    case         in lower case, with a capital, in capitals              dlr -> DLR
    clitic       the word that a clitic shortens                         n't -> not, 've -> have
    number       the same digits without commas, then rounded down,      1,437 -> 1437 -> 1400 -> 1000
                 then with its digits masked, then the word "number"     -> #### -> number
    punctuation  a plain, alike or named mark; a word without hyphens    `` -> ", -lrb- -> (, % -> percent
    parts        the mean of its parts, where every part has a vector    clubs/bars -> clubs, bars
    random       a vector drawn from the word's hash, the same in every run and in every vocabulary
"""

import hashlib
import math
import re
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

How: TypeAlias = Literal["exact", "case", "clitic", "number", "punctuation", "parts", "random"]


def random_vector(word: str, dim: int, *, scale: float) -> NDArray[np.float32]:
    """Return a vector that depends on the word and the scale alone, the same with every version of numpy.

    Its elements are uniform with mean 0 and root mean square `scale`; different words get different ones.
    """
    key = f"0\0{word}".encode("utf-8", "surrogatepass")
    bits = np.frombuffer(hashlib.shake_256(key).digest(4 * dim), dtype="<u4")
    unit = (bits + 0.5) / 2**31 - 1.0  # uniform in (-1, 1)
    return (unit * (scale * math.sqrt(3.0))).astype(np.float32)


def candidates(word: str) -> list[str]:
    """Return every spelling that `word` may be looked up by, itself first."""
    return list(dict.fromkeys(spelling for part in (word, *parts(word)) for _, spelling in spellings(part)))


def spellings(word: str) -> Iterator[tuple[How, str]]:
    """Yield the spellings of one word in the order they are tried, each with the way that led to it."""
    yield "exact", word
    yield from (("case", variant) for variant in (word.lower(), word.capitalize(), word.upper()))
    yield from (("clitic", variant) for variant in _clitics(word))
    yield from (("number", variant) for variant in _numbers(word))
    yield from (("punctuation", variant) for variant in _punctuation(word))


def parts(word: str) -> list[str]:
    """Return the words that `word` is joined of ("clubs/bars", "4-bedroom", "w1."), or nothing.

    Single letters are no words: "u.s." has no parts.
    """
    found = [part for part in _JOINTS.split(word) if part]
    if found == [word] or any(len(part) == 1 and not part.isdigit() for part in found):
        return []
    return found


_JOINTS: Final = re.compile(r"[^\w'’]+|_+")
_APOSTROPHES: Final = str.maketrans(dict.fromkeys("‘’‛ʼ＇`´", "'"))
_CLITICS: Final = dict(
    pair.split() for pair in ("n't not", "'ve have", "'re are", "'ll will", "'m am", "'d would", "'s is")
)


def _clitics(word: str) -> Iterator[str]:
    plain = word.translate(_APOSTROPHES).lower()
    if plain in _CLITICS:
        yield from (plain, _CLITICS[plain])


_NUMBER: Final = re.compile(r"[^\w]*(\d{1,3}(?:,\d{3})+|\d+)(?:\.(\d+))?[^\w]*", re.ASCII)


def _numbers(word: str) -> Iterator[str]:
    match = _NUMBER.fullmatch(word)
    if match is None:
        return
    digits = match[1].replace(",", "")
    if match[2]:
        yield f"{digits}.{match[2]}"
    yield digits
    whole = digits.lstrip("0") or "0"
    yield whole
    for digits_left in (2, 1):  # significant ones
        if len(whole) > digits_left:
            yield whole[:digits_left] + "0" * (len(whole) - digits_left)
    yield from ("#" * len(digits), "number")


# Marks that stand for each other, the plainest first, and what stands for them all where a file has none of them.
_PAUSE: Final = (",",)
_ALIKE: Final = (
    (('"', "``", "''", "“", "”", "„", "«", "»", "'", "‘", "’", "`", "´"), _PAUSE),
    (("(", "-lrb-", "-LRB-", "[", "-lsb-", "-LSB-", "{", "-lcb-", "-LCB-", "<"), _PAUSE),
    ((")", "-rrb-", "-RRB-", "]", "-rsb-", "-RSB-", "}", "-rcb-", "-RCB-", ">"), _PAUSE),
    (("-", "--", "---", "–", "—", "―", "‒", "−", "~"), _PAUSE),
    ((":", ";"), _PAUSE),
    ((".", "...", "…"), _PAUSE),
    (("!", "?"), (".", *_PAUSE)),
    (("|", "\\", "*", "•", "·"), _PAUSE),
    ((",", "،", "、"), (";", ".")),
    (("/",), ("or", *_PAUSE)),
)
_NAMED: Final = {"&": "and", "+": "plus", "=": "equals is", "%": "percent", "@": "at", "#": "number"}
_MONEY: Final = {"$": "dollars dollar", "£": "pounds pound", "€": "euros euro"}
_MARKS: Final = {mark: (*alike, *last) for alike, last in _ALIKE for mark in alike} | {
    mark: (mark, *words.split()) for mark, words in (_NAMED | _MONEY).items()
}
_TYPOGRAPHY: Final = str.maketrans(
    dict.fromkeys("‘’‛ʼ＇`´", "'") | dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‐‑‒–—―−", "-") | {"…": "..."}
)


def _punctuation(word: str) -> Iterator[str]:
    mark = word.lower()
    if mark not in _MARKS and len(set(mark)) == 1:  # "!!!!" is one mark, louder
        mark = mark[0]
    if mark in _MARKS:
        yield from _MARKS[mark]
        return
    plain = word.translate(_TYPOGRAPHY)
    if plain != word:
        yield plain
    joined = plain.replace("-", "")
    if joined != plain and joined.isalpha():  # not "2-3"
        yield joined
