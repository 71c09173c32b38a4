"""Training's arrays and the Predictor's are the same, whatever the text and its targets."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from predicted_groups import predict_examples
from tabsa.checkpoint.model_folder import open_folder, read_folder
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.answers import Engine, PassageAnswer
from tabsa.encoding.arrays import PADDING, combine, count_words, encode, readings
from tabsa.encoding.passages import Passage
from tabsa.encoding.target_words import target_word
from tabsa.inference.predictor import Predictor
from tabsa.models.onnx.word_engine import WordEngine
from tabsa.nn.attention import mentions
from tabsa.nn.attention import neighbours as network_neighbours
from tabsa.schema import Dataset, Example, Span, Target

ASPECTS = ("general", "price", "safety", "transit-location")
LABELS = ("none", "positive", "negative")
NAMES = ("Camden", "Camden Town", "Leith", "Oslo", "St. Ives", "Yahoo! Inc")
_WORDS = st.sampled_from(
    [*NAMES, "is", "not", "dear", "Cheap", "safe,", "far.", "!", "Zebra", "left.", "camden", "\n\n", "isn’t", "東京"]
)
_BOX = open_folder("places")
# Short texts and long ones, of many sentences and of none.
_TEXTS = st.lists(_WORDS, max_size=90).map(" ".join)


@st.composite
def examples(draw: st.DrawFn) -> Example:
    """A text with targets in any order: mentioned, repeated, one name inside another, implied, or absent."""
    text = draw(_TEXTS)
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=5))
    taken: list[Span] = []
    targets = []
    for name in names:
        starts = [i for i in range(len(text)) if text.startswith(name, i)]
        free = [Span(i, i + len(name)) for i in starts]
        free = [span for span in free if all(span.end <= t.start or t.end <= span.start for t in taken)]
        retained = tuple(span for span in free if draw(st.booleans()))
        taken += retained
        targets.append(Target(name, retained, implied=draw(st.booleans())))
    return Example("1", text, tuple(targets))


class Recorder(Engine):
    """An engine that answers with what it was given to read."""

    def __init__(self, engine: WordEngine) -> None:
        self.at_once, self.cut = engine.at_once, engine.cut
        self.passages: list[Passage] = []

    def read_passages(
        self, passages: list[Passage], aspects: Sequence[Sequence[str]], *, gates: bool
    ) -> list[PassageAnswer]:
        self.passages += passages
        shares = [np.full((self.at_once, len(own), len(LABELS)), 1 / len(LABELS), np.float32) for own in aspects]
        return [PassageAnswer(share, None) for share in shares]


@settings(max_examples=150)
@given(example=examples(), max_length=st.sampled_from([0, 3, 10, 50]))
@pytest.mark.parametrize("box", [False, True])
def test_training_and_the_predictor_read_the_same(tiny_model, box, example, max_length):
    folder = _BOX if box else read_folder(tiny_model)
    object.__setattr__(folder.config, "max_length", max_length)
    predictor = Predictor(folder, threads=1)
    engine = predictor.engine
    assert isinstance(engine, WordEngine)
    data = Dataset("random", "all", ASPECTS, LABELS, [example])
    words = [PADDING, *count_words([data], targets=engine.at_once, max_length=max_length)]
    trained = encode(data, {word: row for row, word in enumerate(words)}, targets=engine.at_once, max_length=max_length)
    matrix = lookup(words, folder.vectors).matrix
    matrix[0] = 0
    recorder = Recorder(engine)
    predictor.engine = recorder
    list(predictor.predict_many([example.text], targets_of_each=[example.targets]))
    # The same passages, in the same order, for the same targets in the same slots.
    found = list(readings(data, targets=engine.at_once, max_length=max_length))
    assert recorder.passages == [reading.passage for reading in found]
    names = [target.name for target in example.targets]
    for row, passage in enumerate(recorder.passages):
        assert [names[group] for group in trained.groups[row] if group >= 0] == list(passage.targets)
    if recorder.passages:
        inputs = engine.inputs(recorder.passages)
        np.testing.assert_array_equal(inputs["lengths"], trained.lengths)
        np.testing.assert_array_equal(inputs["words"], matrix[trained.tokens])
        if "neighbours" in inputs:  # what the network makes of the tokens, the graph is given
            rows = torch.from_numpy(trained.tokens)[None].long()
            tokens = tuple(words.index(target_word(slot)) for slot in range(engine.at_once))
            expected = network_neighbours(mentions(rows, tokens))[0].numpy()
            for row, length in enumerate(trained.lengths):
                np.testing.assert_array_equal(inputs["neighbours"][row, :length], expected[row, :length])


@settings(max_examples=60)
@given(example=examples(), max_length=st.sampled_from([0, 6, 50]))
def test_evaluating_and_combining_in_training_are_asking_the_predictor(tiny_model, example, max_length):
    folder = read_folder(tiny_model)
    object.__setattr__(folder.config, "max_length", max_length)
    predictor = Predictor(folder, threads=1)
    data = Dataset("random", "all", ASPECTS, LABELS, [example])
    evaluated = predict_examples(predictor, data)
    single = predictor.predict(example.text, example.targets)
    assert evaluated.reshape(-1, 3).tolist() == [list(opinion.probabilities.values()) for opinion in single.opinions]
    words = [PADDING, *count_words([data], targets=2, max_length=max_length)]
    trained = encode(data, {word: row for row, word in enumerate(words)}, targets=2, max_length=max_length)
    passages = [reading.passage for reading in readings(data, targets=2, max_length=max_length)]
    answers = np.array([answer.probabilities for answer in predictor.engine.read_passages(passages)])
    answers = answers.reshape(len(passages), 2, len(ASPECTS), len(LABELS))
    np.testing.assert_array_equal(combine(trained, answers), evaluated)
