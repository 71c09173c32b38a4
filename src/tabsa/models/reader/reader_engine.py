"""A reader's model folder run by onnxruntime: texts are read in batches, every question is asked of their states."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache, partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import READER_GRAPHS, ModelFolder, Precision
from tabsa.checkpoint.weight_storage import SCALE, unpack_weights
from tabsa.embeddings.packing import unpack_table
from tabsa.encoding.answers import AspectsOfEach, Engine, PassageAnswer, PresenceCalibration
from tabsa.encoding.passages import Passage
from tabsa.encoding.pieces import NO_SLOT, PiecePassage, PieceReader, wording
from tabsa.errors import ModelError
from tabsa.models.onnx.session import batches_of, cores, in_batches, load_onnxruntime, open_session, running, shares
from tabsa.models.reader.reader_config import reader_shape
from tabsa.models.reader.reader_storage import (
    ATTENTION_BIAS,
    DIGEST,
    MASKED,
    PLACES,
    TOKENIZER,
    WEIGHTS,
    WORDS,
    stored_tensors,
)
from tabsa.schema import Span, Target

Floats = NDArray[np.float32]

# Pieces in a batch, padding included. At most: small enough for the cache. At least: large enough for full products.
_MOST_PIECES, _LEAST_PIECES = 512, 256
_MOST_ROWS: Final = 1024  # of questions, asked at a time
_MOST_BESIDE: Final = 64  # rows of one pair, which are weighed against each other, unless an aspect has more
_OPEN: Final = 8  # passages that stay open: mostly several answers about one are looked into
_REMEMBERED: Final = 16384  # rows of aspects that are cached


class PassageFeatures(NamedTuple):
    """One passage as questions need it: fine-tuning computes it once."""

    targets: Floats  # the states of its targets, (K, d)
    keys_values: Floats  # of each layer that questions go through, (layers x 2, T, d)


class _Pairs(NamedTuple):
    """The pairs of a passage and a target in a batch."""

    texts: NDArray[np.int64]  # the passage of each pair
    places: NDArray[np.int64]  # the pieces of all pairs' targets, in the batch's states as rows
    first: NDArray[np.int64]  # where those of each pair begin


class ReaderEngine(Engine):
    """Runs one reader; safe to use from several threads. No answer depends on what is read or asked beside it."""

    at_once = sys.maxsize

    def __init__(self, folder: ModelFolder, threads: int = 0, precision: Precision = "float32") -> None:
        self.folder, self.paths = folder, [folder.path / name for name in READER_GRAPHS[precision]]
        self.threads, self.shape = threads or cores(), reader_shape(folder)
        given = folder.config.calibration
        self.calibration = None if given is None else PresenceCalibration(**given)
        self.aspects: OrderedDict[str, Floats] = OrderedDict()  # states by wording, the latest used last
        self.lock = threading.Lock()
        self._opened = lru_cache(_OPEN)(partial(ReaderPassage, self))

    @cached_property
    def pieces(self) -> PieceReader:
        """The reader of word pieces."""
        return PieceReader.read(self.folder.files.checked(TOKENIZER))

    @cached_property
    def embeddings(self) -> "_Embeddings":
        """The vectors of word pieces and places."""
        return _Embeddings(self.folder, self.shape.encoder.vocabulary)

    @cached_property
    def sessions(self) -> tuple[Any, Any]:
        """The sessions that read and ask, made at first use."""
        _, digest = stored_tensors(self.folder)

        def fits(session: Any) -> bool:
            try:
                facts = session.get_modelmeta().custom_metadata_map
            except UnicodeDecodeError:
                return False  # no text, so none of ours
            names = {value.name for value in (*session.get_inputs(), *session.get_outputs())}
            layered = {name for name in names if name.startswith(("keys.", "values."))}
            return (facts.get(DIGEST), layered) == (digest, {*self.shape.keys_values})

        read, ask = (open_session(self.folder, path.name, fits, weights=WEIGHTS) for path in self.paths)
        return read, ask

    def cut(self, text: str, targets: Sequence[Target]) -> Iterator[PiecePassage]:
        """Cut a text into passages of the word pieces that are read at once, for all targets they mention."""
        config = self.folder.config
        return self.pieces.cut(text, targets, longest=config.max_length, windows=config.windows)

    def read_passages(
        self,
        passages: Sequence[Passage],
        aspects: AspectsOfEach = None,
        *,
        gates: bool = False,  # noqa: ARG002
    ) -> list[PassageAnswer]:
        """Read passages, sorted by length inside, answered in order; an aspect is any words."""
        requested = [
            tuple(own) for own in ([self.folder.config.aspects] * len(passages) if aspects is None else aspects)
        ]
        read = [passage for passage in passages if isinstance(passage, PiecePassage)]
        if len(read) < len(passages):
            raise TypeError("a reader reads the passages that its own `cut` gave")
        if not read:
            return []
        lists = dict.fromkeys(requested)
        wordings = [*dict.fromkeys(aspect for own in lists for aspect in own)]
        states = dict(zip(wordings, self.aspect_states(wordings), strict=True))
        answer = partial(self._answer_batch, {own: [states[aspect] for aspect in own] for own in lists})
        batches = _batches((passage.pieces for passage in read), self.threads)
        answers = in_batches(answer, [*zip(read, requested, strict=True)], batches, self.threads)
        return [PassageAnswer(found, None) for found in answers]

    def opened(self, passage: Passage) -> "ReaderPassage | None":
        """Open a passage: read once and ready for questions with parts of it masked."""
        return self._opened(passage) if isinstance(passage, PiecePassage) else None

    def features(self, passages: Sequence[PiecePassage]) -> Iterator[tuple[int, PassageFeatures]]:
        """Read each passage once, with its number, the longest first; keys and values have their biases."""
        batches = _batches((passage.pieces for passage in passages), self.threads)
        names = [f"{layer}.qkv_bias" for layer in self.shape.shared]
        biases = unpack_weights(self.folder.stored_weights(*names))

        def read(batch: list[int]) -> list[tuple[int, PassageFeatures]]:
            chosen = [passages[number] for number in batch]
            states, keys_values, targets, pairs = self._read_targets(chosen)
            found = np.empty((len(keys_values), *states.shape), np.float32)  # (layers x 2, T, B, d)
            for value, row in zip(keys_values, found, strict=True):
                row[:] = value.numpy().reshape(states.shape)
            for n, row in enumerate(found):  # the graph's are without theirs
                row += np.split(biases[names[n // 2]], 3)[1 + n % 2]
            return [
                (number, PassageFeatures(targets[pairs.texts == n], found[:, : len(chosen[n].pieces) + 2, n]))
                for n, number in enumerate(batch)
            ]

        with ThreadPoolExecutor(self.threads) as pool:
            for found in pool.map(read, batches):
                yield from found

    def aspect_states(self, aspects: Sequence[str]) -> list[Floats]:
        """Read each aspect alone: the states of its own word pieces, (L, d); those read before are cached."""
        worded = [wording(aspect) for aspect in aspects]
        with self.lock:
            known = {words: self.aspects[words] for words in worded if words in self.aspects}
            for words in known:
                self.aspects.move_to_end(words)
        new = [words for words in dict.fromkeys(worded) if words not in known]
        most = self.folder.config.max_length - 2
        coded = [self.pieces.words(words)[:most] for words in new]
        for batch in _batches(coded):
            states, _ = self._read([coded[n] for n in batch], "entered")
            known |= {new[n]: states[1 : len(coded[n]) + 1, number].copy() for number, n in enumerate(batch)}
        with self.lock:
            self.aspects.update((words, known[words]) for words in new)
            rows = sum(1 + len(states) for states in self.aspects.values())
            while rows > _REMEMBERED:
                rows -= 1 + len(self.aspects.popitem(last=False)[1])
        return [known[words] for words in worded]

    def text_vectors(self, texts: Sequence[str]) -> Floats:
        """Compute the mean of the states that each text has as an aspect, (N, d); zeros for one of no words."""
        parts = (self.aspect_states(texts[n : n + 256]) for n in range(0, len(texts), 256))
        means = [states.sum(0) / max(1, len(states)) for part in parts for states in part]
        return np.array(means, np.float32).reshape(-1, self.shape.encoder.size)

    def _read(self, texts: Sequence[Sequence[int]], *wanted: str) -> tuple[Floats, list[Any]]:
        """Read texts as word pieces: the first of what is wanted, (T, B, d); the others, as onnxruntime holds them."""
        values_of = load_onnxruntime().OrtValue
        reader, session = self.pieces, self.sessions[0]
        lengths = np.array([len(ids) + 2 for ids in texts], np.int64)
        rows = np.zeros((lengths.max(), len(texts)), np.int64)
        for number, ids in enumerate(texts):
            rows[: len(ids) + 2, number] = [reader.first, *ids, reader.last]
        embedded = self.embeddings(rows)
        embedded[np.arange(len(rows))[:, None] >= lengths] = embedded[0, 0]  # the first piece, as the graph wants it
        inputs = {"embedded": embedded, "lengths": lengths}
        values = {name: values_of.ortvalue_from_numpy(array) for name, array in inputs.items()}
        with running(self.paths[0]):
            states, *others = session.run_with_ort_values(wanted, values)
            found = states.numpy()
        if found.shape != embedded.shape:
            raise ModelError(
                f"{self.paths[0]} answers with {list(found.shape)} numbers; expected {list(embedded.shape)}"
            )
        return found, others

    def _read_targets(self, passages: Sequence[PiecePassage]) -> tuple[Floats, list[Any], Floats, _Pairs]:
        """Read passages: their states, their keys and values, the mean state of each pair's target, and the pairs."""
        texts = [[piece.id for piece in passage.pieces] for passage in passages]
        states, keys_values = self._read(texts, "entered", *self.shape.keys_values)
        pairs = _pairs(passages)
        rows = states.reshape(-1, self.shape.encoder.size)[pairs.places]
        counts = np.diff(pairs.first, append=len(rows))[:, None].astype(np.float32)
        targets = np.add.reduceat(rows, pairs.first).astype(np.float32) / counts if len(rows) else rows
        return states, keys_values, targets, pairs

    def _answer_batch(
        self, states: Mapping[tuple[str, ...], list[Floats]], batch: Sequence[tuple[PiecePassage, tuple[str, ...]]]
    ) -> list[Floats]:
        """Answer for each passage's targets and its aspects, (K, A, labels); `states` are of each list of aspects."""
        passages = [passage for passage, _ in batch]
        _, keys_values, targets, pairs = self._read_targets(passages)
        inputs: dict[str, Any] = {"lengths": np.array([len(passage.pieces) + 2 for passage in passages], np.int64)}
        inputs |= zip(self.shape.keys_values, keys_values, strict=True)
        alike: dict[tuple[str, ...], list[int]] = {}
        for number, (_, own) in enumerate(batch):
            alike.setdefault(own, []).append(number)
        answers: dict[int, Floats] = {}
        for own, numbers in alike.items():
            chosen = np.flatnonzero(np.isin(pairs.texts, numbers))
            found = self._ask_all(inputs, pairs.texts[chosen], targets[chosen], states[own])
            ends = np.cumsum([len(passages[number].targets) for number in numbers])[:-1]
            answers.update(zip(numbers, np.split(self.calibrated(found), ends), strict=True))
        return [answers[number] for number in range(len(batch))]

    def _ask_all(
        self, inputs: dict[str, Any], texts: NDArray[np.int64], targets: Floats, aspects: Sequence[Floats]
    ) -> Floats:
        """Ask every aspect of every pair, some questions at a time: (P, A, labels)."""
        answers = np.empty((len(targets), len(aspects), self.shape.labels), np.float32)
        for columns in _beside(aspects):
            some = self.aspect_inputs(aspects[columns])
            step = max(1, _MOST_ROWS // (len(some["aspects"]) + len(some["aspect_lengths"])))
            for pair in range(0, len(texts), step):
                pairs = slice(pair, pair + step)
                found = self.ask(inputs | some | {"targets": targets[pairs], "texts": texts[pairs]})
                answers[pairs, columns] = found[:, : columns.stop - columns.start]
        return answers

    def aspect_inputs(self, states: Sequence[Floats]) -> dict[str, NDArray[Any]]:
        """The inputs of the graph for aspects' states; one alone is beside one of no words, or rounded otherwise."""
        rows = [*states, np.empty((0, self.shape.encoder.size), np.float32)][: max(2, len(states))]
        return {"aspects": np.concatenate(rows), "aspect_lengths": np.array([len(own) for own in rows], np.int64)}

    def ask(self, inputs: Mapping[str, Any]) -> Floats:
        """Ask the graph some questions: its own answers, without calibration, (P, A, labels)."""
        path, session = self.paths[1], self.sessions[1]
        with running(path):
            (answer,) = session.run(["probabilities"], inputs)
        return shares(answer, (len(inputs["targets"]), len(inputs["aspect_lengths"]), self.shape.labels), path)

    def calibrated(self, answers: Floats) -> Floats:
        """Calibrate the graph's answers."""
        if self.calibration is None:
            return answers
        return self.calibration.apply(answers.astype(np.float64)).astype(np.float32)


class ReaderPassage:
    """A passage that was read once and is asked again and again, each time with some of its words masked.

    Masking the keys and values of a word (attention knockout: Geva et al., 2023) asks what the answer would be had the
    question not attended to it, and costs its rows, where leaving the word out of the text costs a whole reading.
    """

    def __init__(self, engine: ReaderEngine, passage: PiecePassage) -> None:
        self.engine = engine
        self.spans = tuple(Span(piece.start, piece.end) for piece in passage.pieces)
        self.slots = tuple(None if piece.slot == NO_SLOT else piece.slot for piece in passage.pieces)
        _, keys_values, self.targets, _ = engine._read_targets([passage])
        self.inputs: dict[str, Any] = dict(zip(engine.shape.keys_values, keys_values, strict=True))
        self.inputs |= {"lengths": np.array([len(self.spans) + 2], np.int64), "texts": np.zeros(1, np.int64)}

    def ask(self, slot: int, aspect: str, visible: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Answer with the pieces in each row of `visible`, (M, pieces), and the two around a text: (M, labels)."""
        engine, count = self.engine, len(visible)
        bias = np.zeros((max(count, 1), len(self.spans) + 2), np.float32)
        bias[:count, 1:-1][~visible] = MASKED
        states = engine.aspect_states([aspect]) * len(bias)
        inputs = {**self.inputs, "targets": self.targets[slot : slot + 1]}
        answers = [
            engine.ask({**inputs, **engine.aspect_inputs(states[columns]), ATTENTION_BIAS: bias[columns]})[0]
            for columns in _beside(states)
        ]
        return engine.calibrated(np.concatenate(answers)[:count])


def _beside(aspects: Sequence[Floats]) -> Iterator[slice]:
    """Yield as many aspects as are asked beside each other."""
    start = rows = 0
    for end, states in enumerate(aspects):
        rows += 1 + len(states)
        if end > start and rows > _MOST_BESIDE:
            yield slice(start, end)
            start, rows = end, 1 + len(states)
    yield slice(start, len(aspects))


class _Embeddings:
    """Word pieces in their places to vectors; rows in four bits are spread out when they are needed."""

    def __init__(self, folder: ModelFolder, vocabulary: int) -> None:
        stored = folder.stored_weights(WORDS, WORDS + SCALE, PLACES, PLACES + SCALE)
        self.places = unpack_weights({name: array for name, array in stored.items() if name.startswith(PLACES)})[PLACES]
        self.table, self.scales = stored[WORDS], stored.get(WORDS + SCALE)
        self.vocabulary = vocabulary

    def __call__(self, ids: NDArray[np.int64]) -> Floats:
        """Look up the vectors of word pieces (T, B), in their places: (T, B, d)."""
        if ids.max() >= self.vocabulary:
            raise ModelError(f"the tokeniser has a piece {ids.max()}, and the model knows {self.vocabulary}")
        rows = self.table.take(ids, axis=0)
        if self.scales is None:
            values = rows.astype(np.float32)
        elif self.table.dtype == np.uint8:
            values = unpack_table(rows, self.scales.take(ids, axis=0))
        else:
            values = rows * self.scales
        values += self.places[: len(ids), None]
        return values


def _pairs(passages: Sequence[PiecePassage]) -> _Pairs:
    """List the pairs of a batch; a target without a piece of its own has the first piece's state."""
    texts: list[int] = []
    places: list[int] = []
    first: list[int] = []
    for number, passage in enumerate(passages):
        own: list[list[int]] = [[] for _ in passage.targets]
        for place, piece in enumerate(passage.pieces, 1):
            if piece.slot >= 0:
                own[piece.slot].append(place * len(passages) + number)
        for its in own:
            texts.append(number)
            first.append(len(places))
            places += its or [number]
    return _Pairs(*(np.array(values, np.int64) for values in (texts, places, first)))


def _batches(texts: Iterable[Sequence[object]], threads: int = 1) -> list[list[int]]:
    lengths = [len(pieces) + 2 for pieces in texts]
    return list(batches_of(lengths, threads, most=_MOST_PIECES, least=_LEAST_PIECES))
