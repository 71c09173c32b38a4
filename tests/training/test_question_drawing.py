"""Drawn epochs: labels and slots are those of their texts, names and composed texts as often as wanted."""

import itertools
import re

import numpy as np
import pytest

from question_sets import DATA, LARGE, NAMES, READER, config, prepared, questions_of, text_of
from tabsa.encoding.pieces import NO_SLOT
from tabsa.schema import UNNAMED, Dataset, Example, Opinion, Target
from tabsa.training.question_drawing import Drawer


def sources(data, row):
    """The texts that a drawn one is made of, by the numbers in them."""
    words = text_of(data, row)
    numbers = []
    for n, word in enumerate(words):
        if word == "a" and n + 1 < len(words) and words[n + 1].startswith("##"):
            digits = itertools.takewhile(lambda piece: piece.startswith("##"), words[n + 1 :])
            numbers.append(int("".join(piece[2:] for piece in digits)))
    known = [example for name in ("main", "own", "large") for example in DATA[f"{name}:train"].examples]
    examples = {int(re.sub(r"\D", "", example.id)): example for example in known}
    return [examples[number] for number in numbers]


def slots_of(data, row):
    """For each slot of a drawn text, the example and the target that it stands for."""
    examples = sources(data, row)
    first = examples[0]
    if first.id.startswith("main"):
        of_first = [t.name for t in sorted(first.targets, key=lambda t: t.mentions[0])]
        if len(of_first) == 2 or len(examples) == 1:
            return dict(enumerate((first, name) for name in of_first))
        return {0: (first, "Camden"), 1: (examples[1], "Camden")}
    slots = {slot for slot in data.slots[data.starts[row] : data.starts[row + 1]].tolist() if slot != NO_SLOT}
    if not slots:
        return {NO_SLOT: (first, UNNAMED)}
    return {slot: (examples[slot], UNNAMED) for slot in slots}


@pytest.fixture(scope="module")
def drawer():
    return Drawer(config(), prepared())


@pytest.fixture(scope="module")
def epochs(drawer):
    return [drawer.epoch(number) for number in range(6)]


def test_an_epoch_is_drawn_from_its_number(drawer, epochs):
    again = drawer.epoch(2)
    for name, array in epochs[2].arrays().items():
        np.testing.assert_array_equal(getattr(again, name), array, err_msg=name)
    assert epochs[2].pieces.tolist() != epochs[3].pieces.tolist()
    assert len(drawer) == len(epochs[0]) == 12 + 8 + 2 * 30
    assert epochs[0].sets.tolist() == [0] * 12 + [1] * 8 + [2] * 60


def test_drawn_labels_are_those_of_the_text(drawer, epochs):
    ready = drawer.prepared
    silent = 0
    for data in epochs:
        for row in range(len(data)):
            stand_for = slots_of(data, row)
            questions = questions_of(data, row)
            assert len({question[:2] for question in questions}) == len(questions), "asked twice"
            assert {slot for slot, _, _ in questions} <= set(stand_for)
            for slot, aspect, label in questions:
                example, target = stand_for[slot]
                assert ready.labels[label] == example.polarity(target, ready.aspects[aspect])
                silent += label == 0 and example.id.startswith("large")
            for slot in {slot for slot, _, _ in questions}:  # silence is far from what is judged
                own = [(READER.words(ready.aspects[a])[0], label) for s, a, label in questions if s == slot]
                near = {word for word, label in own if label} & {word for word, label in own if label == 0}
                assert data.sets[row] < 2 or not near
            for slot, (example, target) in stand_for.items():
                expected = {(one.aspect, one.polarity) for one in example.opinions if one.target == target}
                found = {(ready.aspects[a], ready.labels[label]) for s, a, label in questions if s == slot and label}
                assert found == expected
    assert silent > 100


def test_slots_of_drawn_texts_are_at_their_placeholders(drawer, epochs):
    for data in epochs:
        for row in range(len(data)):
            own = slice(data.starts[row], data.starts[row + 1])
            pieces, slots = data.pieces[own].tolist(), data.slots[own].tolist()
            n = 0
            while n < len(pieces):
                if slots[n] == NO_SLOT:
                    assert NAMES[pieces[n]] != "entity"
                    n += 1
                else:
                    name = [*READER.placeholder(slots[n])]
                    assert pieces[n : n + len(name)] == name
                    assert slots[n : n + len(name)] == [slots[n]] * len(name)
                    n += len(name)
            assert all(slot in slots for slot, _, _ in questions_of(data, row) if slot != NO_SLOT)


def test_unnamed_things_get_names_and_texts_are_composed_as_often_as_asked(epochs):
    named = composed = unnamed = 0
    for data in epochs:
        for row in np.flatnonzero(data.sets > 0).tolist():
            slots = set(data.slots[data.starts[row] : data.starts[row + 1]].tolist()) - {NO_SLOT}
            unnamed, named, composed = unnamed + (not slots), named + (slots == {0}), composed + (slots == {0, 1})
    total = unnamed + named + composed
    assert composed / total == pytest.approx(0.4, abs=0.1)
    assert unnamed / total == pytest.approx(0.3, abs=0.1)
    words = [" ".join(text_of(data, row)) for data in epochs for row in range(20, len(data))]
    assert any(text.startswith("entity ##1 : a ##2") and "the hotel" in text for text in words)
    assert any(re.match(r"a( ##\d)+ entity ##1 : ", text) for text in words)  # in place of `the hotel`


def test_without_augmentation_texts_are_as_they_are():
    of = config(questions={"named": 0.0}, augmentation={"composed": 0.0})
    ready = prepared(of)
    data = Drawer(of, ready).epoch(1)
    rows = np.repeat(np.arange(50), [1] * 20 + [2] * 30)
    for row, origin in enumerate(rows.tolist()):
        assert text_of(data, row) == text_of(ready.train, origin)
        own = questions_of(ready.train, origin)
        assert questions_of(data, row)[: len(own)] == own
        assert origin >= 20 or len(questions_of(data, row)) == len(own)


def test_silence_is_not_drawn_where_a_later_passage_may_speak():
    """A text has an opinion that its second passage is not taught; nobody knows that the passage is silent on it."""
    text = "it is nice " + "and nice " * 60
    opinions = tuple(Opinion(UNNAMED, aspect, "positive") for aspect in LARGE[:2])
    example = Example("long1", text, (Target(UNNAMED, implied=True),), opinions)
    data = Dataset("long", "train", LARGE, ("none", "positive"), (example,))
    of = config(questions={"sets": ["long"], "named": 0.0}, augmentation={"composed": 0.0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DATA, "long:train", data)
        ready = prepared(of)
    drawn = [Drawer(of, ready).epoch(number) for number in range(20)]
    judged = {row for row, aspect in enumerate(ready.aspects) if aspect in LARGE[:2]}
    for one in drawn:
        for row in np.flatnonzero(one.sets == 1).tolist():
            assert not [aspect for _, aspect, label in questions_of(one, row) if label == 0 and aspect in judged]


def test_no_name_makes_a_text_longer_than_a_passage():
    """An encoder has only so many positions."""
    example = Example("long2", "it " * 62, (Target(UNNAMED, implied=True),))
    data = Dataset("long", "train", LARGE, ("none", "positive"), (example,))
    of = config(questions={"sets": ["long * 20"], "named": 1.0})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(DATA, "long:train", data)
        drawn = Drawer(of, prepared(of)).epoch(0)
    assert drawn.lengths.max() <= of.data.max_length
