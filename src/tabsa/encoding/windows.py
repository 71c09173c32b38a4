"""A text's word pieces in parts that are read at once: overlapping ones, or windows of whole sentences."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tabsa.text import split_sentences

NO_SLOT: Final = -1  # of a piece that stands for no target, and of a target that the text only implies
_FEW: Final = 3  # targets that a text weighs against each other
_OVERLAP: Final = 4  # a passage begins with the last 1 / this of the one before


class Piece(NamedTuple):
    """A word piece, where it stands in the text, and the slot of the target it stands for."""

    id: int
    start: int
    end: int
    slot: int


class Window(NamedTuple):
    """Pieces that are read at once: those of sentences that came before, for whom they are about, and the own ones."""

    before: tuple[Piece, ...]
    own: tuple[Piece, ...]


def sentence_windows(text: str, pieces: Sequence[Piece], *, window: int, longest: int) -> Iterator[Window]:
    """Whole sentences, as many as make `window` pieces, at least one; one of more than `longest` is cut.

    Before them stand, as far as there is room, the last sentences that mention targets which they do not: what they say
    of "it" or "them" is most likely about those (the focus of attention: Sidner, 1981). In a text about a few targets,
    which are mostly weighed against each other, that is the last sentence of each; in a text about more, the last
    sentence of all that mentions any.
    """
    sentences = [part for sentence in _sentences(text, pieces) for part in overlapping(sentence, longest)]
    few = len(_mentioned(pieces)) <= _FEW
    latest: dict[int, int] = {}  # the number of the last sentence that mentions each target
    start = 0
    while start < len(sentences):
        own, end = sentences[start], start + 1
        while end < len(sentences) and len(own) + len(sentences[end]) <= window:
            own, end = own + sentences[end], end + 1
        meant = latest if few else [slot for slot, number in latest.items() if number == max(latest.values())]
        numbers = {latest[slot] for slot in meant if slot not in _mentioned(own)}
        yield Window(_fitting([sentences[number] for number in sorted(numbers)], longest - len(own)), own)
        latest |= {slot: number for number in range(start, end) for slot in _mentioned(sentences[number])}
        start = end


def _fitting(sentences: Sequence[tuple[Piece, ...]], room: int) -> tuple[Piece, ...]:
    """The last of the sentences that have room together."""
    kept: tuple[Piece, ...] = ()
    for sentence in reversed(sentences):
        if len(kept) + len(sentence) > room:
            break
        kept = sentence + kept
    return kept


def _sentences(text: str, pieces: Sequence[Piece]) -> Iterator[tuple[Piece, ...]]:
    """The pieces of each sentence; none ends inside a mention."""
    starts = [piece.start for piece in pieces]
    first = 0
    for following in [*split_sentences(text)[1:], None]:
        reached = len(pieces) if following is None else bisect_left(starts, following.start)
        if following is None or not reached or pieces[reached - 1].end <= following.start:
            if first < reached:
                yield tuple(pieces[first:reached])
            first = reached


def _mentioned(pieces: Sequence[Piece]) -> set[int]:
    return {piece.slot for piece in pieces if piece.slot != NO_SLOT}


def overlapping(pieces: Sequence[Piece], longest: int) -> Iterator[tuple[Piece, ...]]:
    """All pieces, or parts of them that overlap.

    None begins or ends inside a mention, nor inside a word where the text has spaces: half a passage without one, as in
    Chinese or in an address, is cut as it comes.
    """
    start = 0
    while pieces:
        end = min(start + longest, len(pieces))
        if end < len(pieces):
            end = _gap(pieces, range(end, start + longest // 2, -1))
        yield tuple(pieces[start:end])
        if end == len(pieces):
            return
        start = _gap(pieces, range(max(start + 1, end - longest // _OVERLAP), end + 1))


def _gap(pieces: Sequence[Piece], places: Sequence[int]) -> int:
    """The first of the places that stands between two words, or between two mentions, or at all."""
    for joined in (_one_word, _one_mention):
        for place in places:
            if not joined(pieces[place - 1], pieces[place]):
                return place
    return places[0]


def _one_word(one: Piece, other: Piece) -> bool:
    return one.end == other.start or _one_mention(one, other)


def _one_mention(one: Piece, other: Piece) -> bool:
    return one.slot != NO_SLOT and one[1:] == other[1:]
