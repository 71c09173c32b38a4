"""A passage that is asked with words masked: against one whose keys and values were cut out by hand."""

import numpy as np
import pytest

from reader_factory import WORDS
from reader_folder import ASPECTS, small_reader, write_reader
from tabsa.checkpoint.model_folder import read_folder
from tabsa.encoding.answers import PresenceCalibration
from tabsa.models.reader.reader_engine import _BIASES_AT_ONCE, ReaderEngine, ReaderPassage
from tabsa.text.targets import TargetFinder

KINDS = [{}, {"kind": "mpnet", "late_interaction": 1}]


@pytest.fixture(scope="module", params=KINDS, ids=str)
def path(request, tmp_path_factory):
    return write_reader(tmp_path_factory.mktemp("reader"), small_reader(**request.param), "int8").path


def passage_of(engine: ReaderEngine, seed: int = 3, count: int = 14):
    rng = np.random.default_rng(seed)
    words = [str(word) for word in rng.choice(WORDS, count)]
    text = "Camden " + " ".join(words[:7]) + " Leith " + " ".join(words[7:])
    (passage,) = engine.cut(text, TargetFinder(["Camden", "Leith"]).find(text))
    return passage


def answered_from(engine: ReaderEngine, passage, slot: int, aspect: str, visible: np.ndarray) -> np.ndarray:
    """The same answer where nothing is masked: what is not visible is not there."""
    opened = ReaderPassage(engine, passage)
    places = np.flatnonzero([True, *visible, True])
    inputs = {name: opened.inputs[name].numpy()[places] for name in engine.shape.keys_values}
    inputs |= {
        "lengths": np.array([len(places)]),
        "texts": np.array([0]),
        "targets": opened.targets[slot : slot + 1],
        "aspects": engine.aspect_vectors([aspect, aspect]),
    }
    (answer,) = engine.sessions[1].run(["probabilities"], inputs)
    return answer[0, 0]


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_what_is_masked_might_as_well_not_be_there(path, precision):
    engine = ReaderEngine(read_folder(path), 1, precision)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    assert opened.slots == tuple(None if piece.slot < 0 else piece.slot for piece in passage.pieces)
    visible = np.random.default_rng(0).random((30, len(passage.pieces))) < 0.6
    visible[0] = False
    for slot, aspect in ((0, ASPECTS[0]), (1, ASPECTS[1]), (1, "words never seen")):
        answers = opened.ask(slot, aspect, visible)
        assert answers.shape == (30, engine.shape.labels)
        for row, answer in zip(visible, answers, strict=True):
            # In int8 the share of what is masked, some 1e-21, may tip a rounding.
            np.testing.assert_allclose(
                answer, answered_from(engine, passage, slot, aspect, row), atol=1e-5 if precision == "float32" else 2e-3
            )


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_a_question_with_nothing_masked_is_answered_as_ever(path, precision):
    engine = ReaderEngine(read_folder(path), 1, precision)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    (usual,) = engine.read_passages([passage], ASPECTS)
    for slot in range(2):
        for column, aspect in enumerate(ASPECTS):
            (answers,) = opened.ask(slot, aspect, np.ones((1, len(passage.pieces)), bool))
            np.testing.assert_allclose(answers, usual.probabilities[slot, column], atol=1e-6)


def test_many_rows_are_asked_in_turns(path):
    engine = ReaderEngine(read_folder(path), 1)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    visible = np.random.default_rng(1).random((2 * _BIASES_AT_ONCE + 1, len(passage.pieces))) < 0.5
    together = opened.ask(0, ASPECTS[0], visible)
    np.testing.assert_allclose(together[-1:], opened.ask(0, ASPECTS[0], visible[-1:]), atol=1e-6)
    np.testing.assert_allclose(together[:3], opened.ask(0, ASPECTS[0], visible[:3]), atol=1e-6)
    assert opened.ask(0, ASPECTS[0], visible[:0]).shape == (0, engine.shape.labels)


def test_answers_are_calibrated(path):
    engine = ReaderEngine(read_folder(path), 1)
    passage = passage_of(engine)
    visible = np.ones((2, len(passage.pieces)), bool)
    visible[1, 3:6] = False
    plain = engine.opened(passage).ask(0, ASPECTS[0], visible)
    engine.calibration = PresenceCalibration(2.0, 0.5, 1.5)
    expected = engine.calibration.apply(plain.astype(np.float64))
    np.testing.assert_allclose(engine.opened(passage).ask(0, ASPECTS[0], visible), expected, atol=1e-6)
