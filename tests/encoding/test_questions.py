import dataclasses

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reader_factory import LABELS, WORDS, piece_reader, tokeniser
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import AspectTable, Questions, answers_of, encode_questions, joined_questions
from tabsa.schema import Dataset, Example, Opinion, Span, Target

READER = piece_reader()
ASPECTS = ("price", "battery-life", "safety")
NAMES = {number: piece for piece, number in tokeniser().get_vocab().items()}


def dataset(*examples, aspects=ASPECTS, labels=LABELS):
    return Dataset("made-up", "train", aspects, labels, examples)


@st.composite
def datasets(draw):
    """Texts of up to 40 words about named, implied and absent targets; some ask aspects of their own."""
    examples = []
    for number in range(draw(st.integers(0, 4))):
        text, mentions = "", [[], []]
        for word in draw(st.lists(st.sampled_from(WORDS), max_size=40)):
            target = draw(st.sampled_from([None, None, None, 0, 1]))
            if target is not None:
                mentions[target].append(Span(len(text), len(text) + len(word)))
            text += word + " "
        targets = [Target(f"t{n}", tuple(spans)) for n, spans in enumerate(mentions)]
        targets += [Target("it", implied=True)] if draw(st.booleans()) else []
        aspects = draw(st.sampled_from([None, ("food",), ("price", "screen"), ()]))
        opinions = [
            Opinion(target.name, aspect, draw(st.sampled_from(LABELS[1:])))
            for target in targets
            for aspect in (ASPECTS if aspects is None else aspects)
            if draw(st.booleans())
        ]
        examples.append(Example(str(number), text, tuple(targets), tuple(opinions), aspects))
    return dataset(*examples)


def slow_questions(data, longest, table):
    """Each passage as (pieces, slots, questions): of a question its slot, aspect, label and number, one by one."""
    passages, numbers = [], {}
    for number, (example, target, aspect, _) in enumerate(data.questions()):
        numbers[example.id, target.name, aspect] = number
    for example in data.examples:
        taught = []
        for passage in READER.cut(example.text, example.targets, longest=longest):
            questions = []
            for name in passage.targets:
                (target,) = [target for target in example.targets if target.name == name]
                slot = passage.targets.index(name) if target.mentions else NO_SLOT
                for aspect in data.aspects if example.aspects is None else example.aspects:
                    label = LABELS.index(example.polarity(name, aspect))
                    if label > 0 and name in taught:
                        label = UNLABELLED
                    row = list(table.rows).index(aspect)
                    questions.append((slot, row, label, numbers[example.id, name, aspect]))
            taught += passage.targets
            pieces, slots = [p.id for p in passage.pieces], [p.slot for p in passage.pieces]
            passages.append((pieces, slots, questions))
    return passages


def split(data):
    """What a `Questions` says of each text."""
    texts = []
    for n in range(len(data)):
        own, questions = slice(*data.starts[n : n + 2]), slice(*data.first[n : n + 2])
        columns = (data.targets[questions], data.aspects[questions], data.labels[questions], data.numbers[questions])
        questions = [*zip(*(column.tolist() for column in columns), strict=True)]
        texts.append((data.pieces[own].tolist(), data.slots[own].tolist(), questions))
    return texts


@given(datasets(), st.integers(10, 40))
def test_texts_and_questions_are_those_of_a_plain_loop(data, longest):
    table = AspectTable(READER, ("screen",))
    encoded = encode_questions(data, READER, table, LABELS, longest=longest, number=3)
    assert split(encoded) == slow_questions(data, longest, table)
    assert (encoded.sets == 3).all()
    assert len(encoded) == len(encoded.starts) - 1 == len(encoded.first) - 1
    assert encoded.lengths.tolist() == [len(pieces) + 2 for pieces, _, _ in split(encoded)]
    assert encoded.lengths.max(initial=0) <= longest
    assert encoded.soft_labels is None


@given(st.lists(st.tuples(datasets(), st.booleans()), min_size=1, max_size=3))
def test_joined_sets_are_behind_each_other(parts):
    table, encoded, expected = AspectTable(READER), [], []
    for number, (data, _) in enumerate(parts):
        encoded.append(encode_questions(data, READER, table, LABELS, longest=20, number=number))
        expected += split(encoded[-1])
    joined = joined_questions(encoded)
    assert split(joined) == expected
    assert joined.sets.tolist() == [n for n, part in enumerate(encoded) for _ in range(len(part))]
    assert joined.soft_labels is None
    for name, array in joined.arrays().items():
        assert array.dtype == getattr(encoded[0], name).dtype, name


def with_soft_labels(data):
    soft = np.random.default_rng(1).random((len(data.targets), 4)).astype(np.float16)
    return dataclasses.replace(data, soft_labels=soft)


def test_soft_labels_are_joined_where_all_have_them_and_arrays_come_back():
    text = "Hull is dear"
    data = dataset(Example("1", text, (Target("Hull", (Span(0, 4),)),)))
    plain = encode_questions(data, READER, AspectTable(READER), LABELS, longest=9)
    soft = with_soft_labels(plain)
    assert joined_questions([soft, plain]).soft_labels is None
    both = joined_questions([soft, soft])
    np.testing.assert_array_equal(both.soft_labels, np.tile(soft.soft_labels, (2, 1)))
    for one in (plain, both):
        again = Questions(**one.arrays())
        assert set(again.arrays()) == set(one.arrays())
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(getattr(again, name), array)


@given(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.integers(0, n - 1), max_size=12))),
    st.sampled_from([(), (2,), (2, 3)]),
)
def test_answers_are_the_strongest_or_silence(counted, before):
    count, numbers = counted
    rng = np.random.default_rng(len(numbers))
    probabilities = rng.dirichlet([1, 1, 1], (*before, len(numbers)))
    probabilities = np.round(probabilities, 1)  # so that some are equally silent
    none = np.zeros(0, np.int64)
    data = Questions(none, none, none, none, none, none, none, np.array(numbers, np.int32), none)
    answers = answers_of(data, count, probabilities)
    assert answers.shape == (*before, count, 3)
    for place in np.ndindex(*before):
        for number in range(count):
            best = None
            for n, own in enumerate(numbers):
                if own == number and (best is None or probabilities[place][n, 0] < best[0]):
                    best = probabilities[place][n]
            np.testing.assert_array_equal(answers[place][number], [1, 0, 0] if best is None else best)
