"""The most telling texts behind a number, and the sentence of each that is about the target."""

import heapq
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from tabsa.errors import DataError
from tabsa.pages.scored_files import ScoredRow, TableAnswer
from tabsa.schema import UNNAMED, Span
from tabsa.text.sentences import split_sentences
from tabsa.text.targets import TargetFinder
from tabsa.text.tokens import cache_short

_LONGEST_SENTENCE: Final = 400  # characters that are shown
_LONGEST_TEXT: Final = 4000  # characters held of a text while a better one may still come


class Quote(NamedTuple):
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
        """Return it for JSON."""
        found = {name: getattr(self, name) for name in ("id", "date", "polarity", "probability", "sentence")}
        file = {} if self.file is None else {"file": self.file}
        return {**found, "mentions": [list(span) for span in self.mentions], **file}


class Candidate(NamedTuple):
    """A text that may turn out to be among the most telling; the larger goes first."""

    rank: tuple[float, int, int]  # the probability, then the shorter, then the earlier
    text: str
    evidence: str | None
    id: str
    date: str | None
    file: str | None


class QuoteCollector:
    """The `most` most telling texts of each target, aspect and polarity."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._best: dict[tuple[str, str, str], list[Candidate]] = {}
        self._seen = 0

    def add(self, row: ScoredRow, answer: TableAnswer, day: str | None, file: str | None) -> None:
        """Take a row's text if it is among the most telling so far; the same words count once."""
        target, aspect, polarity, probability, evidence = answer
        text, words = row.text, evidence or row.text
        if not self._most or not words:
            return
        best = self._best.setdefault((target, aspect, polarity), [])
        self._seen += 1
        rank = (-1.0 if probability is None else probability, -len(words), -self._seen)
        if len(best) == self._most and rank <= best[0].rank:
            return
        short = text if len(text) <= _LONGEST_TEXT else _around(text, target)
        entry = Candidate(rank, short, evidence, row.id, day, file)
        for place, one in enumerate(best):
            if (one.evidence or one.text) == (evidence or short):
                best[place] = max(one, entry)
                heapq.heapify(best)
                return
        if len(best) < self._most:
            heapq.heappush(best, entry)
        else:
            heapq.heapreplace(best, entry)

    def quotes(self, target: str, aspect: str, polarities: Iterable[str]) -> tuple[Quote, ...]:
        """List the most telling first, of one polarity after another."""
        found = []
        for polarity in polarities:
            for one in sorted(self._best.get((target, aspect, polarity), ()), reverse=True):
                sentence, mentions = quoted_sentence(one.text, target, one.evidence)
                probability = None if one.rank[0] < 0 else one.rank[0]
                quote = Quote(target, aspect, polarity, probability, one.id, one.date, sentence, mentions, one.file)
                found.append(quote)
        return tuple(found)


def quoted_sentence(text: str, target: str, evidence: str | None = None) -> tuple[str, tuple[Span, ...]]:
    """Find the sentence of a text that is about a target, cut where it is very long, and where it names the target.

    It is the one given as evidence, where there is such; else the first that names the target; else the beginning.
    """
    finder = _finder(target)
    sentences = [evidence] if evidence else [text[start:end] for start, end in split_sentences(text)] or [text]
    for sentence in sentences:
        if named := _mentions(finder, sentence):
            break
    else:
        sentence, named = sentences[0], ()
    shown = _cut(sentence, named)
    return shown, named if shown == sentence else _mentions(finder, shown)


def _cut(sentence: str, named: tuple[Span, ...]) -> str:
    """A sentence in one line; one that is too long, around where it names the target."""
    sentence = " ".join(sentence.split())
    if len(sentence) <= _LONGEST_SENTENCE:
        return sentence
    start = max(0, min(named[0].start - _LONGEST_SENTENCE // 3, len(sentence) - _LONGEST_SENTENCE)) if named else 0
    piece = sentence[start : start + _LONGEST_SENTENCE]
    if start:
        piece = f"…{piece.partition(' ')[2] or piece}"
    return f"{piece.rpartition(' ')[0] or piece}…" if start + _LONGEST_SENTENCE < len(sentence) else piece


def _around(text: str, target: str) -> str:
    """A part of a very long text, around where it names the target."""
    named = _mentions(_finder(target), text[: 50 * _LONGEST_TEXT])
    start = max(0, named[0].start - _LONGEST_TEXT // 2) if named else 0
    return text[start : start + _LONGEST_TEXT]


def _mentions(finder: TargetFinder | None, text: str) -> tuple[Span, ...]:
    found = finder.find(text) if finder else ()
    return found[0].mentions if found else ()


@cache_short(entries=1024, longest=200)
def _finder(target: str) -> TargetFinder | None:
    try:
        return None if target == UNNAMED else TargetFinder([target])
    except DataError:  # a name of punctuation alone
        return None
