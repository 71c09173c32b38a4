"""Pools of texts for teachers to answer, and the same texts in another tokeniser's pieces."""

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT, PieceReader
from tabsa.encoding.questions import Questions
from tabsa.training.question_drawing import Drawer, DrawnText, drawn_questions

_NEAR = 40  # texts to each side that are likely of the same domain


class PoolDrawer(Drawer):
    """Draws texts with more questions than are labelled."""

    def pool(self, draws: int, *, extra: int, dropped: float) -> Questions:
        """Texts for teachers to answer: `draws` epochs, each with `extra` questions more and some words left out.

        What nobody has labelled is UNLABELLED.
        """
        texts, sets = [], []
        for number in range(draws):
            rng = np.random.default_rng([number, 4])
            for row in self.rows.tolist():
                text = self.text(row, rng)
                self.ask_more(text, row, extra, rng)
                if number and dropped:
                    drop_words(text, rng.random() * 2 * dropped, rng)
                texts.append(text)
            sets.append(self.prepared.train.sets[self.rows])
        return drawn_questions(texts, np.concatenate(sets))

    def ask_more(self, text: DrawnText, row: int, extra: int, rng: np.random.Generator) -> None:
        """Questions without a label: aspects of the set's inventory, of texts nearby in it, or of anything."""
        train, prepared = self.prepared.train, self.prepared
        inventory, of_set = prepared.inventories[train.sets[row]], self.of_set[train.sets[row]]
        for slot in range(text.named) if text.named else [NO_SLOT]:
            own = {aspect for where, aspect, _ in text.questions if where == slot}
            for _ in range(extra):
                if rng.random() < 0.3:
                    aspect = int(rng.integers(len(prepared.aspects)))
                elif len(inventory):
                    aspect = int(inventory[rng.integers(len(inventory))])
                else:  # a text not far from it is of the same domain, where a set has domains
                    place = int(np.searchsorted(of_set, row)) + int(rng.integers(-_NEAR, _NEAR + 1))
                    other = int(of_set[min(max(place, 0), len(of_set) - 1)])
                    first, last = train.first[other], train.first[other + 1]
                    if first == last:
                        continue
                    aspect = int(train.aspects[rng.integers(first, last)])
                if aspect not in own:
                    own.add(aspect)
                    text.questions.append((slot, aspect, UNLABELLED))


def drop_words(text: DrawnText, share: float, rng: np.random.Generator) -> None:
    """Leave out some of the pieces that are no mention."""
    left = [n for n, slot in enumerate(text.slots) if slot != NO_SLOT or rng.random() >= share]
    if left:
        text.pieces, text.slots = [text.pieces[n] for n in left], [text.slots[n] for n in left]


def piece_rows(old: PieceReader, new: PieceReader) -> NDArray[np.int32]:
    """The new tokeniser's number of each of the old one's pieces; its unknown piece where it lacks one."""
    vocabulary, others, unknown = old.wordpieces.vocabulary, new.wordpieces.vocabulary, new.wordpieces.unknown
    rows = np.full(max(vocabulary.values()) + 1, unknown, np.int32)
    for piece, number in vocabulary.items():
        rows[number] = others.get(piece, unknown)
    rows[[old.first, old.last]] = new.first, new.last
    return rows
