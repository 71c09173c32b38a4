"""A reader's model folder run by onnxruntime: texts are read in batches, every question is asked of their states."""

import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import READER_GRAPHS, ModelFolder, Precision
from tabsa.embeddings.packing import SCALE, unpack_table, unpack_weights
from tabsa.encoding.answers import PassageAnswer, PresenceCalibration
from tabsa.encoding.passages import Passage
from tabsa.encoding.pieces import NO_SLOT, PiecePassage, PieceReader, wording
from tabsa.errors import ModelError
from tabsa.models.onnx.session import cores, load_onnxruntime, open_session, run_graph, running, shares, side_by_side
from tabsa.models.reader.reader_storage import (
    ALONG,
    BEHIND,
    DIGEST,
    PLACES,
    TOKENIZER,
    UNHEARD,
    WEIGHTS,
    WORDS,
    dimensions,
    stored_tensors,
)
from tabsa.schema import Span, Target

Floats = NDArray[np.float32]

# Pieces in a batch, padding included. At most: small enough for the cache. At least: large enough for full products.
_MOST_PIECES, _LEAST_PIECES = 512, 256
_MOST_QUESTIONS: Final = 1024  # asked at a time
_MOST_ASPECTS: Final = 256
# Passages that stay open: so many, of so many word pieces in all.
_OPEN, _OPEN_PIECES = 8, 1024
_REMEMBERED: Final = 4096  # aspects whose vectors are kept


class KeptPassage(NamedTuple):
    """What questions are answered from, of one passage: fine-tuning computes it once."""

    targets: Floats  # the states of its targets, (K, d)
    heard: Floats  # keys and values of each layer that questions go through, in the order of `Dimensions.kept`


class _Asked(NamedTuple):
    """Who is asked about in the passages of a batch: pairs of a passage and a target."""

    texts: NDArray[np.int64]  # the passage of each pair
    places: NDArray[np.int64]  # the pieces of all pairs' targets, in the batch's states as rows
    first: NDArray[np.int64]  # where those of each pair begin


class ReaderEngine:
    """Runs one reader; safe to use from several threads.

    Batches are read side by side, each by one thread: that scales better than several threads to a batch. No answer
    depends on what is read or asked beside it.

    Args:
        folder: the model.
        threads: how many batches are read at a time; 0 is one a core.
        precision: which of the folder's graphs are run.
    """

    def __init__(self, folder: ModelFolder, threads: int = 0, precision: Precision = "float32") -> None:
        self.folder, self.precision = folder, precision
        self.threads = threads or cores()
        self.at_once = sys.maxsize
        self.sizes = dimensions(folder)
        given = folder.config.calibration
        self.calibration = None if given is None else PresenceCalibration(**given)
        self.aspects: OrderedDict[str, Floats] = OrderedDict()  # vectors by wording, the latest asked last
        # The last passages that were opened: mostly several answers about one are looked into.
        self.open: deque[tuple[PiecePassage, ReaderPassage]] = deque(maxlen=_OPEN)
        self.lock = threading.Lock()

    @property
    def attention(self) -> None:
        """None: a reader has no chains."""
        return

    @cached_property
    def pieces(self) -> PieceReader:
        """What cuts texts into word pieces."""
        path = self.folder.files.checked(TOKENIZER)
        if not path.is_file():
            raise ModelError(f"{self.folder.path} has no {TOKENIZER}; the folder is incomplete")
        return PieceReader.read(path)

    @cached_property
    def embeddings(self) -> "_Embeddings":
        """The vectors of word pieces and places."""
        return _Embeddings(self.folder, self.sizes.vocabulary)

    @cached_property
    def sessions(self) -> tuple[Any, Any]:
        """What reads and what asks, made at first use."""
        _, digest = stored_tensors(self.folder)
        read, ask = (self._session(name, digest) for name in READER_GRAPHS[self.precision])
        return read, ask

    def _session(self, name: str, digest: str) -> Any:
        remedy = f"tabsa export {self.folder.path}" + (" --precision int8" if self.precision == "int8" else "")
        session = open_session(self.folder, name, remedy, weights=WEIGHTS)
        try:
            facts = session.get_modelmeta().custom_metadata_map
        except UnicodeDecodeError:
            facts = {}  # no text, so none of ours
        names = (value.name for value in (*session.get_inputs(), *session.get_outputs()))
        kept = {name for name in names if name.startswith(("keys.", "values."))}
        if (facts.get(DIGEST), facts.get(ALONG, "0"), kept) != (digest, str(self.sizes.along), {*self.sizes.kept}):
            raise ModelError(
                f"{self.folder.path / name} does not fit the folder's other files; make it again with `{remedy}`"
            )
        return session

    def cut(self, text: str, targets: Sequence[Target]) -> Iterator[PiecePassage]:
        """Passages of at most the word pieces that are read at once, for all targets they mention or go on about."""
        config = self.folder.config
        return self.pieces.cut(text, targets, longest=config.max_length, windows=config.windows)

    def read_passages(
        self,
        passages: Sequence[Passage],
        aspects: Sequence[str] | None = None,
        *,
        aspects_of_each: Sequence[Sequence[str]] | None = None,
        gates: bool = False,  # noqa: ARG002
    ) -> list[PassageAnswer]:
        """Read passages, sorted by length inside, answered in order; an aspect is any words."""
        same = tuple(self.folder.config.aspects if aspects is None else aspects)
        asked = [same] * len(passages) if aspects_of_each is None else [tuple(own) for own in aspects_of_each]
        read = [passage for passage in passages if isinstance(passage, PiecePassage)]
        batches = list(_batches([len(passage.pieces) + 2 for passage in read], self.threads))
        if len(read) < len(passages):
            raise TypeError("a reader reads the passages that its own `cut` gave")
        if not batches:
            return []
        lists = dict.fromkeys(asked)
        wordings = [*dict.fromkeys(aspect for own in lists for aspect in own)]
        vectors, row = self.aspect_vectors(wordings), {aspect: n for n, aspect in enumerate(wordings)}
        answer = partial(self._answer_batch, {own: vectors[[row[aspect] for aspect in own]] for own in lists})
        chosen = [[(read[n], asked[n]) for n in batch] for batch in batches]
        answers = side_by_side(answer, chosen, self.threads)
        found = dict(
            pair for batch, said in zip(batches, answers, strict=True) for pair in zip(batch, said, strict=True)
        )
        return [PassageAnswer(found[n], None) for n in range(len(read))]

    def opened(self, passage: Passage) -> "ReaderPassage | None":
        """The passage, read once and ready to be asked; None where the graph is older than this way of asking."""
        able = UNHEARD in (value.name for value in self.sessions[1].get_overridable_initializers())
        if not able or not isinstance(passage, PiecePassage):
            return None
        with self.lock:
            opened = next((opened for known, opened in self.open if known is passage), None)
        if opened is None:
            opened = ReaderPassage(self, passage)
            with self.lock:
                self.open.append((passage, opened))
                while len(self.open) > 1 and sum(known.size for known, _ in self.open) > _OPEN_PIECES:
                    self.open.popleft()
        return opened

    def open_states(self, passage: PiecePassage) -> tuple[Floats, dict[str, Any]]:
        """The states of one passage's targets, (K, d), and by name what questions hear of it."""
        pieces = [piece.id for piece in passage.pieces]
        states, kept = self._read([pieces], "entered" if self.sizes.along else "states", *self.sizes.kept)
        targets, _ = self._target_states(states, [passage])
        return targets, dict(zip(self.sizes.kept, kept, strict=True))

    def ask_once(self, inputs: Mapping[str, Any]) -> Floats:
        """The graph's own answer to some questions, without calibration, (P, A, labels)."""
        session = self.sessions[1]
        known = {value.name for value in (*session.get_inputs(), *session.get_overridable_initializers())}
        asked = {name: value for name, value in inputs.items() if name in known}
        return self._answers(asked, len(inputs["targets"]), len(inputs["aspects"]))

    def kept(self, passages: Sequence[PiecePassage]) -> Iterator[tuple[int, KeptPassage]]:
        """What was read of each passage, with its number, the longest first: heard (layers x 2, T, d), biases in it."""
        batches = list(_batches([len(passage.pieces) + 2 for passage in passages], self.threads))
        names = [f"{layer}_bias" for layer in self._keys_values()]
        biases = unpack_weights(self.folder.stored_weights(*names))
        added = [biases[name][-self.sizes.size :] for name in names]  # the graphs' values are without theirs

        def read(batch: list[int]) -> list[tuple[int, KeptPassage]]:
            chosen = [passages[number] for number in batch]
            texts = [[piece.id for piece in passage.pieces] for passage in chosen]
            states, kept = self._read(texts, "entered" if self.sizes.along else "states", *self.sizes.kept)
            targets, of_text = self._target_states(states, chosen)
            heard = np.empty((len(kept), *states.shape), np.float32)  # (layers x 2, T, B, d)
            for value, row in zip(kept, heard, strict=True):
                row[:] = value.numpy().reshape(states.shape)
            for row, bias in zip(heard[1::2], added, strict=True):
                row += bias
            return [
                (number, KeptPassage(targets[of_text.texts == place], heard[:, : len(texts[place]) + 2, place]))
                for place, number in enumerate(batch)
            ]

        with ThreadPoolExecutor(self.threads) as pool:
            for found in pool.map(read, batches):
                yield from found

    def _keys_values(self) -> list[str]:
        """Where the keys and values of each layer that questions go through come from."""
        sizes = self.sizes
        shared = [f"encoder.layers.{number}.qkv" for number in range(sizes.layers - sizes.along, sizes.layers)]
        return shared + [f"layers.{number}.keys_values" for number in range(sizes.question_layers)]

    def aspect_vectors(self, aspects: Sequence[str]) -> Floats:
        """The mean state of each aspect's word pieces, (A, d); those read before are remembered."""
        worded = [wording(aspect) for aspect in aspects]
        with self.lock:
            known = {words: self.aspects[words] for words in worded if words in self.aspects}
            for words in known:
                self.aspects.move_to_end(words)
        new = [words for words in dict.fromkeys(worded) if words not in known]
        most = self.folder.config.max_length - 2
        coded = [self.pieces.words(words)[:most] for words in new]
        for batch in _batches([len(ids) + 2 for ids in coded]):
            states, _ = self._read([coded[n] for n in batch], "states")
            for number, n in enumerate(batch):
                known[new[n]] = states[: len(coded[n]) + 2, number].mean(0)
        with self.lock:
            self.aspects.update((words, known[words]) for words in new)
            while len(self.aspects) > _REMEMBERED:
                self.aspects.popitem(last=False)
        return np.array([known[words] for words in worded], np.float32).reshape(-1, self.sizes.size)

    def _read(self, texts: Sequence[Sequence[int]], wanted: str, *kept: str) -> tuple[Floats, list[Any]]:
        """States of texts as word pieces, (T, B, d), by their name; and what is kept, which onnxruntime still holds."""
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
        path = self.folder.path / READER_GRAPHS[self.precision][0]
        with running(path):
            states, *others = run_graph(session.run_with_ort_values, [wanted, *kept], values)
            found = states.numpy()
        if found.shape != embedded.shape:
            raise ModelError(f"{path} answers with {list(found.shape)} numbers; expected {list(embedded.shape)}")
        return found, others

    def _answer_batch(
        self, vectors: Mapping[tuple[str, ...], Floats], batch: Sequence[tuple[PiecePassage, tuple[str, ...]]]
    ) -> list[Floats]:
        """The probabilities of each passage's targets and its aspects, (K, A, labels); `vectors` are of each list."""
        passages = [passage for passage, _ in batch]
        texts = [[piece.id for piece in passage.pieces] for passage in passages]
        states, kept = self._read(texts, "entered" if self.sizes.along else "states", *self.sizes.kept)
        targets, pairs = self._target_states(states, passages)
        inputs: dict[str, Any] = {"lengths": np.array([len(ids) + 2 for ids in texts], np.int64)}
        inputs |= zip(self.sizes.kept, kept, strict=True)
        alike: dict[tuple[str, ...], list[int]] = {}
        for number, (_, own) in enumerate(batch):
            alike.setdefault(own, []).append(number)
        answers: dict[int, Floats] = {}
        for own, numbers in alike.items():
            of_these = np.flatnonzero(np.isin(pairs.texts, numbers))
            said = np.empty((len(of_these), len(own), self.sizes.labels), np.float32)
            if said.size:
                self._ask(inputs, pairs.texts[of_these], targets[of_these], vectors[own], said)
            if self.calibration is not None:
                said = self.calibration.apply(said.astype(np.float64)).astype(np.float32)
            ends = np.cumsum([len(passages[number].targets) for number in numbers])[:-1]
            answers.update(zip(numbers, np.split(said, ends), strict=True))
        return [answers[number] for number in range(len(batch))]

    def _target_states(self, states: Floats, passages: Sequence[PiecePassage]) -> tuple[Floats, _Asked]:
        """The mean state of each pair's target, (P, d), of a batch's states, (T, B, d)."""
        pairs = _asked(passages)
        rows = states.reshape(-1, self.sizes.size)[pairs.places]
        counts = np.diff(pairs.first, append=len(rows))[:, None].astype(np.float32)
        return np.add.reduceat(rows, pairs.first).astype(np.float32) / counts if len(rows) else rows, pairs

    def _answers(self, inputs: Mapping[str, Any], pairs: int, aspects: int) -> Floats:
        """What the graph that asks says, looked over: (P, A, labels)."""
        path, session = self.folder.path / READER_GRAPHS[self.precision][1], self.sessions[1]
        with running(path):
            (answer,) = run_graph(session.run, ["probabilities"], inputs)
        return shares(answer, (pairs, aspects, self.sizes.labels), path)

    def _ask(
        self, inputs: dict[str, Any], texts: NDArray[np.int64], targets: Floats, aspects: Floats, said: Floats
    ) -> None:
        """Ask everything, some questions at a time, and write down what is said."""
        session = self.sessions[1]
        named = {value.name for value in session.get_inputs()}
        inputs = {name: array for name, array in inputs.items() if name in named}
        for start in range(0, len(aspects), _MOST_ASPECTS):
            some = aspects[start : start + _MOST_ASPECTS]
            # The product with one row alone is rounded otherwise than that with several.
            asked = some if len(some) > 1 else np.repeat(some, 2, axis=0)
            step = max(1, _MOST_QUESTIONS // len(asked))
            for pair in range(0, len(texts), step):
                pairs = slice(pair, pair + step)
                more = {"targets": targets[pairs], "aspects": asked, "texts": texts[pairs]}
                chosen = {name: array for name, array in more.items() if name in named}
                answer = self._answers(inputs | chosen, len(targets[pairs]), len(asked))
                said[pairs, start : start + len(some)] = answer[:, : len(some)]


class _Embeddings:
    """Word pieces in their places to vectors; rows in four bits are spread out when they are asked for."""

    def __init__(self, folder: ModelFolder, vocabulary: int) -> None:
        stored = folder.stored_weights(WORDS, WORDS + SCALE, PLACES, PLACES + SCALE)
        self.places = unpack_weights({name: array for name, array in stored.items() if name.startswith(PLACES)})[PLACES]
        self.table, self.scales = stored[WORDS], stored.get(WORDS + SCALE)
        self.vocabulary = vocabulary

    def __call__(self, ids: NDArray[np.int64]) -> Floats:
        """The vectors of word pieces (T, B), in their places: (T, B, d)."""
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


def _asked(passages: Sequence[PiecePassage]) -> _Asked:
    """The pairs of a batch; a target without a piece of its own is asked about at the first one's state."""
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
    return _Asked(*(np.array(values, np.int64) for values in (texts, places, first)))


def _batches(lengths: Sequence[int], threads: int = 1) -> Iterator[list[int]]:
    """Numbers of passages, longest first, in batches of about as many pieces, enough to keep all threads busy."""
    rounds = -(-sum(lengths) // (_MOST_PIECES * threads))
    most = min(_MOST_PIECES, max(_LEAST_PIECES, -(-sum(lengths) // max(1, rounds * threads))))
    order = sorted(range(len(lengths)), key=lambda n: -lengths[n])
    start = 0
    while start < len(order):
        count = max(1, most // lengths[order[start]])
        yield order[start : start + count]
        start += count


_AT_ONCE = 256  # ways of hearing that are asked at a time


class ReaderPassage:
    """One passage's states, and what questions hear of it (an `encoding.OpenedPassage`)."""

    def __init__(self, engine: "ReaderEngine", passage: PiecePassage) -> None:
        self.engine = engine
        self.spans = tuple(Span(piece.start, piece.end) for piece in passage.pieces)
        self.slots = tuple(None if piece.slot == NO_SLOT else piece.slot for piece in passage.pieces)
        self.targets, self.inputs = engine.open_states(passage)

    def ask(self, slot: int, aspect: str, heard: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The probabilities where each row of `heard`, (M, pieces), says what a question hears: (M, labels).

        The two pieces around a text are always heard.
        """
        engine, count, length = self.engine, len(heard), len(self.spans) + 2
        unheard = np.zeros((max(count, 2), length), np.float32)  # one row alone would be rounded otherwise
        unheard[:count, 1:-1][~heard] = BEHIND
        vector = engine.aspect_vectors([aspect])
        inputs = {
            **self.inputs,
            "lengths": np.array([length], np.int64),
            "texts": np.zeros(1, np.int64),
            "targets": self.targets[slot : slot + 1],
        }
        said = [
            engine.ask_once({**inputs, "aspects": np.repeat(vector, len(rows), axis=0), UNHEARD: rows})[0]
            for rows in np.array_split(unheard, -(-len(unheard) // _AT_ONCE))
        ]
        answers = np.concatenate(said)[:count]
        if engine.calibration is not None:
            answers = engine.calibration.apply(answers.astype(np.float64)).astype(np.float32)
        return answers
