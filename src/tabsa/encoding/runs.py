"""Runs of letters without a space or a mark between them, of which not all is read.

No script is written so for long: hundreds of Chinese characters have commas and full stops between them. A run that
goes on is noise, or bytes that are no text, and a model reads ten times as many pieces of it as of a text of its size.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar
from unicodedata import category

from tabsa.errors import DataWarning

LONGEST_RUN: Final = 500  # tokens, or word pieces, of a run that are read
_AROUND: Final = 32  # of those, on each side of a mention
_WARNING: Final = (
    f"a text has more than {LONGEST_RUN} letters without a space or a mark between them; of such a run {LONGEST_RUN} "
    "are read, those around targets first"
)


class _Placed(Protocol):
    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


_Item = TypeVar("_Item", bound=_Placed)


def shorten_runs(text: str, items: Sequence[_Item], is_mention: Callable[[_Item], bool]) -> Sequence[_Item]:
    """The items without what is too long a run of them; a `DataWarning` says so, once."""
    if len(items) <= LONGEST_RUN:
        return items
    kept: list[_Item] = []
    first = 0
    for place in range(1, len(items) + 1):
        if place < len(items) and items[place - 1].end >= items[place].start and not _is_mark(text, items[place]):
            continue
        if place - first <= LONGEST_RUN:
            kept += items[first:place]
        else:
            warnings.warn(_WARNING, DataWarning, stacklevel=2)
            kept += _chosen(items[first:place], is_mention)
        first = place
    return kept


def _is_mark(text: str, item: _Placed) -> bool:
    letter = text[item.start]
    return not letter.isalnum() and category(letter)[0] in "PZ"


def _chosen(run: Sequence[_Item], is_mention: Callable[[_Item], bool]) -> list[_Item]:
    """Of a run, what stands around the mentions of targets, and then what stands first."""
    near = (
        place
        for mention, item in enumerate(run)
        if is_mention(item)
        for place in range(max(0, mention - _AROUND), min(len(run), mention + _AROUND + 1))
    )
    chosen: dict[int, None] = {}
    for places in (near, range(len(run))):
        for place in places:
            if len(chosen) == LONGEST_RUN:
                break
            chosen[place] = None
    return [run[place] for place in sorted(chosen)]
