"""The most telling texts behind a number, and the sentence of each that is about the target."""

import heapq
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from tabsa.errors import DataError
from tabsa.schema import UNNAMED, Span
from tabsa.text import TargetFinder, split_sentences
from tabsa.text.caching import remember_short

_LONGEST: Final = 400  # characters of a sentence that is shown
_KEPT: Final = 4000  # of a text while it may still be pushed out


class Telling(NamedTuple):
    """A sentence that carries an opinion, where it names the target, and how sure the model was."""

    target: str
    aspect: str
    polarity: str
    probability: float | None
    id: str
    date: str | None
    sentence: str
    mentions: tuple[Span, ...]
    file: str | None = None  # where there are several

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "id": self.id,
            "date": self.date,
            "polarity": self.polarity,
            "probability": self.probability,
            "sentence": self.sentence,
            "mentions": [list(span) for span in self.mentions],
        } | ({"file": self.file} if self.file is not None else {})


class Kept(NamedTuple):
    """A text that may turn out to be among the most telling; the larger goes first."""

    rank: tuple[float, int, int]  # the probability, then the shorter, then the earlier
    text: str
    evidence: str | None
    id: str
    date: str | None
    file: str | None


class Tellings:
    """The `most` most telling texts of each target, aspect and polarity."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: dict[tuple[str, str, str], list[Kept]] = {}
        self._seen = 0

    def add(
        self,
        key: tuple[str, str, str],
        probability: float | None,
        text: str,
        evidence: str | None,
        identity: str,
        day: str | None,
        file: str | None,
    ) -> None:
        """Keep a text if it is among the most telling so far; the same words count once."""
        if not self._most or not (text or evidence):
            return
        kept = self._kept.setdefault(key, [])
        self._seen += 1
        rank = (-1.0 if probability is None else probability, -len(evidence or text), -self._seen)
        if len(kept) == self._most and rank <= kept[0].rank:
            return
        words = evidence or text
        for place, one in enumerate(kept):
            if (one.evidence or one.text) == words:
                if rank > one.rank:
                    kept[place] = Kept(rank, text, evidence, identity, day, file)
                    heapq.heapify(kept)
                return
        short = text if len(text) <= _KEPT else _around(text, key[0])
        entry = Kept(rank, short, evidence, identity, day, file)
        if len(kept) < self._most:
            heapq.heappush(kept, entry)
        else:
            heapq.heapreplace(kept, entry)

    def of(self, target: str, aspect: str, polarities: Iterable[str]) -> tuple[Telling, ...]:
        """The most telling first, of one polarity after another."""
        return tuple(one for polarity in polarities for one in self._of(target, aspect, polarity))

    def any_of(self, target: str, aspect: str, polarities: Iterable[str]) -> bool:
        """Whether there are any."""
        return any((target, aspect, polarity) in self._kept for polarity in polarities)

    def _of(self, target: str, aspect: str, polarity: str) -> Iterator[Telling]:
        for one in sorted(self._kept.get((target, aspect, polarity), ()), reverse=True):
            sentence, mentions = telling_sentence(one.text, target, one.evidence)
            probability = None if one.rank[0] < 0 else one.rank[0]
            yield Telling(target, aspect, polarity, probability, one.id, one.date, sentence, mentions, one.file)


def telling_sentence(text: str, target: str, evidence: str | None = None) -> tuple[str, tuple[Span, ...]]:
    """The sentence of a text that is about a target, cut where it is very long, and where it names the target.

    It is the one that is said to carry the opinion, where there is such; else the first that names the target; else
    the beginning.
    """
    finder = _finder(target)
    sentences = [evidence] if evidence else [text[start:end] for start, end in split_sentences(text)] or [text]
    for sentence in sentences:
        if named := _named(finder, sentence):
            break
    else:
        sentence, named = sentences[0], ()
    shown = _cut(sentence, named)
    return shown, named if shown == sentence else _named(finder, shown)


def _cut(sentence: str, named: tuple[Span, ...]) -> str:
    """A sentence in one line; one that is too long, around where it names the target."""
    sentence = " ".join(sentence.split())
    if len(sentence) <= _LONGEST:
        return sentence
    start = max(0, min(named[0].start - _LONGEST // 3, len(sentence) - _LONGEST)) if named else 0
    piece = sentence[start : start + _LONGEST]
    if start:
        piece = f"…{piece.partition(' ')[2] or piece}"
    return f"{piece.rpartition(' ')[0] or piece}…" if start + _LONGEST < len(sentence) else piece


def _around(text: str, target: str) -> str:
    """What is kept of a very long text: some of it around where it names the target."""
    named = _named(_finder(target), text[: 50 * _KEPT])
    start = max(0, named[0].start - _KEPT // 2) if named else 0
    return text[start : start + _KEPT]


def _named(finder: TargetFinder | None, text: str) -> tuple[Span, ...]:
    found = finder.find(text) if finder else ()
    return found[0].mentions if found else ()


@remember_short(entries=1024, longest=200)
def _finder(target: str) -> TargetFinder | None:
    if target == UNNAMED:
        return None
    try:
        return TargetFinder([target])
    except DataError:  # a name of punctuation alone
        return None
