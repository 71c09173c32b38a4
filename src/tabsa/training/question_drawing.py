"""Epochs of a reader, drawn anew each time: silent questions, names, and two texts made one.

Public sets review one thing each, which they do not name. So that a reader tells targets apart, an unnamed thing is
given a name (`entity1: ...`, or in place of `this hotel`), and two texts about one thing each become one about two.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import Questions
from tabsa.training.question_data import PreparedQuestions
from tabsa.training.run_config import RunConfig

_ELSEWHERE = 0.15  # share of silent questions whose aspect is of another dataset's inventory


@dataclass
class DrawnText:
    """One text in the making."""

    pieces: list[int]
    slots: list[int]
    questions: list[tuple[int, int, int]]  # slot, aspect, label

    @property
    def named(self) -> int:
        """The number of targets that it names."""
        return 1 + max(self.slots, default=NO_SLOT)

    @property
    def implied(self) -> bool:
        """True where it is about a thing that it does not name."""
        return all(slot == NO_SLOT for slot, _, _ in self.questions) and self.named == 0


class Drawer:
    """Draws epochs of a run."""

    def __init__(self, config: RunConfig, prepared: PreparedQuestions) -> None:
        self.config, self.prepared = config, prepared
        self.first_words = prepared.aspect_pieces[:, 1]  # of each aspect: near ones share it
        # Every text, as often as it is read.
        self.rows = np.repeat(np.arange(len(prepared.train)), np.array(prepared.repeats)[prepared.train.sets])
        large = [rows for rows in prepared.inventories if len(rows)]
        self.elsewhere = np.concatenate(large) if large else np.array([], np.int32)
        self.of_set = [np.flatnonzero(prepared.train.sets == n) for n in range(len(prepared.repeats))]
        self.longest = (self.config.data.max_length or 512) - 2

    def __len__(self) -> int:
        return len(self.rows)

    def epoch(self, number: int) -> Questions:
        """The texts of an epoch, in the order of the data; the same for every seed."""
        rng = np.random.default_rng([number, 3])
        texts = [self.text(int(row), rng) for row in self.rows]
        return drawn_questions(texts, self.prepared.train.sets[self.rows])

    def text(self, row: int, rng: np.random.Generator) -> DrawnText:
        """Draw a text, sometimes with another one behind it."""
        text = self._drawn(row, rng)
        composed = self.config.augmentation.composed
        if composed and rng.random() < composed:
            self._compose(text, row, rng)
        return text

    def _drawn(self, row: int, rng: np.random.Generator) -> DrawnText:
        """A text with its questions, and a name for what it does not name, sometimes."""
        train = self.prepared.train
        start, end = train.starts[row], train.starts[row + 1]
        begin, stop = train.first[row], train.first[row + 1]
        columns = (getattr(train, name)[begin:stop].tolist() for name in ("targets", "aspects", "labels"))
        questions = list(zip(*columns, strict=True))
        text = DrawnText(train.pieces[start:end].tolist(), train.slots[start:end].tolist(), questions)
        inventory = self.prepared.inventories[train.sets[row]]
        if len(inventory):
            self._silent(text, inventory, rng)
        if self.config.questions.named and text.implied and rng.random() < self.config.questions.named:
            self._name(text, rng)
        return text

    def _silent(self, text: DrawnText, inventory: NDArray[np.int32], rng: np.random.Generator) -> None:
        """Ask aspects that the text has no opinion on, far enough from those that it has."""
        for slot in range(text.named) if text.named else [NO_SLOT]:
            own = {aspect for where, aspect, _ in text.questions if where == slot}
            near = {int(self.first_words[aspect]) for aspect in own}
            for _ in range(self.config.questions.none):
                other = len(inventory) < 3 or rng.random() < _ELSEWHERE
                source = self.elsewhere if other else inventory
                if len(inventory) < 3 and rng.random() < 0.75:
                    continue  # a set with one aspect says little of others
                aspect = int(source[rng.integers(len(source))])
                if aspect not in own and int(self.first_words[aspect]) not in near:
                    own.add(aspect)
                    text.questions.append((slot, aspect, 0))

    def _name(self, text: DrawnText, rng: np.random.Generator) -> None:
        """Give the thing that a text is about the name of the first slot."""
        known = self.prepared.pieces
        name = list(known.placeholders[0])
        pairs = enumerate(itertools.pairwise(text.pieces))
        places = [n for n, (one, next_one) in pairs if one in known.before and next_one in known.things]
        if places and rng.random() < 0.7:
            for n in reversed(places):
                text.pieces[n : n + 2], text.slots[n : n + 2] = name, [0] * len(name)
        elif len(text.pieces) + len(name) + 1 > self.longest:
            return
        else:
            text.pieces[:0], text.slots[:0] = [*name, known.colon], [*[0] * len(name), NO_SLOT]
        text.questions = [(0, aspect, label) for _, aspect, label in text.questions]

    def _compose(self, text: DrawnText, row: int, rng: np.random.Generator) -> None:
        """Put another text of the same set behind it, where each is about one thing."""
        of_set = self.of_set[self.prepared.train.sets[row]]
        other = self._drawn(int(of_set[rng.integers(len(of_set))]), rng)
        for one in (text, other):
            if one.implied and self.config.questions.named:
                self._name(one, rng)
        known = self.prepared.pieces.placeholders
        fits = len(text.pieces) + len(other.pieces) + 8 <= min(self.longest, 192)
        single = text.named == other.named == 1 and all(q[0] == 0 for q in (*text.questions, *other.questions))
        if not fits or not single:
            return
        _rename(other, known[0], known[1])
        self._across(text, other, rng)
        text.pieces += other.pieces
        text.slots += other.slots
        text.questions += other.questions

    def _across(self, text: DrawnText, other: DrawnText, rng: np.random.Generator) -> None:
        """Ask after what one of two composed texts judges and the other is silent on."""
        for one, its, slot in ((text, other, 0), (other, text, 1)):
            own = {aspect for _, aspect, _ in one.questions}
            near = {int(self.first_words[aspect]) for _, aspect, label in one.questions if label}
            judged = [aspect for _, aspect, label in its.questions if label and aspect not in own]
            for aspect in judged:
                if int(self.first_words[aspect]) not in near and rng.random() < 0.5:
                    one.questions.append((slot, aspect, 0))


def _rename(text: DrawnText, old: Sequence[int], new: Sequence[int]) -> None:
    """The target of the first slot under the second one's placeholder."""
    pieces: list[int] = []
    slots: list[int] = []
    n = 0
    while n < len(text.pieces):
        named = text.slots[n] == 0
        pieces += new if named else text.pieces[n : n + 1]
        slots += [1] * len(new) if named else [NO_SLOT]
        n += len(old) if named else 1
    text.pieces, text.slots = pieces, slots
    text.questions = [(1, aspect, label) for _, aspect, label in text.questions]


def drawn_questions(texts: Sequence[DrawnText], sets: NDArray[np.int16]) -> Questions:
    """Drawn texts as arrays."""

    def ends(lengths: list[int]) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)

    questions = np.array([question for text in texts for question in text.questions], np.int32).reshape(-1, 3)
    return Questions(
        np.array([piece for text in texts for piece in text.pieces], np.int32),
        np.array([slot for text in texts for slot in text.slots], np.int16),
        ends([len(text.pieces) for text in texts]),
        ends([len(text.questions) for text in texts]),
        questions[:, 0].astype(np.int16),
        questions[:, 1],
        questions[:, 2].astype(np.int8),
        np.arange(len(questions), dtype=np.int32),
        sets,
    )
