"""A text cut into passages, each read at once.

A text of at most `max_length` tokens is read whole. A longer one is cut between sentences into passages of at most that
many tokens (one sentence may have more, up to `_LONGEST`). A passage is read for the targets that it mentions, in the
order of their first mentions, and after them for those that the text only implies (`Target.implied`, in the order
given), which every passage is read for. Where that is nobody, the passage is left out. Where that is more targets
than a model knows at a time, it is read several times; the mentions of the others are then ordinary words.

Of a long run of letters without a space or a mark between them not all is read: no script is written so, and a model
reads ten times as many pieces of it as of a text of its size.
"""

import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, Protocol, TypeVar
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataWarning
from tabsa.schema import Target
from tabsa.text.sentences import split_sentences
from tabsa.text.tokens import Token, tokenise_marked

_LONGEST: Final = 512  # tokens of a passage in any case: a text without full stops must not take all memory
LONGEST_RUN: Final = 500  # tokens, or word pieces, of a run that are read
_AROUND: Final = 32  # of those, on each side of a mention
_WARNING: Final = (
    f"a text has more than {LONGEST_RUN} letters without a space or a mark between them; of such a run {LONGEST_RUN} "
    "are read, those around targets first"
)


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text that is read at once, for some targets."""

    start: int
    end: int
    tokens: tuple[Token, ...]  # offsets are the whole text's; `Token.target` is the slot of the target it mentions
    targets: tuple[str, ...]  # in the order of their slots
    gates: NDArray[np.float32] | None = None  # (directions, tokens, chains), once a model with gates has read it

    @property
    def size(self) -> int:
        """Its number of tokens."""
        return len(self.tokens)


def passages(text: str, targets: Sequence[Target], *, at_once: int, max_length: int) -> Iterator[Passage]:
    """Cut a text; each passage names the targets it is read for, at most `at_once`; a `max_length` of 0 is no limit."""
    tokens = shorten_runs(text, tokenise_marked(text, targets), lambda token: token.target is not None)
    implied = [index for index, target in enumerate(targets) if target.implied and not target.mentions]
    for part in _parts(text, tokens, max_length):
        mentioned = dict.fromkeys(token.target for token in part if token.target is not None)
        read_for = [*mentioned, *implied]
        for first in range(0, len(read_for), at_once):
            chosen = read_for[first : first + at_once]
            slots = {index: slot for slot, index in enumerate(chosen)}
            names = tuple(targets[index].name for index in chosen)
            yield Passage(part[0].start, part[-1].end, tuple(_slotted(text, part, slots)), names)


def _slotted(text: str, tokens: Sequence[Token], slots: dict[int, int]) -> Iterator[Token]:
    """Yield the tokens with targets numbered as the model's; mentions of other targets become ordinary words."""
    for token in tokens:
        if token.target is None or token.target in slots:
            yield Token(token.text, token.start, token.end, None if token.target is None else slots[token.target])
            continue
        for inner in tokenise_marked(text[token.start : token.end], ()):
            yield Token(inner.text, token.start + inner.start, token.start + inner.end)


def _parts(text: str, tokens: Sequence[Token], max_length: int) -> list[list[Token]]:
    """Return the tokens in runs that end where a sentence does, or at `_LONGEST`."""
    most = max_length or _LONGEST
    if len(tokens) <= most:
        return [list(tokens)] if tokens else []
    parts: list[list[Token]] = [[]]
    for sentence in by_sentence(text, tokens):
        for start in range(0, len(sentence), max(most, _LONGEST)):
            piece = sentence[start : start + max(most, _LONGEST)]
            if parts[-1] and len(parts[-1]) + len(piece) > most:
                parts.append([])
            parts[-1].extend(piece)
    return parts


class _Placed(Protocol):
    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


_Item = TypeVar("_Item", bound=_Placed)


def by_sentence(text: str, items: Sequence[_Item]) -> Iterator[tuple[_Item, ...]]:
    """Yield the tokens, or word pieces, of each sentence; a sentence does not end inside a mention (`Yahoo! Inc`)."""
    starts = [item.start for item in items]
    first = 0
    for following in [*split_sentences(text)[1:], None]:
        reached = len(items) if following is None else bisect_left(starts, following.start)
        if following is None or not reached or items[reached - 1].end <= following.start:
            if first < reached:
                yield tuple(items[first:reached])
            first = reached


def shorten_runs(text: str, items: Sequence[_Item], is_mention: Callable[[_Item], bool]) -> Sequence[_Item]:
    """Return the items without the rest of runs of letters that are too long; a `DataWarning` says so, once."""
    if len(items) <= LONGEST_RUN:
        return items
    result: list[_Item] = []
    first = 0
    for place in range(1, len(items) + 1):
        if place < len(items) and items[place - 1].end >= items[place].start:
            letter = text[items[place].start]
            if letter.isalnum() or category(letter)[0] not in "PZ":  # no mark: the run goes on
                continue
        run = items[first:place]
        if len(run) > LONGEST_RUN:
            warnings.warn(_WARNING, DataWarning, stacklevel=2)
            run = _shortened(run, is_mention)
        result += run
        first = place
    return result


def _shortened(run: Sequence[_Item], is_mention: Callable[[_Item], bool]) -> list[_Item]:
    """Return what stands around the mentions of targets in a run, and then what stands first."""
    near = (
        place
        for mention, item in enumerate(run)
        if is_mention(item)
        for place in range(max(0, mention - _AROUND), min(len(run), mention + _AROUND + 1))
    )
    chosen: set[int] = set()
    for place in chain(near, range(len(run))):
        chosen.add(place)
        if len(chosen) == LONGEST_RUN:
            break
    return [run[place] for place in sorted(chosen)]
