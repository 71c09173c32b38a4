"""What may be wrong with a user's labels: one function a kind of finding, each on what was read of a whole file."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, NamedTuple

from tabsa.datasets.drafts import Draft
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, UNNAMED, Opinion
from tabsa.text import tokenise

POLARITIES: Final = (POSITIVE, NEGATIVE, NEUTRAL, MIXED, "conflict", NONE)
FEWEST: Final = 10  # opinions that anything can be learnt from
LONGEST: Final = 2000  # words of a text
_SHORTEST: Final = 3  # letters that stand for a polarity: `pos`
_SIGNS: Final = {"+": POSITIVE, "+1": POSITIVE, "-": NEGATIVE, "-1": NEGATIVE, "\u22121": NEGATIVE}
_CLOSE: Final = 0.75  # as difflib compares spellings
_SEARCHED: Final = 500  # tokens of a text that are compared with a name
_JOINS: Final = re.compile(r"[\s_\-\u2010-\u2015]+")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks wrong, and the line or row it is in; None where it is the whole file that does."""

    code: str
    line: int | None
    message: str


class Labelled(NamedTuple):
    """An opinion as it is written: in which line, about which text."""

    line: int
    draft: Draft
    opinion: Opinion

    @property
    def pair(self) -> tuple[str, str]:
        """What it is an opinion on."""
        return self.opinion.target, self.opinion.aspect


def unknown_polarities(labelled: Iterable[Labelled]) -> Iterator[Finding]:
    """Polarities that are none of `POLARITIES`, each with the nearest."""
    for line, _, opinion in labelled:
        if opinion.polarity not in POLARITIES:
            near = nearest_polarity(opinion.polarity)
            hint = f"did you mean {near!r}?" if near else f"expected one of {', '.join(POLARITIES)}"
            yield Finding("unknown_polarity", line, f"polarity {opinion.polarity!r}; {hint}")


def nearest_polarity(polarity: str) -> str | None:
    """The known polarity that this one begins, or that is spelt most like it, if any is close."""
    if polarity in _SIGNS:
        return _SIGNS[polarity]
    begun = [known for known in POLARITIES if len(polarity) >= _SHORTEST and known.startswith(polarity)]
    return next(iter(begun or get_close_matches(polarity, POLARITIES, n=1, cutoff=_CLOSE)), None)


def labelled_twice(labelled: Iterable[Labelled], unit: str) -> Iterator[Finding]:
    """Pairs of a target and an aspect that a text has two labels for, alike or in conflict."""
    earlier: dict[tuple[Draft, str, str], tuple[str, int]] = {}
    for line, draft, opinion in labelled:
        pair = draft, opinion.target, opinion.aspect
        if pair in earlier:
            before, place = earlier[pair]
            where = f"the same {unit}" if place == line else f"{unit} {place}"
            subject = f"{opinion.aspect!r} of {shown(opinion.target)} is {opinion.polarity}"
            if before == opinion.polarity:
                yield Finding("repeated", line, f"{subject}, as in {where}")
            else:
                yield Finding("conflicting", line, f"{subject}, but {before} in {where}")
        earlier[pair] = opinion.polarity, line


def absent_target(name: str, draft: Draft, line: int, *, search: bool) -> Finding:
    """A target that is not in its text by name, with the words that are nearest to it where one is to `search`."""
    near = nearest_words(name, draft.text) if search else None
    hint = f"; did you mean {near!r}?" if near else ""
    return Finding("target_not_in_text", line, f"{name!r} is not in the text{hint}")


def nearest_words(name: str, text: str) -> str | None:
    """The words of a text that are spelt most like a name, as many as it has or one more or less, if any are close."""
    size = len(tokenise(name))
    tokens = tokenise(text)[:_SEARCHED]
    windows: dict[str, str] = {}
    for count in range(max(1, size - 1), size + 2):
        for first, last in zip(tokens, tokens[count - 1 :], strict=False):
            if first.text[0].isalnum() and last.text[-1].isalnum():
                words = text[first.start : last.end]
                windows.setdefault(words.casefold(), words)
    near = get_close_matches(name.casefold(), windows, n=1, cutoff=_CLOSE)
    return windows[near[0]] if near else None


def spellings(counts: Mapping[str, int], lines: Mapping[str, int]) -> Iterator[Finding]:
    """Aspects that differ only in case, spaces, hyphens, underscores or a final s, with how many opinions each has."""
    for names in _families(counts).values():
        if len(names) > 1:
            ordered = sorted(names, key=lambda name: (-counts[name], lines[name]))
            listed = [f"{name!r} ({counts[name]:,})" for name in ordered]
            message = f"{', '.join(listed[:-1])} and {listed[-1]}"
            yield Finding("aspect_spellings", lines[ordered[-1]], message)


def rare_aspects(counts: Mapping[str, int], lines: Mapping[str, int]) -> Iterator[Finding]:
    """Aspects with fewer than `FEWEST` opinions, all spellings of one together."""
    for names in _families(counts).values():
        if sum(counts[name] for name in names) < FEWEST:
            for name in names:
                yield Finding("rare_aspect", lines[name], f"aspect {name!r} has {opinions(counts[name])}")


def rare_polarities(counts: Mapping[str, int], lines: Mapping[str, int]) -> Iterator[Finding]:
    """Polarities with fewer than `FEWEST` opinions, and a file that has only one; misspelt ones are told elsewhere."""
    meant = {name: count for name, count in counts.items() if name in POLARITIES or not nearest_polarity(name)}
    for name, count in meant.items():
        if count < FEWEST:
            yield Finding("rare_polarity", lines[name], f"polarity {name!r} has {opinions(count)}")
    if len(counts) == 1:
        yield Finding("one_polarity", None, f"every opinion is {next(iter(counts))}")


def same_texts(lines: Mapping[Draft, int], unit: str) -> Iterator[Finding]:
    """Texts that stand under two ids; white space does not count."""
    earlier: dict[str, Draft] = {}
    for draft, line in lines.items():
        first = earlier.setdefault(" ".join(draft.text.split()), draft)
        if first is not draft:
            message = f"id {draft.id!r} has the text of id {first.id!r} in {unit} {lines[first]}"
            yield Finding("same_text", line, message)


def count_words(text: str) -> int:
    """The words of a text, without punctuation."""
    return sum(any(map(str.isalnum, token.text)) for token in tokenise(text))


def shown(target: str) -> str:
    """A target's name, or words for the one that has none."""
    return "the unnamed target" if target == UNNAMED else repr(target)


def opinions(count: int) -> str:
    """How many opinions, in words."""
    return {0: "no opinion", 1: "1 opinion"}.get(count, f"{count:,} opinions")


def _families(names: Iterable[str]) -> dict[str, Sequence[str]]:
    """Names that are one name but for their spelling, together."""
    families: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        families[_JOINS.sub("", name.casefold()).removesuffix("s")].append(name)
    return dict(families)
