import math
import shutil
from pathlib import Path

import numpy as np
import pytest

from tabsa.checkpoint.model_folder import read_folder
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.answers import PassageAnswer
from tabsa.encoding.passages import Passage
from tabsa.errors import ModelError
from tabsa.inference.predictor import load
from tabsa.models.onnx import word_engine as module
from tabsa.models.onnx.session import batches_of
from tabsa.models.onnx.word_engine import WordEngine
from tabsa.text.tokens import Token
from unchecked import unchecked


@pytest.fixture
def copy(tiny_model: Path, tmp_path: Path) -> Path:
    return unchecked(Path(shutil.copytree(tiny_model, tmp_path / "copy")))


def passage(words: str) -> Passage:
    """Words, of which `<target1>` mentions the first target."""
    slots = {"<target1>": 0, "<target2>": 1}
    tokens = tuple(Token(word, 0, 1, slots.get(word)) for word in words.split())
    return Passage(0, 1, tokens, ("first", "second"))


def read(path: Path, *passages: str, gates: bool = False) -> list[PassageAnswer]:
    return WordEngine(read_folder(path), threads=1).read_passages(list(map(passage, passages)), gates=gates)


def test_answers_come_in_the_order_of_the_passages(tiny_model: Path) -> None:
    passages = ["<target1> is cheap", "a", "<target2> is not very nice and not safe", "<target1>"]
    together = read(tiny_model, *passages, gates=True)
    for words, answer in zip(passages, together, strict=True):
        (alone,) = read(tiny_model, words, gates=True)
        np.testing.assert_allclose(answer.probabilities, alone.probabilities, atol=1e-6)
        assert answer.gates is not None
        assert answer.gates.shape == (2, len(words.split()), 3)
        np.testing.assert_allclose(answer.gates, alone.gates, atol=1e-6)


@pytest.mark.parametrize(("passages", "threads"), [(100, 1), (100, 2), (100, 3), (1000, 4), (9, 8), (1, 4), (0, 2)])
def test_batches_keep_every_thread_busy(passages: int, threads: int) -> None:
    lengths = [10] * passages
    batches = list(batches_of(lengths, threads, most=1024, least=256, rows=8))
    assert sorted(number for batch in batches for number in batch) == list(range(passages))
    rounds = math.ceil(10 * passages / (1024 * threads))
    if 10 * passages >= threads * 256:
        assert rounds * threads <= len(batches) <= rounds * threads + 1  # one more for what rounding leaves
    else:
        assert all(10 * len(batch) >= 256 - 10 for batch in batches[:-1])


@pytest.mark.parametrize("threads", [2, 5])
def test_more_threads_give_the_same(tiny_model: Path, monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    passages = [passage(f"<target1> is {'not ' * (number % 7)}nice") for number in range(60)]
    alone = WordEngine(read_folder(tiny_model), threads=1).read_passages(passages, gates=True)
    monkeypatch.setattr(module, "_LEAST_TOKENS", 8)
    together = WordEngine(read_folder(tiny_model), threads=threads).read_passages(passages, gates=True)
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.probabilities, other.probabilities)
        np.testing.assert_array_equal(one.gates, other.gates)


def test_vectors_are_the_words_and_then_zeros(tiny_model: Path) -> None:
    folder = read_folder(tiny_model)
    known = folder.vectors
    vectors = WordEngine(folder).word_vectors([["cheap", "n't", "Zebra"], ["not"], []])
    assert vectors.shape == (3, 3, 12)
    np.testing.assert_array_equal(vectors[0, 0], known["cheap"])
    np.testing.assert_array_equal(vectors[0, 1], known["not"])  # a fallback
    np.testing.assert_array_equal(vectors[0, 2], lookup(["Zebra"], known).matrix[0])
    np.testing.assert_array_equal(vectors[1, 0], known["not"])
    assert not vectors[1, 1:].any()
    assert not vectors[2].any()


def test_a_graph_in_int8_that_is_not_there(tiny_model: Path) -> None:
    with pytest.raises(ModelError, match=r"has no model\.int8\.onnx; of models of words only `places` has one"):
        load(tiny_model, precision="int8").predict("Camden", ["Camden"])


@pytest.mark.parametrize("content", [b"", b"not a graph", None])
def test_a_damaged_graph_is_one_clear_line(copy: Path, content: bytes | None) -> None:
    path = copy / "model.onnx"
    path.write_bytes(path.read_bytes()[:-700] if content is None else content)
    with pytest.raises(ModelError, match=r"model\.onnx .*tabsa export") as error:
        read(copy, "<target1>")
    assert "\n" not in str(error.value)


def test_a_graph_of_another_folder_is_refused(copy: Path) -> None:
    config = copy / "config.json"
    config.write_text(config.read_text().replace('"safety",', ""), "utf-8")
    with pytest.raises(ModelError, match="does not fit the folder's other files"):
        read(copy, "<target1>")
