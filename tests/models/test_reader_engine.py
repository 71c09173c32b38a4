import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from reader_factory import WORDS
from reader_folder import ASPECTS, config_of, small_reader, torch_answers, weights_of, write_reader
from tabsa.checkpoint.model_folder import READER_GRAPHS, read_folder
from tabsa.encoding.answers import PresenceCalibration
from tabsa.encoding.passages import Passage
from tabsa.errors import ModelError
from tabsa.models.reader import reader_engine as engine_module
from tabsa.models.reader.reader_engine import ReaderEngine, ReaderPassage
from tabsa.models.reader.reader_storage import write_reader_folder
from tabsa.schema import Span, Target
from tabsa.text.targets import TargetFinder
from unchecked import unchecked

PRECISIONS = ["float32", "int8"]


@pytest.fixture(scope="module")
def model():
    return small_reader()


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    return write_reader(tmp_path_factory.mktemp("reader"), model, "int8").path


@pytest.fixture(scope="module", params=[{}, {"kind": "mpnet", "late_interaction": 1}], ids=str)
def any_path(request, tmp_path_factory):
    """Readers of both kinds of encoder."""
    return write_reader(tmp_path_factory.mktemp("reader"), small_reader(**request.param), "int8").path


@pytest.fixture
def folder(path, tmp_path):
    """One of its own, to be changed."""
    for file in path.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return unchecked(tmp_path)


def texts(count=40, seed=1):
    """Texts of one to thirty words about one to three targets, some of them only implied."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        words = [str(word) for word in rng.choice(WORDS, rng.integers(1, 30))]
        places = rng.choice(len(words), min(len(words), int(rng.integers(1, 4))), replace=False)
        starts = np.cumsum([0, *(len(word) + 1 for word in words)])
        targets = [Target(f"t{n}", (Span(int(starts[n]), int(starts[n]) + len(words[n])),)) for n in places]
        if rng.random() < 0.4:
            targets.append(Target("all of it", (), implied=True))
        made.append((" ".join(words), targets))
    return made


def cut(engine, some=None):
    return [passage for text, targets in (texts() if some is None else some) for passage in engine.cut(text, targets)]


def same(answers, others):
    return all(np.array_equal(a.probabilities, b.probabilities) for a, b in zip(answers, others, strict=True))


# ---- answers


@pytest.mark.parametrize("precision", PRECISIONS)
def test_no_answer_depends_on_what_is_read_beside_it(any_path, precision):
    engine = ReaderEngine(read_folder(any_path), 2, precision)
    passages = cut(engine)
    together = engine.read_passages(passages)
    assert same(together, [engine.read_passages([passage])[0] for passage in passages])
    assert same(together, engine.read_passages(passages[::-1])[::-1])
    assert same(together, ReaderEngine(read_folder(any_path), 1, precision).read_passages(passages))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_no_answer_depends_on_what_else_is_asked(any_path, precision, monkeypatch):
    engine = ReaderEngine(read_folder(any_path), 1, precision)
    passages = cut(engine)
    aspects = [*ASPECTS, "screen", "", "this staff is bad"]
    together = engine.read_passages(passages, [aspects] * len(passages))
    for n, aspect in enumerate(aspects):
        alone = ReaderEngine(read_folder(any_path), 1, precision).read_passages(passages, [[aspect]] * len(passages))
        assert all(
            np.array_equal(a.probabilities[:, n : n + 1], b.probabilities) for a, b in zip(together, alone, strict=True)
        )
    own = [[aspects[n % 6], *aspects[: n % 3]] for n in range(len(passages))]  # each passage its own
    for found, every, listed in zip(engine.read_passages(passages, own), together, own, strict=True):
        columns = [aspects.index(aspect) for aspect in listed]
        np.testing.assert_array_equal(found.probabilities, every.probabilities[:, columns])
    monkeypatch.setattr(engine_module, "_MOST_BESIDE", 4)
    monkeypatch.setattr(engine_module, "_MOST_ROWS", 9)
    assert same(together, engine.read_passages(passages, [aspects] * len(passages)))


def test_aspects_are_read_once_and_the_oldest_forgotten(path, monkeypatch):
    engine = ReaderEngine(read_folder(path), 1)
    passages = cut(engine, texts(3))
    first = engine.read_passages(passages, [["room-price", "food"]] * len(passages))
    assert [*engine.aspects] == ["room price", "food"]
    read, count = engine._read, []
    monkeypatch.setattr(engine, "_read", lambda texts, *wanted: count.append(len(texts)) or read(texts, *wanted))
    assert same(first, engine.read_passages(passages, [["room price", "food"]] * len(passages)))
    assert count == [len(passages)]
    monkeypatch.setattr(engine_module, "_REMEMBERED", 6)
    engine.read_passages(passages, [["room price"]] * len(passages))
    engine.read_passages(passages, [["staff"]] * len(passages))
    assert [*engine.aspects] == ["room price", "staff"]
    assert same(first, engine.read_passages(passages, [["room price", "food"]] * len(passages)))


def test_several_threads_may_ask_at_once(any_path):
    engine = ReaderEngine(read_folder(any_path), 2, "int8")
    passages = cut(engine)
    jobs = [passages[n : n + 7] for n in range(0, len(passages), 3)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(engine.read_passages, jobs))
    alone = ReaderEngine(read_folder(any_path), 1, "int8")
    assert all(same(answer, alone.read_passages(job)) for answer, job in zip(answers, jobs, strict=True))


def test_nothing_to_read_nothing_to_ask(any_path):
    engine = ReaderEngine(read_folder(any_path), 2)
    assert engine.read_passages([]) == []
    passages = cut(engine, texts(3))
    for passage, answer in zip(passages, engine.read_passages(passages, [[]] * len(passages)), strict=True):
        assert answer.probabilities.shape == (len(passage.targets), 0, 4)
    with pytest.raises(TypeError):
        engine.read_passages([Passage(0, 1, (), ())])


def test_aspects_of_no_words_and_of_too_many(path):
    engine = ReaderEngine(read_folder(path), 1)
    passages = cut(engine, texts(3))
    for answer in engine.read_passages(passages, [["", "food " * 500, "food " * 62]] * len(passages)):
        assert np.isfinite(answer.probabilities).all()
        assert np.array_equal(answer.probabilities[:, 1], answer.probabilities[:, 2])


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_long_aspect_changes_no_answer_about_others(any_path, precision):
    engine = ReaderEngine(read_folder(any_path), 1, precision)
    passages = cut(engine)
    aspects = [*ASPECTS, "", "food " * 30, "screen", "the price of a nice room", "food " * 90, "staff"]
    together = engine.read_passages(passages, [aspects] * len(passages))
    for n, aspect in enumerate(aspects):
        alone = engine.read_passages(passages, [[aspect]] * len(passages))
        for found, one in zip(together, alone, strict=True):
            np.testing.assert_array_equal(found.probabilities[:, n : n + 1], one.probabilities)


def test_the_calibration_is_applied(model, path, tmp_path):
    calibration = {"presence_temperature": 2.0, "presence_bias": -0.7, "polarity_temperature": 0.5}
    config = config_of(model, calibration=calibration)
    content = (path / "tokenizer.json").read_bytes()
    write_reader_folder(tmp_path, config, weights_of(model), content, {}, "", "float32")
    for name in READER_GRAPHS["float32"]:
        assert not (tmp_path / name).exists()
    folder = write_reader(tmp_path, model, calibration=calibration)
    assert folder.config == read_folder(tmp_path).config
    engine = ReaderEngine(read_folder(tmp_path), 1)
    passages = cut(engine)
    for answer, plain in zip(engine.read_passages(passages), torch_answers(model, engine, passages), strict=True):
        expected = PresenceCalibration(**calibration).apply(plain)
        np.testing.assert_allclose(answer.probabilities, expected, atol=2e-5)
        assert answer.probabilities.dtype == np.float32


# ---- a passage that is asked with words masked: against one whose keys and values were cut out by hand


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
        **engine.aspect_inputs(engine.aspect_states([aspect, aspect])),
    }
    (answer,) = engine.sessions[1].run(["probabilities"], inputs)
    return answer[0, 0]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_masked_might_as_well_not_be_there(any_path, precision):
    engine = ReaderEngine(read_folder(any_path), 1, precision)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    assert opened.slots == tuple(None if piece.slot < 0 else piece.slot for piece in passage.pieces)
    visible = np.random.default_rng(0).random((30, len(passage.pieces))) < 0.6
    visible[0], visible[1] = False, True
    (usual,) = engine.read_passages([passage], [ASPECTS])
    for slot, column in ((0, 0), (0, 1), (1, 0), (1, 2)):
        found = opened.ask(slot, ASPECTS[column], visible[1:2])[0]
        np.testing.assert_allclose(found, usual.probabilities[slot, column], atol=1e-6)
    for slot, aspect in ((0, ASPECTS[0]), (1, ASPECTS[1]), (1, "words never seen")):
        answers = opened.ask(slot, aspect, visible)
        assert answers.shape == (30, engine.shape.labels)
        for row, answer in zip(visible, answers, strict=True):
            # In int8 the share of what is masked, some 1e-21, may tip a rounding.
            np.testing.assert_allclose(
                answer, answered_from(engine, passage, slot, aspect, row), atol=1e-5 if precision == "float32" else 2e-3
            )


def test_many_rows_are_asked_in_turns(any_path):
    engine = ReaderEngine(read_folder(any_path), 1)
    passage = passage_of(engine)
    opened = engine.opened(passage)
    visible = np.random.default_rng(1).random((2 * engine_module._MOST_BESIDE + 1, len(passage.pieces))) < 0.5
    together = opened.ask(0, ASPECTS[0], visible)
    np.testing.assert_allclose(together[-1:], opened.ask(0, ASPECTS[0], visible[-1:]), atol=1e-6)
    np.testing.assert_allclose(together[:3], opened.ask(0, ASPECTS[0], visible[:3]), atol=1e-6)
    assert opened.ask(0, ASPECTS[0], visible[:0]).shape == (0, engine.shape.labels)


def test_answers_about_a_passage_with_words_masked_are_calibrated(any_path):
    engine = ReaderEngine(read_folder(any_path), 1)
    passage = passage_of(engine)
    visible = np.ones((2, len(passage.pieces)), bool)
    visible[1, 3:6] = False
    plain = engine.opened(passage).ask(0, ASPECTS[0], visible)
    engine.calibration = PresenceCalibration(2.0, 0.5, 1.5)
    expected = engine.calibration.apply(plain.astype(np.float64))
    np.testing.assert_allclose(engine.opened(passage).ask(0, ASPECTS[0], visible), expected, atol=1e-6)


# ---- folders that are none


def refused(act) -> str:
    with pytest.raises(ModelError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def ask(path, precision="float32"):
    engine = ReaderEngine(read_folder(path), 1, precision)
    return engine.read_passages(cut(engine, texts(2)))


def change(path, values):
    config = json.loads((path / "config.json").read_text())
    for keys, value in values.items():
        *outer, last = keys.split(".")
        place = config
        for key in outer:
            place = place[key]
        place[last] = value
    (path / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"model.shape": 3}, "does not describe a reader"),
        ({"model.shape.kind": "roberta"}, "'kind' is 'roberta'; expected a bert or an mpnet"),
        ({"model.shape.size": "32"}, "'size' is '32'"),
        ({"model.shape.size": 1 << 40}, "expected a whole number"),
        ({"model.shape.heads": 5}, "5 heads"),
        ({"model.shape.epsilon": 0}, "'epsilon'"),
        ({"model.shape.layers": True}, "'layers'"),
        ({"model.late_interaction": 0}, "'late_interaction' is 0; its encoder has 2 layers"),
        ({"model.late_interaction": None}, "'late_interaction' is None"),
        ({"model.late_interaction": 3}, "'late_interaction' is 3; its encoder has 2 layers"),
        ({"model.shape.inner": 47}, "does not fit config.json"),
        ({"model.shape.layers": 3}, "has no 'encoder.layers.2.qkv'"),
        ({"model.shape.kind": "mpnet", "model.shape.buckets": 8}, "'max_length' is 64"),
        ({"labels": ["none"]}, "expected 'none' first, and others"),
        ({"labels": ["none", "good"]}, "'output' is F16 [32, 4]"),
        ({"max_length": 65}, "'max_length' is 65; expected 4 to 64"),
        ({"max_length": 0}, "'max_length' is 0"),
        ({"calibration": {"presence_bias": 1}}, "'calibration' is"),
    ],
)
def test_a_configuration_that_fits_no_reader(folder, values, message):
    change(folder, values)
    assert message in refused(lambda: ask(folder))


def test_graphs_of_another_configuration(folder):
    change(folder, {"model.late_interaction": 1})
    assert "read.onnx does not fit the folder's other files" in refused(lambda: ask(folder))


def test_files_that_are_missing(folder):
    for name in ("read.int8.onnx", "ask.int8.onnx", "tokenizer.json", "weights.safetensors"):
        kept = (folder / name).read_bytes()
        (folder / name).unlink()
        message = refused(lambda: ask(folder, "int8"))
        assert name in message
        if name.endswith(".onnx"):
            assert message.endswith(f"make it with `tabsa export {folder} --precision int8`")
        (folder / name).write_bytes(kept)
    ask(folder, "int8")


@pytest.mark.parametrize("name", ["read.onnx", "ask.onnx", "tokenizer.json", "weights.safetensors"])
@pytest.mark.parametrize("content", [b"", b"{", b"\xff" * 40, b'{"a": 1}'])
def test_files_that_are_damaged(folder, name, content):
    (folder / name).write_bytes(content)
    assert str(folder / name) in refused(lambda: ask(folder))


def test_weights_of_another_model(folder, tmp_path):
    stored = load_file(folder / "weights.safetensors")
    save_file(stored | {"more": np.ones(3, np.float32)}, folder / "weights.safetensors")
    assert f"read.onnx does not fit the folder's other files; make it again with `tabsa export {folder}`" in refused(
        lambda: ask(folder)
    )
    for name, wrong in {
        "hidden": stored["hidden"][:-1],
        "hidden.scale": stored["hidden.scale"][:-1],
        "encoder.words": stored["encoder.words"].astype(np.int8),
        "encoder.words.scale": stored["encoder.words.scale"].astype(np.float32),
        "output": stored["output"].astype(np.float64),
    }.items():
        save_file(stored | {name: wrong}, folder / "weights.safetensors")
        assert "weights.safetensors" in refused(lambda: ask(folder))


def test_a_tokeniser_with_more_pieces_than_the_model(folder):
    made = json.loads((folder / "tokenizer.json").read_text())
    made["model"]["vocab"]["hotel"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(made))
    engine = ReaderEngine(read_folder(folder), 1)
    passages = cut(engine, [("the hotel", [Target("it", (), implied=True)])])
    assert "the tokeniser has a piece 5000" in refused(lambda: engine.read_passages(passages))


def test_what_is_written_is_checked(model, tmp_path):
    weights = weights_of(model)

    def write(weights, config=None, tokenizer=b"{}"):
        return write_reader_folder(tmp_path, config or config_of(model), weights, tokenizer, {}, "", "int8")

    assert "not a finite number" in refused(lambda: write(weights | {"hidden_bias": np.full(32, np.nan)}))
    assert "'max_length'" in refused(lambda: write(weights, replace(config_of(model), max_length=99)))
    assert "tokenizer.json" in refused(lambda: write(weights, tokenizer=b"{"))
    assert not (tmp_path / "config.json").exists()
