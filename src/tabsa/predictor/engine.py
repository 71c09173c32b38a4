"""A model folder's graph run by onnxruntime on batches of passages, each read once."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.batch import target_word
from tabsa.errors import ModelError
from tabsa.folder import ModelFolder
from tabsa.vectors import WordVectors, lookup

_BATCH_TOKENS = 4096  # in a batch, padding included: large enough for full products, small enough for the cache
_REMEMBERED = 20_000  # words outside the vectors whose fallbacks are kept


class Read(NamedTuple):
    """What the model says of one passage."""

    probabilities: NDArray[np.float32]  # (K, A, labels)
    gates: NDArray[np.float32]  # (directions, tokens, chains)


class Engine:
    """Runs one model; safe to use from several threads."""

    def __init__(self, folder: ModelFolder, threads: int = 0) -> None:
        self.folder, self.threads = folder, threads
        self.words = _Words(folder.vectors)

    @cached_property
    def session(self) -> Any:
        """The onnxruntime session, made at first use."""
        import onnxruntime

        path = self.folder.path / "model.onnx"
        if not path.is_file():
            raise ModelError(f"{self.folder.path} has no model.onnx; make it with `tabsa export {self.folder.path}`")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        except Exception as e:  # onnxruntime raises classes of its own for a bad file
            raise ModelError(f"{path} cannot be run ({str(e).splitlines()[0]})") from e

    @cached_property
    def attention(self) -> NDArray[np.float32]:
        """The share of each chain in each question, (K, A, n); the same for every text."""
        size = self.folder.vectors.dim
        empty = {"words": np.zeros((1, 1, size), np.float32), "lengths": np.ones(1, np.int64)}
        (attention,) = self.session.run(["attention"], empty)
        return np.asarray(attention)

    def read(self, passages: Sequence[Sequence[str]]) -> list[Read]:
        """Read passages, given as words with target tokens; sorted by length inside, answered in order."""
        results: list[Read | None] = [None] * len(passages)
        for batch in _batches([len(words) for words in passages]):
            lengths = np.array([len(passages[n]) for n in batch], np.int64)
            words = self.words.vectors([passages[n] for n in batch], int(lengths[0]))
            probabilities, gates = self.session.run(["probabilities", "gates"], {"words": words, "lengths": lengths})
            for row, number in enumerate(batch):
                results[number] = Read(probabilities[row], gates[row, :, : lengths[row]])
        return [result for result in results if result is not None]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of passages, longest first, in batches of about `_BATCH_TOKENS`."""
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    start = 0
    while start < len(order):
        count = max(1, _BATCH_TOKENS // max(1, lengths[order[start]]))
        yield order[start : start + count]
        start += count


class _Words:
    """Words to vectors, with the fallbacks of training for words the model does not know."""

    def __init__(self, known: WordVectors) -> None:
        self.known = known
        self.unknown: dict[str, NDArray[np.float32]] = {}

    def vectors(self, passages: Sequence[Sequence[str]], length: int) -> NDArray[np.float32]:
        """The vectors of all words, zeros after a passage's end: (passages, length, d)."""
        result = np.zeros((len(passages), max(1, length), self.known.dim), np.float32)
        for row, words in zip(result, passages, strict=True):
            for place, word in zip(row, words, strict=False):
                number = self.known.index.get(word)
                place[:] = self.known.matrix[number] if number is not None else self._unknown(word)
        return result

    def _unknown(self, word: str) -> NDArray[np.float32]:
        vector = self.unknown.get(word)
        if vector is None:
            vector = lookup([word], self.known).matrix[0]
            if len(self.unknown) >= _REMEMBERED:
                self.unknown = {}
            self.unknown[word] = vector
        return vector


def words_of(tokens: Sequence[Any]) -> list[str]:
    """The words a model reads: target tokens for mentions, case-folded words for the rest."""
    return [token.word if token.target is None else target_word(token.target) for token in tokens]


def pretrained(name: str) -> Path | None:
    """The folder of a model in the package, or None."""
    folder = Path(__file__).parents[1] / "pretrained" / name
    return folder if folder.is_dir() else None
