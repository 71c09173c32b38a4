"""Aspects in the user's words: what a wording may be, lists of them by name, and lists in files."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Final
from unicodedata import category

from tabsa.errors import DataError
from tabsa.files import read_text

LONGEST_ASPECT: Final = 100  # characters
# `places` are Sentihood's twelve, which the closed models of places know by these names.
_LISTS: Final = {
    "everyday": "overall, price, quality, service, reliability, ease of use, comfort, looks, location, safety",
    "places": "general, price, safety, transit-location, dining, green-nature, "
    "live, multicultural, nightlife, quiet, shopping, touristy",
    "restaurants": "overall, food, drinks, service, price, atmosphere, location, cleanliness, portions, waiting time",
    "hotels": "overall, price, staff, location, room, bed, cleanliness, noise, breakfast, facilities",
    "phones": "overall, price, battery life, camera, screen, speed, sound, looks, durability, software",
    "laptops": "overall, price, speed, battery life, screen, keyboard, build quality, weight, noise, support",
}
LISTS: Final[Mapping[str, tuple[str, ...]]] = {name: tuple(words.split(", ")) for name, words in _LISTS.items()}
# What a model with open aspects is asked where nobody says more: broad enough for a shop, a phone and a landlord.
EVERYDAY: Final = LISTS["everyday"]
_WORDS: Final = re.compile(r"[^\W_]+")
_SMALL: Final = frozenset(["of", "the", "and", "or", "a", "an", "in", "on", "to", "for", "with"])  # tell nothing
_COMMENT = re.compile(r"(?:^|\s)#(?:\s.*)?$|^\s*#.*$")


def clean_aspects(aspects: Iterable[object]) -> tuple[str, ...]:
    """Return wordings without needless white space, each once, in order; a one-line DataError for what is none."""
    cleaned = tuple(dict.fromkeys(clean_aspect(aspect) for aspect in aspects))
    if not cleaned:
        raise DataError("no aspect is asked for; name at least one")
    return cleaned


def clean_aspect(aspect: object) -> str:
    """Return one wording, trimmed, and with single spaces in it."""
    if not isinstance(aspect, str):
        raise DataError(f"an aspect is of type {type(aspect).__name__}; expected words, such as 'battery life'")
    words = " ".join(aspect.split())
    if len(words) > LONGEST_ASPECT:
        raise DataError(f"the aspect '{words[:30]}…' is too long; expected at most {LONGEST_ASPECT} characters")
    if not any(character.isalnum() for character in words):
        raise DataError(f"the aspect {aspect!r} has no word in it; expected words, such as 'battery life'")
    if any(category(character) in ("Cc", "Cs") for character in words):
        raise DataError(f"the aspect {words!r} has a control character or half a character in it; expected words")
    return words


def aspects_in(written: str) -> tuple[str, ...]:
    """Return the aspects that `places`, `my-aspects.txt` and `price, battery life` stand for.

    A list of that name goes first, then a file with one a line, where a `#` starts a comment, then the wordings with
    commas between them. What is nearly a list's name, or looks like a file's, is a slip more often than an aspect.
    """
    name = written.strip()
    if name in LISTS:
        return LISTS[name]
    with suppress(OSError, ValueError):  # too long to be a file's name, or with a null character in it
        if Path(name).is_file():
            lines = (without_comment(line) for line in read_text(Path(name)).splitlines())
            return clean_aspects(line for line in lines if line.strip())
    if name.lower().endswith(".txt"):
        raise DataError(f"no file {name}; expected one with an aspect a line")
    if near := get_close_matches(name.lower(), LISTS, n=1, cutoff=0.8):
        raise DataError(f"there is no list of aspects '{name}'; did you mean '{near[0]}'?", code="no_aspect_list")
    return clean_aspects(part for part in name.split(",") if part.strip())


def _having(aspects: Iterable[str]) -> dict[str, list[int]]:
    """Return the words that several wordings share, each with the numbers of these."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for number, aspect in enumerate(aspects):
        for word in dict.fromkeys(word.removesuffix("s") for word in _WORDS.findall(aspect.casefold())):
            found[word].append(number)
    return {word: numbers for word, numbers in found.items() if len(numbers) > 1 and word not in _SMALL}


@lru_cache(maxsize=64)
def rivals(aspects: tuple[str, ...]) -> tuple[frozenset[int], ...]:
    """Return for each of several categories the numbers of those that exclude it: that share a word with it.

    Where no two share one, each excludes all others.
    """
    shared = _having(aspects).values() or [range(len(aspects))]
    every = range(len(aspects))
    return tuple(frozenset(other for own in shared if one in own for other in own) - {one} for one in every)


def overlap_note(aspects: Iterable[str]) -> str:
    """Return a line on wordings that share words, where at least three or half of all do; otherwise ""."""
    names = list(dict.fromkeys(aspects))
    shared = _having(names)
    sharing = {number for numbers in shared.values() for number in numbers}
    if not sharing or len(sharing) < min(3, len(names) / 2):
        return ""
    most = max(shared.values(), key=len)
    shown = ", ".join(repr(names[number]) for number in most[:3]) + (", ..." if len(most) > 3 else "")
    return (
        f"{len(sharing):,} of {len(names):,} aspects share words ({shown}), and a model that has not learnt what sets "
        "them apart sees opinions on several at once: train it on labels, name them by what differs, or say that they "
        "exclude each other with --exclusive (in Python exclusive=True)"
    )


def without_comment(line: str) -> str:
    """Return a line of a list; a `#` starts a comment at the start of a line, or with white space on both sides."""
    return _COMMENT.sub("", line)
