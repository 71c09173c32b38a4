"""A text as word pieces, each mention of a target as a placeholder of its own.

`Camden is dear, Hull is not` is read as `entity1 is dear, entity2 is not`: names carry no opinion, and any number of
targets can be told apart. A text of more pieces than are read at once is read in passages that overlap. Where a model
says so (`ModelConfig.windows`), a long text is read in windows of whole sentences, each after the last sentence before
it that names a target, so that "it" is read for whom it means.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, NamedTuple

from tabsa.encoding.passages import Passage, by_sentence, shorten_runs
from tabsa.schema import Target
from tabsa.text.tokens import Token
from tabsa.text.wordpieces import WordPieces

NO_SLOT: Final = -1  # of a piece that stands for no target, and of a target that the text only implies
_FEW: Final = 3  # targets that a text weighs against each other
_OVERLAP: Final = 4  # a passage begins with the last 1 / this of the one before
_LONGEST_CACHED: Final = 128  # characters of a wording whose pieces are cached
_THING: Final = re.compile(r"how good (?:the|its|their) (.+) (?:is|are|was|were)|(?:the|its|their) (.+)", re.IGNORECASE)


class Piece(NamedTuple):
    """A word piece, where it stands in the text, and the slot of the target it stands for."""

    id: int
    start: int
    end: int
    slot: int


@dataclass(frozen=True, slots=True)
class PiecePassage(Passage):
    """A passage as word pieces; `tokens` are the same pieces, a mention as one token."""

    pieces: tuple[Piece, ...] = ()

    @property
    def size(self) -> int:
        """Its number of word pieces."""
        return len(self.pieces)


class PieceReader:
    """Cuts texts into word pieces with a `tokenizer.json`; safe to use from several threads."""

    def __init__(self, wordpieces: WordPieces) -> None:
        self.wordpieces = wordpieces
        self.first, self.last = wordpieces.around
        self._cached = lru_cache(maxsize=4096)(partial(_ids, wordpieces))  # its own: it goes when the reader does

    @classmethod
    def read(cls, path: Path) -> "PieceReader":
        """Read a `tokenizer.json`."""
        return cls(WordPieces.read(path))

    def placeholder(self, slot: int) -> tuple[int, ...]:
        """Return the pieces that stand for the target of a slot."""
        return self._cached(f"entity{slot + 1}")

    def words(self, text: str) -> tuple[int, ...]:
        """Return the pieces of a few words, without those around a text."""
        return self._cached(text) if len(text) <= _LONGEST_CACHED else _ids(self.wordpieces, text)

    def pieces(
        self, text: str, targets: Sequence[Target], slots: dict[int, int], *, widest: bool = False
    ) -> list[Piece]:
        """Return the pieces of a whole text; `slots` gives the slot of each target, by its number, that is marked.

        With `widest`, every mention has as many pieces as the longest of the placeholders.
        """
        width = max((len(self.placeholder(slot)) for slot in slots.values()), default=0) if widest else 0
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
                spelt += spelt[-1:] * (width - len(spelt))
                found += [Piece(number, start, end, slot) for number in spelt]
            reached = end
        return found

    def cut(
        self, text: str, targets: Sequence[Target], *, longest: int, windows: Sequence[int] = ()
    ) -> Iterator[PiecePassage]:
        """Cut a text into passages of at most `longest` pieces, the two around them included.

        A passage is read for the targets it mentions, whose slots are in the order of first mention in it, and for
        those that the text only implies. Where that is nobody, it is left out. `windows` are the most pieces of a text
        that is read whole, and about how many a window of a longer one has.
        """
        named = {number: number for number, target in enumerate(targets) if target.mentions}
        implied = [target.name for target in targets if target.implied and not target.mentions]
        room = max(1, longest - 2)
        # Slots are numbered anew in each passage, and it must not get longer by that.
        pieces = shorten_runs(text, self.pieces(text, targets, named, widest=True), lambda piece: piece.slot != NO_SLOT)
        if windows and len(pieces) > windows[0]:
            parts = sentence_windows(text, pieces, window=min(windows[1], room), longest=room)
        else:
            parts = (Window((), part) for part in _overlapping(pieces, room))
        for before, own in parts:
            present = [*dict.fromkeys(piece.slot for piece in (*before, *own) if piece.slot != NO_SLOT)]
            if present or implied:
                slots = {number: slot for slot, number in enumerate(present)}
                numbered = tuple(self._numbered((*before, *own), slots))[:room]
                names = (*(targets[number].name for number in present), *implied)
                tokens = tuple(_tokens(text, numbered))
                yield PiecePassage(own[0].start, own[-1].end, tokens, names, None, numbered)

    def _numbered(self, pieces: Sequence[Piece], slots: dict[int, int]) -> Iterator[Piece]:
        """Yield the pieces with targets under other slots, and so with other placeholders."""
        before: Piece | None = None
        for piece in pieces:
            if piece.slot == NO_SLOT:
                yield piece
            elif before is None or before[1:] != piece[1:]:
                slot = slots[piece.slot]
                for number in self.placeholder(slot):
                    yield Piece(number, piece.start, piece.end, slot)
            before = piece


def _ids(wordpieces: WordPieces, text: str) -> tuple[int, ...]:
    return tuple(piece.id for piece in wordpieces.cut(text))


def _tokens(text: str, pieces: Sequence[Piece]) -> Iterator[Token]:
    for before, piece in zip([None, *pieces[:-1]], pieces, strict=True):
        if piece.slot == NO_SLOT:
            yield Token(text[piece.start : piece.end], piece.start, piece.end)
        elif before is None or before[1:] != piece[1:]:
            yield Token(text[piece.start : piece.end], piece.start, piece.end, piece.slot)


class Window(NamedTuple):
    """Pieces that are read at once: those of sentences that came before, for whom they are about, and the own ones."""

    before: tuple[Piece, ...]
    own: tuple[Piece, ...]


def sentence_windows(text: str, pieces: Sequence[Piece], *, window: int, longest: int) -> Iterator[Window]:
    """Yield whole sentences, as many as make `window` pieces, at least one; one of more than `longest` is cut.

    Before them stand, as far as there is room, the last sentences that mention targets which they do not: what they say
    of "it" or "them" is most likely about those (the focus of attention: Sidner, 1981). In a text about a few targets,
    which are mostly weighed against each other, that is the last sentence of each; in a text about more, the last
    sentence of all that mentions any.
    """
    sentences = [part for sentence in by_sentence(text, pieces) for part in _overlapping(sentence, longest)]
    few = len(_mentioned(pieces)) <= _FEW
    latest: dict[int, int] = {}  # the number of the last sentence that mentions each target
    start = 0
    while start < len(sentences):
        own, end = sentences[start], start + 1
        while end < len(sentences) and len(own) + len(sentences[end]) <= window:
            own, end = own + sentences[end], end + 1
        meant = latest if few else [slot for slot, number in latest.items() if number == max(latest.values())]
        numbers = {latest[slot] for slot in meant if slot not in _mentioned(own)}
        before: tuple[Piece, ...] = ()
        for number in sorted(numbers, reverse=True):
            if len(before) + len(sentences[number]) > longest - len(own):
                break
            before = sentences[number] + before
        yield Window(before, own)
        latest |= {slot: number for number in range(start, end) for slot in _mentioned(sentences[number])}
        start = end


def _mentioned(pieces: Sequence[Piece]) -> set[int]:
    return {piece.slot for piece in pieces if piece.slot != NO_SLOT}


def _overlapping(pieces: Sequence[Piece], longest: int) -> Iterator[tuple[Piece, ...]]:
    """Yield all pieces, or parts of them that overlap.

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
    """Return the first of the places that stands between two words, or between two mentions, or at all."""
    for joined in (lambda one, other: one.end == other.start or _one_mention(one, other), _one_mention):
        for place in places:
            if not joined(pieces[place - 1], pieces[place]):
                return place
    return places[0]


def _one_mention(one: Piece, other: Piece) -> bool:
    return one.slot != NO_SLOT and one[1:] == other[1:]


def wording(aspect: str) -> str:
    """Return an aspect as words: of `transit-location`, `the camera`, `how good the camera is` only what is meant."""
    words = " ".join(aspect.replace("-", " ").replace("_", " ").replace("/", " ").split())
    match = _THING.fullmatch(words)
    return match.expand(r"\1\2") if match else words
