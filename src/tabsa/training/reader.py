"""The loop for models that are asked questions: texts of word pieces, each with targets and aspects of its own."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tabsa.encoding.answers import restrict_labels
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT
from tabsa.encoding.questions import PackedTexts, Questions, answers_of, packed_texts
from tabsa.errors import DataError
from tabsa.evaluation.metrics import question_metrics
from tabsa.models.reader.reader_network import QuestionBatch, Reader
from tabsa.nn.context import EVALUATION, Context
from tabsa.training.config import RunConfig
from tabsa.training.drawing import Drawer
from tabsa.training.loop import Loop, SeedScore, cross_entropy
from tabsa.training.question_graphs import QuestionGraphs
from tabsa.training.questions import Held, PreparedQuestions
from tabsa.training.validation import Figures, figures_of, selected

_POOL = 16  # batches that are sorted by length together
_TOKENS = 16_384  # of a batch that is only read


class _AskedRows(NamedTuple):
    """What is asked of texts."""

    number: NDArray[np.int64]  # of each question in the data, (S, B, M)
    targets: Tensor  # (S, B, M)
    labels: Tensor  # (S, B, M)
    soft_labels: Tensor | None  # (S, B, M, labels)


class Batches:
    """Texts with questions as batches on a device."""

    def __init__(
        self, prepared: PreparedQuestions, data: Questions, *, cross_encode: bool = False, longest: int = 512
    ) -> None:
        self.known, self.aspects, self.data = prepared.pieces, prepared.aspect_pieces, data
        self.aspect_lengths = (prepared.aspect_pieces != NO_SLOT).sum(1)
        self.lengths, self.counts = data.lengths, np.diff(data.first)
        self.packed: PackedTexts | None = None  # with the questions' pieces, where these are read beside the texts
        if cross_encode:
            known = self.known
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
        asked = self._asked(rows)
        question = asked.number
        table = [np.unique(data.aspects[question[seed]], return_inverse=True) for seed in range(seeds)]
        used = np.zeros((seeds, max(len(found) for found, _ in table)), np.int64)
        for own, (found, _) in zip(used, table, strict=True):
            own[: len(found)] = found
        width = int(self.aspect_lengths[used].max())
        aspects = self.aspects[used][..., :width]
        local = np.stack([inverse.reshape(question.shape[1:]) for _, inverse in table])
        return QuestionBatch(
            torch.from_numpy(pieces.astype(np.int64)),
            torch.from_numpy(length[..., 0] + 2),
            torch.from_numpy(slots.astype(np.int64)),
            torch.from_numpy(np.where(aspects == NO_SLOT, self.known.padding, aspects).astype(np.int64)),
            torch.from_numpy(self.aspect_lengths[used]),
            asked.targets,
            torch.from_numpy(local.astype(np.int64)),
            asked.labels,
            asked.soft_labels,
        )

    def _asked(self, rows: NDArray[np.int64]) -> _AskedRows:
        """What is asked of the texts `rows` (S, B)."""
        data, counts = self.data, self.counts[rows][..., None]
        place = np.arange(max(1, int(counts.max())))
        there = place < counts
        number = np.where(there, data.first[rows][..., None] + place, 0)
        soft = None if data.soft_labels is None else torch.from_numpy(data.soft_labels[number].astype(np.float32))
        targets = np.where(there, data.targets[number], NO_SLOT).astype(np.int64)
        labels = np.where(there, data.labels[number], UNLABELLED).astype(np.int64)
        return _AskedRows(number, torch.from_numpy(targets), torch.from_numpy(labels), soft)

    def _packed(self, rows: NDArray[np.int64], packed: PackedTexts) -> QuestionBatch:
        """The texts with their questions' pieces behind them."""
        asked, lengths = self._asked(rows), self.lengths[rows]
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
            asked.targets,
            torch.zeros_like(asked.targets),
            asked.labels,
            asked.soft_labels,
            padded(packed.owners),
            padded(packed.places),
        )

    def orders(self, size: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """The rows of batches of like length, in a random order; the last texts of an epoch are left out."""
        order = rng.permutation(len(self.data))
        order = order[: len(order) // size * size] if len(order) >= size else np.resize(order, size)
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(order), size * _POOL):
            pool = order[start : start + size * _POOL]
            pool = pool[np.argsort(-self.lengths[pool], kind="stable")]
            batches += [pool[i : i + size] for i in range(0, len(pool), size)]
        return [batches[n] for n in rng.permutation(len(batches))]


def batches_of(model: Reader, prepared: PreparedQuestions, data: Questions) -> Batches:
    """Texts as a model reads them."""
    return Batches(prepared, data, cross_encode=model.config.cross_encode, longest=model.encoder.shape.longest)


@torch.no_grad()
def probabilities_of(
    model: Reader, prepared: PreparedQuestions, data: Questions, products: torch.dtype = torch.float32
) -> NDArray[np.float32]:
    """What each seed says to every question, (S, Q, labels)."""
    batches = batches_of(model, prepared, data)
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
        asked = np.arange(answer.shape[2]) < batches.counts[rows][:, None]
        index = (data.first[rows][:, None] + np.arange(answer.shape[2]))[asked]
        result[:, index] = answer[:, asked]
    return result


def held_figures(held: Held, labels: tuple[str, ...], probabilities: NDArray[np.floating]) -> Figures:
    """What answers to a held dataset's encoded questions, (Q, labels), are worth."""
    answers = answers_of(held.data, len(held.gold), probabilities)
    figures: Figures = {"questions": question_metrics(held.gold, answers)}
    if held.aspects:
        own = [labels.index(label) for label in held.labels]
        gold = held.gold.reshape(-1, held.aspects)
        gold = np.where(gold >= 0, np.searchsorted(own, np.maximum(gold, 0)), -1)
        closed = restrict_labels(answers, labels, held.labels).reshape(*gold.shape, len(own))
        figures = figures_of(gold, closed) | {"questions": question_metrics(gold.ravel(), closed.reshape(-1, len(own)))}
    return figures


class ReaderTrainer(Loop[NDArray[np.int64]]):
    """A run of a reader; a batch is the rows of each seed's texts, (S, B), in the epoch's data."""

    model: Reader

    def __init__(
        self, config: RunConfig, prepared: PreparedQuestions, model: Reader, device: str = "cpu",
        pool: Questions | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config, model, model.seeds, device)
        self.prepared = prepared
        self.drawer = Drawer(config, prepared)
        # Fixed questions, in place of drawn ones.
        self.pool = None if pool is None else batches_of(model, prepared, pool)
        self.current: Batches | None = None
        self.ahead: dict[int, Future[Batches]] = {}
        labels = (pool or prepared.train).labels
        counts = np.bincount(labels[labels >= 0], minlength=len(prepared.labels)).astype(np.float64)
        if pool is None:  # silent questions are drawn
            counts[0] = max(counts[0], counts[1:].sum() * 2)
        weights = np.where(counts > 0, np.maximum(counts, 1) ** -config.training.class_power, 0)
        weights *= counts.sum() / (weights * counts).sum()
        self.class_weights = torch.from_numpy(weights.astype(np.float32)).to(self.device)
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
        drawn = self.pool or self._epoch(self.progress.epoch)
        self.current = drawn
        orders = [drawn.orders(self.config.training.batch_size, rng) for rng in self.orders]
        return (np.stack(rows) for rows in zip(*orders, strict=True))

    def learn(self, batch: NDArray[np.int64]) -> Tensor:
        """One update, replayed as a graph where the GPU has captured one."""
        texts = self.texts_of(batch)
        return self.learn_texts(texts) if self.graphs is None else self.graphs.learn(texts)

    def learn_texts(self, texts: QuestionBatch) -> Tensor:
        """Change the weights by what texts say; returns the losses (S,)."""
        return self.step(*self._losses(texts, self.context()))

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
        return batches_of(self.model, self.prepared, self.drawer.epoch(number))

    def texts_of(self, batch: NDArray[np.int64]) -> QuestionBatch:
        """The texts of a batch on the device."""
        if self.current is None:
            raise ValueError("no epoch has begun")
        texts = self.current.batch(batch)
        # From pinned memory, or the GPU would have to be done with the batch before.
        return texts.pinned().to(self.device) if self.device.type == "cuda" else texts

    def losses(self, batch: NDArray[np.int64], context: Context) -> tuple[Tensor, Tensor | None]:
        """Each seed's loss on its texts."""
        return self._losses(self.texts_of(batch), context)

    def _losses(self, texts: QuestionBatch, context: Context) -> tuple[Tensor, Tensor | None]:
        training = self.config.training
        logits = self.model(texts, context=context).logits
        losses = self._loss(logits, texts)
        if not training.r_drop:
            return losses, None
        again = self.model(texts, context=context).logits
        losses = (losses + self._loss(again, texts)) / 2
        return losses, training.r_drop * disagreement(logits, again, texts.labels)

    def _loss(self, logits: Tensor, texts: QuestionBatch) -> Tensor:
        """By the labels, by the soft labels, or by both."""
        share = 0.0 if texts.soft_labels is None else self.config.distillation.weight
        parts = [(1 - share, None), (share, texts.soft_labels)]
        return sum(
            weight * cross_entropy(logits, texts.labels, self.class_weights, soft) for weight, soft in parts if weight
        )  # type: ignore[return-value]

    def score(self) -> list[SeedScore]:
        """Every seed on dev."""
        held = self.prepared.held[0]
        answers = probabilities_of(self.model, self.prepared, held.data, self.products)
        select = self.config.training.select
        scored = []
        for own in answers:
            figures = held_figures(held, self.prepared.labels, own)
            score = float(self.progress.epoch) if select == "last" else selected(figures, select)
            scored.append(SeedScore(figures, score, bool(np.isfinite(own).all())))
        return scored


def disagreement(one: Tensor, other: Tensor, labels: Tensor) -> Tensor:
    """R-drop's term (Liang et al., 2021): the mean of both divergences over the labelled questions, (S,)."""
    first, second = one.log_softmax(-1), other.log_softmax(-1)
    both = functional.kl_div(first, second, log_target=True, reduction="none")
    both = (both + functional.kl_div(second, first, log_target=True, reduction="none")).sum(-1) / 2
    labelled = (labels != UNLABELLED).to(both.dtype)
    return (both * labelled).flatten(1).sum(1) / labelled.flatten(1).sum(1).clamp(min=1)
