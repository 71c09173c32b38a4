import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabsa.encoding.arrays import PADDING, UNLABELLED, Encoded, combine, count_words, encode
from tabsa.encoding.passages import passages
from tabsa.encoding.target_words import aspect_words, passage_words, target_word
from tabsa.schema import Dataset, Example, Opinion, Span, Target
from tabsa.text.tokens import tokenise

ASPECTS = ("price", "safety")
LABELS = ("none", "positive", "negative")


def mentioned(text: str, name: str) -> Target:
    """A target with all the places where the text has its name."""
    starts = [i for i in range(len(text)) if text.startswith(name, i)]
    return Target(name, tuple(Span(i, i + len(name)) for i in starts))


def example(text: str, *names: str, opinions: tuple[Opinion, ...] = (), number: str = "1") -> Example:
    return Example(number, text, tuple(mentioned(text, name) for name in names), opinions)


def dataset(*examples: Example, aspects: tuple[str, ...] = ASPECTS, labels: tuple[str, ...] = LABELS) -> Dataset:
    return Dataset("made up", "train", aspects, labels, examples)


def rows_of(of: Dataset, targets: int = 2) -> dict[str, int]:
    return {word: row for row, word in enumerate([PADDING, *count_words([of], targets=targets)])}


def encoded(of: Dataset, *, targets: int = 2, max_length: int = 0) -> tuple[Encoded, list[list[str]]]:
    """The arrays, and the tokens as words again, up to each reading's length."""
    rows = rows_of(of, targets)
    result, words = encode(of, rows, targets=targets, max_length=max_length), list(rows)
    assert not any(result.tokens[n, length:].any() for n, length in enumerate(result.lengths))
    return result, [[words[i] for i in result.tokens[n, :length]] for n, length in enumerate(result.lengths)]


def test_every_mention_becomes_the_token_of_its_targets_slot() -> None:
    text = "Camden is dear, Hull is not; Camden's rents!"
    expected = ["<target1>", "is", "dear", ",", "<target2>", "is", "not", ";", "<target1>", "'s", "rents", "!"]
    for names in (("Camden", "Hull"), ("Hull", "Camden")):  # slots go by first mention, however targets are listed
        (passage,) = passages(text, example(text, *names).targets, at_once=2, max_length=0)
        assert passage_words(passage) == expected
        assert passage.targets == ("Camden", "Hull")


def test_no_text_contains_the_tokens_that_stand_for_targets() -> None:
    words = [token.word for token in tokenise("<target1> <padding> <TARGET2>x")]
    assert not {target_word(0), target_word(1), PADDING} & set(words)


@pytest.mark.parametrize(
    ("aspect", "words"),
    [
        ("price", ["price"]),
        ("transit-location", ["transit", "location"]),
        ("Battery_Life / screen", ["battery", "life", "screen"]),
        ("Größe", ["größe"]),
        ("4G", ["4g"]),
        ("?!", ["?!"]),
    ],
)
def test_aspect_words(aspect: str, words: list[str]) -> None:
    assert aspect_words(aspect) == words


def test_more_targets_than_the_model_knows_are_several_readings() -> None:
    text = "A1 B2 C3 D4 E5"
    names = text.split()
    opinions = tuple(Opinion(name, "price", "positive") for name in ("B2", "C3", "E5"))
    first = example("X9 is far", "X9", number="0")
    result, words = encoded(dataset(first, example(text, *names, opinions=opinions), example("Y8", "Y8", number="2")))
    assert words == [
        ["<target1>", "is", "far"],
        ["<target1>", "<target2>", "c3", "d4", "e5"],
        ["a1", "b2", "<target1>", "<target2>", "e5"],
        ["a1", "b2", "c3", "d4", "<target1>"],
        ["<target1>"],
    ]
    assert result.groups.tolist() == [[0, -1], [1, 2], [3, 4], [5, -1], [6, -1]]
    assert result.labels[:, :, 0].tolist() == [[0, UNLABELLED], [0, 1], [1, 0], [1, UNLABELLED], [0, UNLABELLED]]
    assert (result.labels[result.groups < 0] == UNLABELLED).all()


def test_an_empty_text_is_not_read_and_silent() -> None:
    result, words = encoded(dataset(Example("1", " ", (Target("Hull"),)), example("Hull it is", "Hull", number="2")))
    assert words == [["<target1>", "it", "is"]]
    assert result.groups.tolist() == [[1, -1]]
    assert result.gold.tolist() == [[0, 0], [0, 0]]
    combined = combine(result, np.full((1, 2, 2, 3), 1 / 3))
    assert combined[0].tolist() == [[1, 0, 0]] * 2
    assert combined[1].tolist() == [[1 / 3] * 3] * 2


def test_what_a_text_says_is_learnt_from_its_first_passage_and_silence_from_all() -> None:
    text = "Hull is so dear. Hull is so far. I like Hull."
    opinions = (Opinion("Hull", "price", "negative"),)
    result, words = encoded(dataset(example(text, "Hull", opinions=opinions)), max_length=5)
    assert [row[-1] for row in words] == [".", ".", "."]
    assert result.labels[:, 0].tolist() == [[2, 0], [UNLABELLED, 0], [UNLABELLED, 0]]
    assert result.groups[:, 0].tolist() == [0, 0, 0]
    assert result.gold.tolist() == [[2, 0]]


@given(st.data())
def test_combining_is_a_loop_over_readings(data: st.DataObject) -> None:
    """Against a slow computation: for each group and aspect the first of the readings least likely to be silent."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    readings_, targets, aspects, groups = (data.draw(st.integers(1, 4)) for _ in range(4))
    numbers = rng.integers(-1, groups, (readings_, targets))
    probabilities = rng.dirichlet(np.ones(3), (2, readings_, targets, aspects)).round(1)
    arrays = Encoded(
        np.zeros((readings_, 1), np.int32),
        np.ones(readings_, np.int32),
        np.zeros((readings_, targets, aspects), np.int8),
        numbers.astype(np.int32),
        np.zeros((groups, aspects), np.int64),
    )
    found = combine(arrays, probabilities)
    for seed in range(2):
        for group in range(groups):
            for aspect in range(aspects):
                best = [1.0, 0.0, 0.0]
                places = [(n, k) for n in range(readings_) for k in range(targets) if numbers[n, k] == group]
                for number, (n, k) in enumerate(places):
                    if number == 0 or probabilities[seed, n, k, aspect, 0] < best[0]:
                        best = probabilities[seed, n, k, aspect].tolist()
                assert found[seed, group, aspect].tolist() == best
