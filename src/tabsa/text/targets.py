"""Find the mentions of targets in a text.

Our own, because thousands of names are found in one pass over a text, whatever their case, accents and script.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from tabsa.errors import DataError
from tabsa.schema import Span, Target
from tabsa.text.tokens import MARKS, UNSPACED, cache_short

# Character classes, written to stand inside [...].
# Scripts where a name needs no word boundary: those without spaces, and Hangul, whose particles are glued on.
_GLUED: Final = UNSPACED + r"\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\uac00-\ud7a3"
_INVISIBLE: Final = r"\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_DASHES: Final = r"\-\u2010-\u2015\u2212"

_UNITS: Final = re.compile(
    rf"""
      [^\W{_GLUED}] (?: [^\W{_GLUED}]++ | [{MARKS}]++ | [{_INVISIBLE}]++(?=[^\W{_GLUED}]) )*+  # a word
    | (?: [\uac00-\ud7a3] | [\u1100-\u115f][\u1160-\u11a7]*+ ) [\u11a8-\u11ff]*+               # a Hangul syllable
    | [{_GLUED}] [{MARKS}]*+
    | (?P<gap> \s++ | (?<=[\w{MARKS}])[{_DASHES}](?=\w) )
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
# What folding drops: accents, vowel points, the Arabic lengthening stroke, characters without a shape.
_DROPPED: Final = re.compile(
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    rf"\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f{_INVISIBLE}]+"
)
# Letters whose stroke or ligature Unicode does not decompose, and the looks of the apostrophe and the hyphen.
_ALIKE: Final = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
    | dict.fromkeys("’‘‛′´＇", "'")
    | dict.fromkeys("‐‑‒–—―−", "-")
)
_GAP: Final = " "
_Node: TypeAlias = dict[str, Any]  # where each next unit leads, and under "" the index of the name that ends here
_WRITTEN: Final = re.compile(r"\\([\\=,;])|(.)", re.DOTALL)  # one character, which a backslash may go before


class TargetFinder:
    """Finds the mentions of any number of names in one pass over a text.

    Args:
        names: the names of the targets; or a mapping from each name to its aliases, which count as mentions of it.

    A mention is a whole word or words, in any case, with or without accents: `Zürich` is found as `zurich` and
    `ZÜRICH`. Any white space or one dash may stand where the name has a space or a dash. The longest name wins:
    `Camden Town` is no mention of `Camden`. The plural is a mention, all of it (`two Camdens`); of a possessive or a
    compound only the name is (`Camden` in `Camden's` and in `Camden-based`). Between characters of Chinese, Japanese,
    Korean, Thai, Lao, Khmer and Burmese no word boundary is asked for. Where a text has a name of several words, some
    of these alone are a mention too, capitals in them and in no word beside them (`the Harlow` after `Hotel Harlow`).
    A name or alias that is empty, or stands for two targets, is a DataError.
    """

    def __init__(self, names: Iterable[str] | Mapping[str, Iterable[str]]) -> None:
        if isinstance(names, str):
            raise DataError(f"names must be a list of strings, not one string: give [{names!r}]")
        aliases = dict(names) if isinstance(names, Mapping) else None
        self.names: tuple[str, ...] = tuple(names)
        self._root: _Node = {}
        self._parts: dict[str, int | None] = {}  # words of names, each of whose name it is; None: of several
        plurals: list[tuple[list[str], int]] = []
        for index, name in enumerate(self.names):
            others = aliases[name] if aliases else ()
            if isinstance(others, str):
                raise DataError(f"aliases of {name!r} must be a list of strings, not one string: give [{others!r}]")
            for alias in (name, *others):
                units, spans = _units(alias.strip())
                if not units:
                    raise DataError(f"the name {alias!r} of a target is empty: give it at least one visible character")
                for unit, span in zip(units, spans, strict=True) if alias is name and len(units) > 1 else ():
                    if unit != "the" and _high(alias.strip(), span):
                        self._parts[unit] = index if self._parts.get(unit, index) == index else None
                self._add(units, index, alias)
                plurals += [(plural, index) for plural in _plurals(units)]
        for units, index in plurals:  # last, because a name that is spelt like another's plural goes first
            self._walk(units).setdefault("", index)

    def find(self, text: str) -> tuple[Target, ...]:
        """Return the targets that a text mentions, in the order of the names, each with all its mentions."""
        folded, spans = _units(text)
        mentions: dict[int, list[Span]] = {}
        free = 0  # units before it belong to a mention
        parts: dict[int, int] = {}  # units that are words of a name, and of which
        for at, unit in enumerate(folded):
            if at < free:
                continue
            node: _Node | None = self._root.get(unit)
            index, reached = None, at
            while node is not None:
                reached += 1
                if "" in node:
                    index, free = node[""], reached
                node = node.get(folded[reached]) if reached < len(folded) else None
            if index is not None:
                mentions.setdefault(index, []).append(Span(spans[at][0], spans[free - 1][1]))
            elif (owner := self._parts.get(unit)) is not None:
                parts[at] = owner
        parts = {at: index for at, index in parts.items() if index in mentions and _high(text, spans[at])}
        for index, span in _alone(text, folded, spans, parts) if parts else ():
            mentions[index] = sorted([*mentions[index], span])
        return tuple(Target(self.names[index], tuple(mentions[index])) for index in sorted(mentions))

    def _add(self, units: list[str], index: int, alias: str) -> None:
        first, second = self._walk(units).setdefault("", index), index
        if first != second:
            raise DataError(
                f"{alias!r} stands for two targets, {self.names[first]!r} and {self.names[second]!r}: give each its "
                "own names (case, accents, spaces and dashes do not tell names apart)"
            )

    def _walk(self, units: list[str]) -> _Node:
        node = self._root
        for unit in units:
            node = node.setdefault(unit, {})
        return node


def all_targets(names: Iterable[str], found: Iterable[Target], *, implied: bool = False) -> tuple[Target, ...]:
    """Return every name as a target: those `found` as they were, the others mentioned nowhere, or `implied`."""
    mentioned = {target.name: target for target in found}
    return tuple(mentioned.get(name) or Target(name, implied=implied) for name in names)


def parse_target(written: str) -> tuple[str, list[str]]:
    """Return a name and its aliases, written as `NAME` or `NAME=ALIAS,ALIAS`.

    The first `=` ends the name, and commas part the aliases; a backslash goes before these in a name.
    """
    parts = [""]
    for escaped, plain in _WRITTEN.findall(written):
        if plain == ("=" if len(parts) == 1 else ","):
            parts.append("")
        else:
            parts[-1] += escaped or plain
    name, *aliases = (part.strip() for part in parts)
    if not name:
        raise DataError(f"{written!r} names no target; expected NAME or NAME=ALIAS,...")
    return name, [alias for alias in aliases if alias]


def _alone(
    text: str, folded: list[str], spans: list[tuple[int, int]], parts: Mapping[int, int]
) -> Iterator[tuple[int, Span]]:
    """Yield runs of a name's words, of which `parts` says where they are, with no other word with a capital beside."""
    words, n = [at for at, unit in enumerate(folded) if unit != _GAP], 0
    while n < len(words):
        first, index = n, parts.get(words[n])
        n += 1
        if index is None:
            continue
        while n < len(words) and parts.get(words[n]) == index:
            n += 1
        begins = first < 2 or folded[words[first - 2]] in tuple(".!?:")  # the word before begins a sentence
        after = n < len(words) and _high(text, spans[words[n]])
        if not after and (begins or not _high(text, spans[words[first - 1]])):
            yield index, Span(spans[words[first]][0], spans[words[n - 1]][1])


def _high(text: str, span: tuple[int, int]) -> bool:
    """Whether a word has a capital."""
    return span[1] - span[0] > 1 and any(map(str.isupper, text[slice(*span)]))


def _plurals(units: list[str]) -> list[list[str]]:
    *first, last = units
    if len(last) < 3 or not (last.isascii() and last.isalnum() and last[-1].isalpha()):
        return []  # names of two letters would have plurals such as "as", "is", "its"
    endings = ["es"] if last.endswith("s") else ["s", "es"] if last.endswith(("x", "z", "ch", "sh")) else ["s"]
    return [[*first, last + ending] for ending in endings]


def _units(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the words, glued characters, gaps and marks of a text, folded, and their spans; none folds to nothing."""
    folded, spans = [], []
    for match in _UNITS.finditer(text):
        found = match.group()
        unit = _GAP if match.lastgroup else found.lower() if found.isascii() else _fold_letters(found)
        if unit:
            folded.append(unit)
            spans.append(match.span())
    return folded, spans


@cache_short(entries=1 << 14, longest=40)
def _fold_letters(unit: str) -> str:
    """Drop case and accents: equal for all that counts as the same name."""
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFD", unit).casefold())
    return _DROPPED.sub("", folded).translate(_ALIKE)
