"""A text as word pieces, each mention of a target as a placeholder of its own.

`Camden is dear, Hull is not` is read as `entity1 is dear, entity2 is not`: names carry no opinion, and any number of
targets can be told apart. A text of more pieces than are read at once is read in passages that overlap. Where a model
says so (`ModelConfig.windows`), a long text is read in windows of whole sentences, each behind the last sentence before
it that names a target, so that "it" is read for whom it means.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from tabsa.encoding.passages import Passage
from tabsa.encoding.runs import shorten_runs
from tabsa.encoding.windows import NO_SLOT, Piece, Window, overlapping, sentence_windows
from tabsa.schema import Target
from tabsa.text import Token
from tabsa.text.wordpieces import WordPieces

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
