"""A model folder's graph run by onnxruntime, or its network by PyTorch, on batches of passages, each read once."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import GRAPHS, ModelFolder, Precision
from tabsa.embeddings.vectors import lookup
from tabsa.encoding.answers import AspectsOfEach, Engine, PassageAnswer, aspect_columns
from tabsa.encoding.passages import Passage
from tabsa.encoding.passages import passages as cut_passages
from tabsa.encoding.target_words import neighbours, passage_words
from tabsa.errors import ModelError
from tabsa.models.onnx.session import batches_of, cores, in_batches, open_session, running, shares
from tabsa.models.registry import system_of
from tabsa.schema import Target
from tabsa.text.tokens import Token

# Tokens in a batch, padding included. At most: small enough for the cache. At least: large enough for full products.
_MOST_TOKENS, _LEAST_TOKENS = 1024, 256
_LEAST_ROWS = 8  # of a batch, where there are as many of like length for each thread
_UNKNOWN, _END = -1, -2  # in place of a word's row: it has none; the passage has ended
_REMEMBERED = 2_000  # words outside the vectors whose fallbacks are cached
_COMPANY = Passage(0, 1, (Token(".", 0, 1),), ())  # read with a passage that would be read alone


class WordEngine(Engine):
    """Runs one neural model; safe to use from several threads. Batches are read side by side (`in_batches`)."""

    def __init__(self, folder: ModelFolder, threads: int = 0, precision: Precision = "float32") -> None:
        self.folder, self.path = folder, folder.path / GRAPHS[precision]
        self.threads, self.at_once = threads or cores(), folder.config.targets
        # A vector for a word that the model does not know, as training found it.
        self._fallback = lru_cache(_REMEMBERED)(lambda word: lookup([word], folder.vectors).matrix[0])

    @cached_property
    def session(self) -> Any:
        """The onnxruntime session, made at first use, or the network where the folder was made without a graph."""
        folder, name = self.folder, self.path.name
        if name != GRAPHS["float32"] and not self.path.exists():
            raise ModelError(f"{folder.path} has no {name}; of models of words only `places` has one: take float32")
        if self.path.exists():
            return open_session(folder, name, self._fits)
        if not find_spec("torch"):
            raise ModelError(f"{folder.path} has no {name}, so PyTorch runs its network: pip install 'tabsa[train]'")
        from tabsa.models.folder_network import NetworkSession

        if system_of(folder).graph:
            warnings.warn(f"{folder.path} has no graph: PyTorch runs its network, which is slower", stacklevel=2)
        return NetworkSession(folder)

    def _fits(self, session: Any) -> bool:
        """Tell whether a graph was made from this folder."""
        config, vectors = self.folder.config, self.folder.vectors
        inputs = {value.name: list(value.shape) for value in session.get_inputs()}
        outputs = {value.name: list(value.shape) for value in session.get_outputs()}
        return (
            {"words", "lengths"} <= set(inputs) <= {"words", "lengths", "neighbours"}
            and inputs["words"][2:] == [vectors.dim]
            and outputs.get("probabilities", [])[1:] == [config.targets, len(config.aspects), len(config.labels)]
            and len(vectors) > 0
        )

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
        with running(self.path):
            (attention,) = session.run(["attention"], inputs)
        return shares(attention, np.shape(attention), self.path)

    def inputs(self, passages: Sequence[Passage]) -> dict[str, NDArray[Any]]:
        """Make the graph's inputs of a batch."""
        wanted = {value.name for value in self.session.get_inputs()}
        read = [passage_words(passage) for passage in passages]
        slots = [[token.target for token in passage.tokens] for passage in passages]
        words, count = self.word_vectors(read), self.folder.config.targets

        def padded(rows: Iterable[Any], value: int, dtype: Any, *rest: int) -> NDArray[Any]:
            array = np.full((*words.shape[:2], *rest), value, dtype)
            for own, row in zip(array, rows, strict=True):
                own[: len(row)] = row
            return array

        lengths = np.array([len(own) for own in slots], np.int64)
        inputs: dict[str, NDArray[Any]] = {"words": words, "lengths": lengths}
        if "slots" in wanted:
            inputs["slots"] = padded(([-1 if slot is None else slot for slot in own] for own in slots), -1, np.int64)
        if "neighbours" in wanted:
            inputs["neighbours"] = padded((neighbours(own, count) for own in slots), 0, np.float32, count, 2)
        if "concepts" in wanted and self.folder.concepts is not None:
            inputs["concepts"] = padded(map(self.folder.concepts.match, read), 0, np.int64)
        return inputs

    def word_vectors(self, passages: Sequence[Sequence[str]]) -> NDArray[np.float32]:
        """Look up the vectors of all words, zeros after a passage's end: (passages, words of the longest, d)."""
        known = self.folder.vectors
        longest = max((len(words) for words in passages), default=0) or 1
        row = known.index.get
        rows = np.array(
            [[row(word, _UNKNOWN) for word in words] + [_END] * (longest - len(words)) for words in passages], np.intp
        )
        vectors = known.matrix.take(rows, axis=0, mode="clip")
        vectors[rows == _END] = 0
        for passage, place in np.argwhere(rows == _UNKNOWN).tolist():
            vectors[passage, place] = self._fallback(passages[passage][place])
        return vectors

    def cut(self, text: str, targets: Sequence[Target]) -> Iterator[Passage]:
        """Cut a text into passages of the words that the model was trained with, for the targets it knows at a time."""
        config = self.folder.config
        return cut_passages(text, targets, at_once=self.at_once, max_length=config.max_length)

    def read_passages(
        self, passages: Sequence[Passage], aspects: AspectsOfEach = None, *, gates: bool = False
    ) -> list[PassageAnswer]:
        """Read passages, sorted by length inside, answered in order; the graph answers all of the model's aspects."""
        columns = aspect_columns(self.folder.config.aspects, len(passages), aspects)
        if not passages:
            return []
        lengths = [len(passage.tokens) for passage in passages]
        batches = list(batches_of(lengths, self.threads, most=_MOST_TOKENS, least=_LEAST_TOKENS, rows=_LEAST_ROWS))
        read = partial(self._read_batch, self.session, gates=gates)  # first, because it checks that the files fit
        pairs = zip(in_batches(read, passages, batches, self.threads), columns, strict=True)
        return [one._replace(probabilities=one.probabilities[:, own]) for one, own in pairs]

    def _read_batch(self, session: Any, passages: Sequence[Passage], *, gates: bool) -> list[PassageAnswer]:
        # A lone passage's products are rounded otherwise than those of several: in company always, no answer depends
        # on what is read beside it, down to the last bit.
        company = [_COMPANY] if len(passages) == 1 else []
        inputs = self.inputs([*passages, *company])
        wanted = ["probabilities", "gates"] if gates and "gates" in self.outputs else ["probabilities"]
        with running(self.path):
            answers = dict(zip(wanted, session.run(wanted, inputs), strict=True))
        config, count = self.folder.config, len(passages) + len(company)
        shape = (count, config.targets, len(config.aspects), len(config.labels))
        answers["probabilities"] = shares(answers["probabilities"], shape, self.path)
        if "gates" in answers:
            gated = np.shape(answers["gates"])
            expected = (count, *gated[1:2], inputs["words"].shape[1], *gated[3:4])
            answers["gates"] = shares(answers["gates"], expected, self.path)
        results = []
        for row, passage in enumerate(passages):
            # A copy, because a part of the array would keep the whole batch's in memory.
            shown = answers["gates"][row, :, : len(passage.tokens)].copy() if "gates" in answers else None
            results.append(PassageAnswer(answers["probabilities"][row], shown))
        return results
