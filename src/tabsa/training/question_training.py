"""Training of readers: texts of word pieces, each with questions after targets and aspects of its own.

An update is captured as one CUDA graph: even a large encoder's time is mostly the launching of its kernels. A graph is
of one shape. Batches are padded: texts to a multiple of a few pieces, and questions, aspects and their pieces to the
most that batches of such texts have had so far. One that has more is learnt from without a graph, and a graph with more
room takes the place of the old one.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from tabsa.encoding.answers import restrict_labels
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import PackedTexts, Questions, answers_of, packed_texts
from tabsa.errors import DataError, first_line
from tabsa.evaluation.metrics import question_metrics
from tabsa.models.reader.reader_network import QuestionBatch, Reader
from tabsa.nn.context import EVALUATION, Context
from tabsa.training.loop import (
    Figures,
    Loop,
    SeedScore,
    class_weights,
    cross_entropy,
    figures_of,
    length_batches,
    selected,
)
from tabsa.training.question_data import HeldOut, PreparedQuestions
from tabsa.training.question_drawing import Drawer
from tabsa.training.run_config import RunConfig

_PIECES = 16  # texts' lengths are rounded up to a multiple of this, long ones to a multiple of four times as many
_SHORT = 160
Learn = Callable[[QuestionBatch], Tensor]
Draws = Sequence[torch.Generator]


class Room(NamedTuple):
    """The shape that a graph has room for."""

    pieces: int  # T
    questions: int  # M
    aspects: int  # U
    words: int  # L

    def fits(self, other: "Room") -> bool:
        """True where a batch of that shape can be padded to it."""
        return all(own >= needed for own, needed in zip(self, other, strict=True))


def room_of(batch: QuestionBatch) -> Room:
    """The shape of a batch, its texts' length rounded up."""
    length = batch.pieces.shape[2]
    step = _PIECES if length <= _SHORT else 4 * _PIECES
    length = -(-length // step) * step
    return Room(length, batch.targets.shape[2], batch.aspects.shape[1], batch.aspects.shape[2])


def more_room(needed: Room, before: Room | None) -> Room:
    """For batches like this one, which vary, and for those before."""
    spread = Room(
        needed.pieces, -(-needed.questions // 8) * 8, -(-needed.aspects // 64) * 64 + 64, -(-needed.words // 4) * 4
    )
    return spread if before is None else Room(*(max(pair) for pair in zip(spread, before, strict=True)))


def padded(batch: QuestionBatch, room: Room) -> QuestionBatch:
    """The same texts and questions in arrays of a given shape."""
    longer = room.pieces - batch.pieces.shape[2]
    more = room.questions - batch.targets.shape[2]
    others = room.aspects - batch.aspects.shape[1]
    wider = room.words - batch.aspects.shape[2]
    soft = batch.soft_labels
    return replace(
        batch,
        pieces=pad(batch.pieces, (0, longer)),
        slots=pad(batch.slots, (0, longer), value=NO_SLOT),
        aspects=pad(batch.aspects, (0, wider, 0, others)),
        aspect_lengths=pad(batch.aspect_lengths, (0, others), value=1),
        targets=pad(batch.targets, (0, more), value=NO_SLOT),
        aspect_rows=pad(batch.aspect_rows, (0, more)),
        labels=pad(batch.labels, (0, more), value=UNLABELLED),
        soft_labels=None if soft is None else pad(soft, (0, 0, 0, more)),
        owners=None if batch.owners is None else pad(batch.owners, (0, longer)),
        places=None if batch.places is None else pad(batch.places, (0, longer)),
    )


class _QuestionGraph:
    """One captured update, the batch it reads and the losses it leaves."""

    def __init__(self, learn: Learn, batch: QuestionBatch, room: Room, draws: Draws, pool: Any) -> None:
        self.room = room
        self.batch = batch.cloned()
        self.graph = torch.cuda.CUDAGraph()
        for generator in draws:
            self.graph.register_generator_state(generator)
        with torch.cuda.graph(self.graph, pool=pool):
            self.losses = learn(self.batch)

    def replay(self, batch: QuestionBatch) -> Tensor:
        for field in fields(QuestionBatch):
            own, new = getattr(self.batch, field.name), getattr(batch, field.name)
            if own is not None:
                own.copy_(new)
        self.graph.replay()
        return self.losses.clone()


class QuestionGraphs:
    """Learns from batches, by graph where there is one that fits.

    Args:
        learn: one update; it must not wait for the GPU.
        draws: the generators it draws from.
    """

    def __init__(self, learn: Learn, draws: Draws) -> None:
        self.plainly, self.draws = learn, draws
        self.graphs: dict[tuple[int, int], _QuestionGraph] = {}
        self.pool: Any = None  # one for all: they run one after the other
        self.refused = False  # whether a capture failed, after which nothing more is captured

    def learn(self, batch: QuestionBatch) -> Tensor:
        """One update; returns the losses (S,)."""
        if self.refused:
            return self.plainly(batch)
        needed = room_of(batch)
        key = batch.pieces.shape[1], needed.pieces
        graph = self.graphs.get(key)
        if graph is not None and graph.room.fits(needed):
            return graph.replay(padded(batch, graph.room))
        room = more_room(needed, None if graph is None else graph.room)
        batch = padded(batch, room)
        # Learning plainly first makes the optimiser's state, which a capture must find there.
        losses = self.plainly(batch)
        try:
            self.pool = self.pool or torch.cuda.graph_pool_handle()
            self.graphs[key] = _QuestionGraph(self.plainly, batch, room, self.draws, self.pool)
        except RuntimeError as e:  # an operator that this version of PyTorch does not capture: slower, and as right
            warnings.warn(f"updates are not captured as CUDA graphs here ({first_line(e)})", stacklevel=2)
            self.refused = True
        return losses


_TOKENS = 16_384  # of a batch that is only read


class Batches:
    """Texts with questions as batches for a model."""

    def __init__(self, model: Reader, prepared: PreparedQuestions, data: Questions) -> None:
        self.known, self.aspects, self.data = prepared.pieces, prepared.aspect_pieces, data
        self.aspect_lengths = (prepared.aspect_pieces != NO_SLOT).sum(1)
        self.lengths, self.counts = data.lengths, np.diff(data.first)
        self.packed: PackedTexts | None = None  # with the questions' pieces, where these are read beside the texts
        if model.config.cross_encode:
            known, longest = self.known, model.encoder.shape.longest
            self.packed = packed_texts(data, self.aspects, known.first, known.last, known.placeholders)
            if int(self.packed.places.max(initial=0)) >= longest:
                raise DataError(f"a text and its question have over {longest} pieces; try a lower 'data.max_length'")
            self.lengths = self.packed.lengths
        if not len(data.targets):
            raise DataError("nothing is asked of these texts; expected targets and aspects to ask about")

    def batch(self, rows: NDArray[np.int64]) -> QuestionBatch:
        """The texts `rows` (S, B)."""
        if self.packed is not None:
            return self._packed(rows, self.packed)
        data, seeds = self.data, len(rows)
        place = np.arange(int(self.lengths[rows].max())) - 1
        length = self.lengths[rows][..., None] - 2
        inside = (place >= 0) & (place < length)
        index = np.where(inside, data.starts[rows][..., None] + place, 0)
        pieces = np.where(inside, data.pieces[index] if len(data.pieces) else 0, self.known.padding)
        pieces[..., 0] = self.known.first
        np.put_along_axis(pieces, length + 1, self.known.last, axis=-1)
        slots = np.where(inside, data.slots[index] if len(data.slots) else NO_SLOT, NO_SLOT)
        number, targets, labels, soft = self._questions(rows)
        table = [np.unique(data.aspects[number[seed]], return_inverse=True) for seed in range(seeds)]
        used = np.zeros((seeds, max(len(found) for found, _ in table)), np.int64)
        for own, (found, _) in zip(used, table, strict=True):
            own[: len(found)] = found
        width = int(self.aspect_lengths[used].max())
        aspects = self.aspects[used][..., :width]
        local = np.stack([inverse.reshape(number.shape[1:]) for _, inverse in table])
        return QuestionBatch(
            torch.from_numpy(pieces.astype(np.int64)),
            torch.from_numpy(length[..., 0] + 2),
            torch.from_numpy(slots.astype(np.int64)),
            torch.from_numpy(np.where(aspects == NO_SLOT, self.known.padding, aspects).astype(np.int64)),
            torch.from_numpy(self.aspect_lengths[used]),
            targets,
            torch.from_numpy(local.astype(np.int64)),
            labels,
            soft,
        )

    def _questions(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Tensor, Tensor, Tensor | None]:
        """The questions of the texts `rows` (S, B): numbers in the data, targets and labels (S, B, M), soft labels."""
        data, counts = self.data, self.counts[rows][..., None]
        place = np.arange(max(1, int(counts.max())))
        there = place < counts
        number = np.where(there, data.first[rows][..., None] + place, 0)
        soft = None if data.soft_labels is None else torch.from_numpy(data.soft_labels[number].astype(np.float32))
        targets = np.where(there, data.targets[number], NO_SLOT).astype(np.int64)
        labels = np.where(there, data.labels[number], UNLABELLED).astype(np.int64)
        return number, torch.from_numpy(targets), torch.from_numpy(labels), soft

    def _packed(self, rows: NDArray[np.int64], packed: PackedTexts) -> QuestionBatch:
        """The texts with their questions' pieces behind them."""
        (_, targets, labels, soft), lengths = self._questions(rows), self.lengths[rows]
        place = np.arange(int(lengths.max()))
        inside = place < lengths[..., None]
        index = np.where(inside, packed.starts[rows][..., None] + place, 0)  # (S, B, N)

        def padded(array: NDArray[Any], padding: int = 0) -> Tensor:
            return torch.from_numpy(np.where(inside, array[index], padding).astype(np.int64))

        nothing = torch.zeros(len(rows), 1, 1, dtype=torch.int64)
        return QuestionBatch(
            padded(packed.pieces, self.known.padding),
            torch.from_numpy(lengths),
            torch.full(index.shape, NO_SLOT),
            nothing,
            nothing[..., 0] + 1,
            targets,
            torch.zeros_like(targets),
            labels,
            soft,
            padded(packed.owners),
            padded(packed.places),
        )

    def orders(self, size: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """The rows of batches of like length, in a random order; the last texts of an epoch are left out."""
        order = rng.permutation(len(self.data))
        order = order[: len(order) // size * size] if len(order) >= size else np.resize(order, size)
        batches = length_batches(self.lengths, order, size)
        return [batches[n] for n in rng.permutation(len(batches))]


@torch.no_grad()
def probabilities_of(
    model: Reader, prepared: PreparedQuestions, data: Questions, products: torch.dtype = torch.float32
) -> NDArray[np.float32]:
    """Each seed's probabilities of every question, (S, Q, labels)."""
    batches = Batches(model, prepared, data)
    device = next(model.parameters()).device
    seeds = len(model.seeds)
    result = np.zeros((seeds, len(data.targets), model.labels), np.float32)
    order = np.argsort(-batches.lengths, kind="stable")
    context = Context(products=products) if products != torch.float32 else EVALUATION
    start = 0
    while start < len(order):
        rows = order[start : start + max(1, _TOKENS // int(batches.lengths[order[start]]))]
        start += len(rows)
        batch = batches.batch(rows[None]).to(device).expanded(seeds)
        answer = model(batch, context=context).logits.double().softmax(-1).float().cpu().numpy()
        there = np.arange(answer.shape[2]) < batches.counts[rows][:, None]
        index = (data.first[rows][:, None] + np.arange(answer.shape[2]))[there]
        result[:, index] = answer[:, there]
    return result


def held_figures(held: HeldOut, labels: tuple[str, ...], probabilities: NDArray[np.floating]) -> Figures:
    """The figures of answers to a held dataset's encoded questions, (Q, labels)."""
    answers = answers_of(held.data, len(held.gold), probabilities)
    if not held.aspects:
        return {"questions": question_metrics(held.gold, answers)}
    own = [labels.index(label) for label in held.labels]
    gold = held.gold.reshape(-1, held.aspects)
    gold = np.where(gold >= 0, np.searchsorted(own, np.maximum(gold, 0)), -1)
    closed = restrict_labels(answers, labels, held.labels).reshape(*gold.shape, len(own))
    return figures_of(gold, closed) | {"questions": question_metrics(gold.ravel(), closed.reshape(-1, len(own)))}


class ReaderTrainer(Loop[NDArray[np.int64]]):
    """A run of a reader; a batch is the rows of each seed's texts, (S, B), in the epoch's data.

    With a `pool` it learns from these fixed questions, in place of drawn ones.
    """

    model: Reader

    def __init__(
        self, config: RunConfig, prepared: PreparedQuestions, model: Reader, device: str = "cpu",
        pool: Questions | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config, model, model.seeds, device)
        self.prepared = prepared
        self.drawer = Drawer(config, prepared)
        self.pool = None if pool is None else Batches(model, prepared, pool)
        self.current: Batches | None = None
        self.ahead: dict[int, Future[Batches]] = {}
        labels = (pool or prepared.train).labels
        counts = np.bincount(labels[labels >= 0], minlength=len(prepared.labels)).astype(np.float64)
        if pool is None:  # silent questions are drawn
            counts[0] = max(counts[0], counts[1:].sum() * 2)
        self.class_weights = torch.from_numpy(class_weights(counts, config.training.class_power)).to(self.device)
        captured = self.device.type == "cuda" and model.capturable
        self.graphs = QuestionGraphs(self.learn_texts, self.draws) if captured else None

    @property
    def updates(self) -> int:
        """Updates in an epoch."""
        return max(1, self.texts // self.config.training.batch_size)

    @property
    def texts(self) -> int:
        """Texts of an epoch."""
        return len(self.drawer) if self.pool is None else len(self.pool.data)

    def batches(self) -> Iterator[NDArray[np.int64]]:
        """The next epoch's texts, drawn once for all seeds, in an order of each seed's own."""
        self.current = drawn = self.pool or self._epoch(self.progress.epoch)
        orders = [drawn.orders(self.config.training.batch_size, rng) for rng in self.orders]
        return (np.stack(rows) for rows in zip(*orders, strict=True))

    def learn(self, batch: NDArray[np.int64]) -> Tensor:
        """One update, replayed as a graph where the GPU has captured one."""
        if self.current is None:
            raise ValueError("no epoch has begun")
        texts = self.current.batch(batch)
        if self.device.type == "cuda":  # from pinned memory, or the GPU would have to be done with the batch before
            texts = texts.pinned().to(self.device)
        return self.learn_texts(texts) if self.graphs is None else self.graphs.learn(texts)

    def learn_texts(self, texts: QuestionBatch) -> Tensor:
        """Change the weights by texts; returns the losses (S,)."""
        return self.step(self.losses(texts, self.context()))

    def losses(self, texts: QuestionBatch, context: Context) -> Tensor:
        """Each seed's loss by the labels, by the soft labels, or by both, (S,)."""
        logits = self.model(texts, context=context).logits
        share = 0.0 if texts.soft_labels is None else self.config.distillation.weight
        parts = [(1 - share, None), (share, texts.soft_labels)]
        losses = [w * cross_entropy(logits, texts.labels, self.class_weights, soft) for w, soft in parts if w]
        return torch.stack(losses).sum(0)

    def _epoch(self, number: int) -> Batches:
        """An epoch's texts; beside a GPU the next one's are drawn while these are learnt from."""
        ready = self.ahead.pop(number, None)
        drawn = self._drawn(number) if ready is None else ready.result()
        if self.device.type == "cuda" and number + 1 < self.config.training.epochs:
            thread = ThreadPoolExecutor(1)
            self.ahead[number + 1] = thread.submit(self._drawn, number + 1)
            thread.shutdown(wait=False)
        return drawn

    def _drawn(self, number: int) -> Batches:
        return Batches(self.model, self.prepared, self.drawer.epoch(number))

    def score(self) -> list[SeedScore]:
        """Score every seed on dev."""
        held = self.prepared.held[0]
        scored = []
        for own in probabilities_of(self.model, self.prepared, held.data, self.products):
            figures = held_figures(held, self.prepared.labels, own)
            scored.append(
                SeedScore(figures, selected(figures, self.config.training.select), bool(np.isfinite(own).all()))
            )
        return scored
