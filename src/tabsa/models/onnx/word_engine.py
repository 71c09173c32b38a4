"""A model folder's graph run by onnxruntime on batches of passages, each read once."""

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import GRAPHS, ModelFolder, Precision
from tabsa.embeddings.vectors import WordVectors, lookup
from tabsa.encoding.answers import PassageAnswer, aspect_columns
from tabsa.encoding.passages import Passage
from tabsa.encoding.passages import passages as cut_passages
from tabsa.encoding.target_words import neighbours, passage_words
from tabsa.errors import ModelError
from tabsa.models.onnx.session import batches_of, cores, in_batches, open_session, running, shares
from tabsa.schema import Target
from tabsa.text.tokens import Token

# Tokens in a batch, padding included. At most: small enough for the cache. At least: large enough for full products.
_MOST_TOKENS, _LEAST_TOKENS = 1024, 256
_LEAST_ROWS = 8  # of a batch, where there are as many of like length for each thread
_UNKNOWN, _END = -1, -2  # in place of a word's row: it has none; the passage has ended
# Words outside the vectors whose fallbacks are cached: so many, and none that is long.
_REMEMBERED, _LONGEST_REMEMBERED = 10_000, 40
_COMPANY = Passage(0, 1, (Token(".", 0, 1),), ())  # read with a passage that would be read alone
_OFFERED = {"words", "lengths", "slots", "neighbours", "concepts"}  # what a graph may read; all read the first two


class WordEngine:
    """Runs one neural model; safe to use from several threads.

    Batches are read side by side, `threads` of them or one a core, each by one thread: that scales better than several
    threads to a batch.
    """

    def __init__(self, folder: ModelFolder, threads: int = 0, precision: Precision = "float32") -> None:
        self.folder, self.precision = folder, precision
        self.threads = threads or cores()
        self.at_once = folder.config.targets
        self.words = _Words(folder.vectors)
        self._path = folder.path / GRAPHS[precision]
        option = "" if precision == "float32" else f" --precision {precision}"
        self._remedy = f"tabsa export {folder.path}{option}"

    @cached_property
    def session(self) -> Any:
        """The onnxruntime session, made at first use, or the network where the folder was made without a graph."""
        folder, name = self.folder, self._path.name
        if self.precision != "float32" or self._path.exists() or folder.files.lists(name):
            session = open_session(folder, name, self._remedy)
        elif find_spec("torch"):
            from tabsa.models.folder_network import NetworkSession

            warnings.warn(f"{folder.path} has no graph: PyTorch runs its network, which is slower", stacklevel=2)
            session = NetworkSession(folder)
        else:
            raise ModelError(
                f"{folder.path} has no {name}: make it with `{self._remedy}`, or have PyTorch run its network; "
                f"both need pip install 'tabsa[train]'"
            )
        self._check(session)
        return session

    def _check(self, session: Any) -> None:
        """Refuse a graph that was not made from this folder."""
        config, vectors = self.folder.config, self.folder.vectors
        inputs = {value.name: list(value.shape) for value in session.get_inputs()}
        outputs = {value.name: list(value.shape) for value in session.get_outputs()}
        answers = [config.targets, len(config.aspects), len(config.labels)]
        fits = (
            {"words", "lengths"} <= set(inputs) <= _OFFERED
            and inputs["words"][2:] == [vectors.dim]
            and ("concepts" not in inputs or self.folder.concepts is not None)
            and outputs.get("probabilities", [])[1:] == answers
            and len(vectors) > 0
        )
        if not fits:
            raise ModelError(f"{self._path} does not fit the folder's other files; make it again with `{self._remedy}`")

    @cached_property
    def outputs(self) -> frozenset[str]:
        """The outputs that the graph has; only models with a memory have gates and attention."""
        return frozenset(value.name for value in self.session.get_outputs())

    @cached_property
    def attention(self) -> NDArray[np.float32] | None:
        """The share of each chain in each question, (K, A, n); the same for every text."""
        if "attention" not in self.outputs:
            return None
        session, inputs = self.session, self.inputs([_COMPANY])
        with running(self._path):
            (attention,) = session.run(["attention"], inputs)
        return shares(attention, np.shape(attention), self._path)

    def inputs(self, passages: Sequence[Passage]) -> dict[str, NDArray[Any]]:
        """Make the graph's inputs of a batch."""
        wanted = {value.name for value in self.session.get_inputs()}
        read = [passage_words(passage) for passage in passages]
        words = self.words.vectors(read)
        inputs: dict[str, NDArray[Any]] = {"words": words}
        inputs["lengths"] = np.array([len(passage.tokens) for passage in passages], np.int64)
        count, shape = self.folder.config.targets, words.shape[:2]
        if "slots" in wanted:
            inputs["slots"] = np.full(shape, -1, np.int64)
            for row, passage in zip(inputs["slots"], passages, strict=True):
                row[: len(passage.tokens)] = [-1 if token.target is None else token.target for token in passage.tokens]
        if "neighbours" in wanted:
            inputs["neighbours"] = np.zeros((*shape, count, 2), np.float32)
            for row, passage in zip(inputs["neighbours"], passages, strict=True):
                row[: len(passage.tokens)] = neighbours([token.target for token in passage.tokens], count)
        if "concepts" in wanted and self.folder.concepts is not None:
            inputs["concepts"] = np.zeros(shape, np.int64)
            for row, its_words in zip(inputs["concepts"], read, strict=True):
                row[: len(its_words)] = self.folder.concepts.match(its_words)
        return inputs

    def cut(self, text: str, targets: Sequence[Target]) -> Iterator[Passage]:
        """Cut a text into passages of the words that the model was trained with, for the targets it knows at a time."""
        config = self.folder.config
        return cut_passages(text, targets, at_once=self.at_once, max_length=config.max_length)

    def read_passages(
        self,
        passages: Sequence[Passage],
        aspects: Sequence[str] | None = None,
        *,
        aspects_of_each: Sequence[Sequence[str]] | None = None,
        gates: bool = False,
    ) -> list[PassageAnswer]:
        """Read passages, sorted by length inside, answered in order; the graph answers all of the model's aspects."""
        columns = aspect_columns(self.folder.config.aspects, len(passages), aspects, aspects_of_each)
        if not passages:
            return []
        batches = list(_batches([len(passage.tokens) for passage in passages], self.threads))
        read = partial(self._read_batch, self.session, gates=gates)  # first, because it checks that the files fit
        pairs = zip(in_batches(read, passages, batches, self.threads), columns, strict=True)
        return [one._replace(probabilities=one.probabilities[:, own]) for one, own in pairs]

    def opened(self, passage: Passage) -> None:  # noqa: ARG002
        """Return None: a word that is to be hidden has to be left out of the reading."""
        return

    def _read_batch(self, session: Any, passages: Sequence[Passage], *, gates: bool) -> list[PassageAnswer]:
        # A lone passage's products are rounded otherwise than those of several: in company always, no answer depends
        # on what is read beside it, down to the last bit.
        company = [_COMPANY] if len(passages) == 1 else []
        inputs = self.inputs([*passages, *company])
        wanted = ["probabilities", "gates"] if gates and "gates" in self.outputs else ["probabilities"]
        with running(self._path):
            answers = dict(zip(wanted, session.run(wanted, inputs), strict=True))
        config, count = self.folder.config, len(passages) + len(company)
        shape = (count, config.targets, len(config.aspects), len(config.labels))
        answers["probabilities"] = shares(answers["probabilities"], shape, self._path)
        if "gates" in answers:
            gated = np.shape(answers["gates"])
            expected = (count, *gated[1:2], inputs["words"].shape[1], *gated[3:4])
            answers["gates"] = shares(answers["gates"], expected, self._path)
        results = []
        for row, passage in enumerate(passages):
            # A copy, because a part of the array would keep the whole batch's in memory.
            shown = answers["gates"][row, :, : len(passage.tokens)].copy() if "gates" in answers else None
            results.append(PassageAnswer(answers["probabilities"][row], shown))
        return results


def _batches(lengths: Sequence[int], threads: int = 1) -> Iterator[list[int]]:
    return batches_of(lengths, threads, most=_MOST_TOKENS, least=_LEAST_TOKENS, rows=_LEAST_ROWS)


class _Words:
    """Words to vectors, with the fallbacks of training for words the model does not know."""

    def __init__(self, known: WordVectors) -> None:
        self.known = known
        self.unknown = lru_cache(_REMEMBERED)(self._unknown)

    def vectors(self, passages: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """The vectors of all words, zeros after a passage's end: (passages, words of the longest, d)."""
        longest = max((len(words) for words in passages), default=0) or 1
        row = self.known.index.get
        rows = np.array(
            [[row(word, _UNKNOWN) for word in words] + [_END] * (longest - len(words)) for words in passages], np.intp
        )
        vectors = self.known.matrix.take(rows, axis=0, mode="clip")
        vectors[rows == _END] = 0
        for passage, place in np.argwhere(rows == _UNKNOWN).tolist():
            word = passages[passage][place]
            vectors[passage, place] = (self.unknown if len(word) <= _LONGEST_REMEMBERED else self._unknown)(word)
        return vectors

    def _unknown(self, word: str) -> NDArray[np.float32]:
        vector: NDArray[np.float32] = lookup([word], self.known).matrix[0]
        return vector
