"""A text's word pieces in parts that are read at once: overlapping ones, or windows of whole sentences."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.passages import Passage, shorten_runs
from tabsa.schema import Target
from tabsa.text import Token, split_sentences
from tabsa.text.wordpieces import WordPieces

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


_LONGEST_REMEMBERED: Final = 128  # characters of a wording whose pieces are kept


@dataclass(frozen=True, slots=True)
class PiecePassage(Passage):
    """A passage as word pieces; `tokens` are the same pieces, a mention as one token."""

    pieces: tuple[Piece, ...] = ()

    @property
    def size(self) -> int:
        """How much there is to read: its word pieces."""
        return len(self.pieces)


def _ids(wordpieces: WordPieces, text: str) -> tuple[int, ...]:
    return tuple(piece.id for piece in wordpieces.cut(text))


class PieceReader:
    """Cuts texts into word pieces with a `tokenizer.json`; safe to use from several threads."""

    def __init__(self, wordpieces: WordPieces) -> None:
        self.wordpieces = wordpieces
        self.first, self.last = wordpieces.around
        self._short_word = lru_cache(maxsize=4096)(partial(_ids, wordpieces))  # its own: it goes when the reader does

    @classmethod
    def read(cls, path: Path) -> "PieceReader":
        """The one in a `tokenizer.json`."""
        return cls(WordPieces.read(path))

    def placeholder(self, slot: int) -> tuple[int, ...]:
        """The pieces that stand for the target of a slot."""
        return self._word(f"entity{slot + 1}")

    def words(self, text: str) -> tuple[int, ...]:
        """The pieces of a few words, without those around a text."""
        return self._word(text)

    def _word(self, text: str) -> tuple[int, ...]:
        return self._short_word(text) if len(text) <= _LONGEST_REMEMBERED else _ids(self.wordpieces, text)

    def pieces(
        self, text: str, targets: Sequence[Target], slots: dict[int, int], *, widest: bool = False
    ) -> list[Piece]:
        """A whole text; `slots` gives the slot of each target, by its number, that is marked in it.

        With `widest`, every mention has as many pieces as the longest of the placeholders.
        """
        widths = [len(self.placeholder(slot)) for slot in slots.values()] if widest else []
        marks = sorted(
            (span.start, span.end, slots[number])
            for number, target in enumerate(targets)
            if number in slots
            for span in target.mentions
        )
        found: list[Piece] = []
        reached = 0
        for start, end, slot in [*marks, (len(text), len(text), NO_SLOT)]:
            if start < reached:
                continue  # inside a mention that began before it
            if reached < start:
                found += [
                    Piece(number, reached + a, reached + b, NO_SLOT)
                    for number, a, b in self.wordpieces.cut(text[reached:start])
                ]
            if slot != NO_SLOT:
                spelt = self.placeholder(slot)
                spelt += spelt[-1:] * (max(widths, default=0) - len(spelt))
                found += [Piece(number, start, end, slot) for number in spelt]
            reached = end
        return found

    def cut(
        self, text: str, targets: Sequence[Target], *, longest: int, windows: Sequence[int] = ()
    ) -> Iterator[PiecePassage]:
        """What is read of a text at once: at most `longest` pieces, the two around them included.

        A passage is read for the targets it mentions, whose slots are in the order of first mention in it, and for
        those that the text only implies. Where that is nobody, it is left out.

        Args:
            text: what is read.
            targets: with their mentions.
            longest: the most pieces of a passage.
            windows: the most pieces of a text that is read whole, and about how many a window of a longer one has; none
                are given where only `longest` matters.
        """
        named = {number: number for number, target in enumerate(targets) if target.mentions}
        implied = [target.name for target in targets if target.implied and not target.mentions]
        room = max(1, longest - 2)
        # Slots are numbered anew in each passage, and it must not get longer by that.
        pieces = shorten_runs(text, self.pieces(text, targets, named, widest=True), lambda piece: piece.slot != NO_SLOT)
        if windows and len(pieces) > windows[0]:
            parts = sentence_windows(text, pieces, window=min(windows[1], room), longest=room)
        else:
            parts = (Window((), part) for part in overlapping(pieces, room))
        for before, own in parts:
            present = [*dict.fromkeys(piece.slot for piece in (*before, *own) if piece.slot != NO_SLOT)]
            if present or implied:
                slots = {number: slot for slot, number in enumerate(present)}
                numbered = tuple(self._numbered((*before, *own), slots))[:room]
                names = (*(targets[number].name for number in present), *implied)
                tokens = tuple(_tokens(text, numbered))
                yield PiecePassage(own[0].start, own[-1].end, tokens, names, None, numbered)

    def _numbered(self, pieces: Sequence[Piece], slots: dict[int, int]) -> Iterator[Piece]:
        """The pieces with targets under other slots, and so with other placeholders."""
        before: Piece | None = None
        for piece in pieces:
            if piece.slot == NO_SLOT:
                yield piece
            elif before is None or before[1:] != piece[1:]:
                slot = slots[piece.slot]
                for number in self.placeholder(slot):
                    yield Piece(number, piece.start, piece.end, slot)
            before = piece


def _tokens(text: str, pieces: Sequence[Piece]) -> Iterator[Token]:
    for before, piece in zip([None, *pieces[:-1]], pieces, strict=True):
        if piece.slot == NO_SLOT:
            yield Token(text[piece.start : piece.end], piece.start, piece.end)
        elif before is None or before[1:] != piece[1:]:
            yield Token(text[piece.start : piece.end], piece.start, piece.end, piece.slot)


def padded_aspects(reader: PieceReader, aspects: Sequence[str]) -> NDArray[np.int32]:
    """The pieces of wordings as a model reads them, padded with -1: (A, L)."""
    coded = [(reader.first, *reader.words(wording(aspect)), reader.last) for aspect in aspects]
    table = np.full((len(coded), max(map(len, coded), default=2)), NO_SLOT, np.int32)
    for row, pieces in zip(table, coded, strict=True):
        row[: len(pieces)] = pieces
    return table


def wording(aspect: str) -> str:
    """An aspect's name as words: `transit-location` is `transit location`."""
    return " ".join(aspect.replace("-", " ").replace("_", " ").replace("/", " ").split())
