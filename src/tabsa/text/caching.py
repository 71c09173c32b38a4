"""Caches whose size in bytes has a limit: so many entries, and none for long words."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Result = TypeVar("Result")


def remember_short(entries: int, longest: int) -> Callable[[Callable[[str], Result]], Callable[[str], Result]]:
    """Remember what a function of one word says, of the last `entries` words of at most `longest` characters."""

    def decorate(function: Callable[[str], Result]) -> Callable[[str], Result]:
        remembered = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def answer(word: str) -> Result:
            return remembered(word) if len(word) <= longest else function(word)

        answer.cache_info = remembered.cache_info  # type: ignore[attr-defined]
        return answer

    return decorate
