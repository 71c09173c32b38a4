"""A passage that is asked with words out of hearing: against one whose keys and values were cut out by hand."""

import numpy as np
import pytest

from reader_factory import WORDS
from reader_folder import ASPECTS, small_reader, write_reader
from tabsa.checkpoint.model_folder import read_folder
from tabsa.encoding.answers import PresenceCalibration
from tabsa.models.reader.reader_engine import _AT_ONCE, ReaderEngine
from tabsa.text.targets import TargetFinder

KINDS = [{}, {"along": 2, "layers": 0}, {"kind": "mpnet", "along": 1, "layers": 1}]


@pytest.fixture(scope="module", params=KINDS, ids=str)
def path(request, tmp_path_factory):
    return write_reader(tmp_path_factory.mktemp("reader"), small_reader(**request.param), "int8").path


def passage_of(engine: ReaderEngine, seed: int = 3, count: int = 14):
    rng = np.random.default_rng(seed)
    words = [str(word) for word in rng.choice(WORDS, count)]
    text = "Camden " + " ".join(words[:7]) + " Leith " + " ".join(words[7:])
    (passage,) = engine.cut(text, TargetFinder(["Camden", "Leith"]).find(text))
    return passage


def answered_from(engine: ReaderEngine, passage, slot: int, aspect: str, heard: np.ndarray) -> np.ndarray:
    """The same answer where nothing is masked: what is not heard is not there."""
    pieces = [piece.id for piece in passage.pieces]
    states, kept = engine._read([pieces], "entered" if engine.sizes.along else "states", *engine.sizes.kept)
    targets, _ = engine._target_states(states, [passage])
    places = np.flatnonzero([True, *heard, True])
    inputs = {name: value.numpy()[places] for name, value in zip(engine.sizes.kept, kept, strict=True)}
    inputs |= {
        "lengths": np.array([len(places)]),
        "texts": np.array([0]),
        "targets": targets[slot : slot + 1],
        "aspects": engine.aspect_vectors([aspect, aspect]),
    }
    named = {value.name for value in engine.sessions[1].get_inputs()}
    (answer,) = engine.sessions[1].run(["probabilities"], {n: array for n, array in inputs.items() if n in named})
    return answer[0, 0]


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_what_is_not_heard_might_as_well_not_be_there(path, precision):
    engine = ReaderEngine(read_folder(path), 1, precision)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    assert opened.slots == tuple(None if piece.slot < 0 else piece.slot for piece in passage.pieces)
    heard = np.random.default_rng(0).random((30, len(passage.pieces))) < 0.6
    heard[0] = False
    for slot, aspect in ((0, ASPECTS[0]), (1, ASPECTS[1]), (1, "words never seen")):
        said = opened.ask(slot, aspect, heard)
        assert said.shape == (30, engine.sizes.labels)
        for row, answer in zip(heard, said, strict=True):
            # In int8 the share of what is masked, some 1e-21, may tip a rounding.
            np.testing.assert_allclose(
                answer, answered_from(engine, passage, slot, aspect, row), atol=1e-5 if precision == "float32" else 2e-3
            )


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_who_hears_everything_says_what_is_always_said(path, precision):
    engine = ReaderEngine(read_folder(path), 1, precision)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    (usual,) = engine.read_passages([passage], ASPECTS)
    for slot in range(2):
        for column, aspect in enumerate(ASPECTS):
            (said,) = opened.ask(slot, aspect, np.ones((1, len(passage.pieces)), bool))
            np.testing.assert_allclose(said, usual.probabilities[slot, column], atol=1e-6)


def test_many_ways_of_hearing_are_asked_in_turns(path):
    engine = ReaderEngine(read_folder(path), 1)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    heard = np.random.default_rng(1).random((2 * _AT_ONCE + 1, len(passage.pieces))) < 0.5
    together = opened.ask(0, ASPECTS[0], heard)
    np.testing.assert_allclose(together[-1:], opened.ask(0, ASPECTS[0], heard[-1:]), atol=1e-6)
    np.testing.assert_allclose(together[:3], opened.ask(0, ASPECTS[0], heard[:3]), atol=1e-6)
    assert opened.ask(0, ASPECTS[0], heard[:0]).shape == (0, engine.sizes.labels)


def test_answers_are_calibrated(path):
    engine = ReaderEngine(read_folder(path), 1)
    passage = passage_of(engine)
    heard = np.ones((2, len(passage.pieces)), bool)
    heard[1, 3:6] = False
    plain = engine.opened(passage).ask(0, ASPECTS[0], heard)
    engine.calibration = PresenceCalibration(2.0, 0.5, 1.5)
    expected = engine.calibration.apply(plain.astype(np.float64))
    np.testing.assert_allclose(engine.opened(passage).ask(0, ASPECTS[0], heard), expected, atol=1e-6)


def test_an_older_graph_cannot_hide_anything(path, monkeypatch):
    engine = ReaderEngine(read_folder(path), 1)
    passage = passage_of(engine)

    class Older:
        def __getattr__(self, name):
            return getattr(engine.sessions[1], name)

        def get_overridable_initializers(self):
            return []

    older = ReaderEngine(read_folder(path), 1)
    older.__dict__["sessions"] = (engine.sessions[0], Older())
    assert older.opened(passage) is None
