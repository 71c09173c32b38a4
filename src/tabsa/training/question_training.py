"""Training of readers: texts of word pieces, each with questions after targets and aspects of its own.

An update is captured as one CUDA graph: even a large encoder's time is mostly the launching of its kernels. A graph is
of one shape. Batches are padded: texts to a multiple of a few pieces, and questions, aspects and their pieces to the
most that batches of such texts have had so far. One that has more is learnt from without a graph, and a graph with more
room takes the place of the old one.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, fields, replace
from operator import ge
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.encoding.answers import restrict_labels
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import NO_SLOT, PieceReader
from tabsa.encoding.questions import Questions, answers_of
from tabsa.errors import ConfigError, DataError
from tabsa.evaluation.calibration import calibration_error, fit_presence_calibration
from tabsa.evaluation.metrics import question_metrics
from tabsa.models.export import export
from tabsa.models.reader.encoder import read_encoder
from tabsa.models.reader.reader_config import reader_options
from tabsa.models.reader.reader_network import QuestionBatch, Reader
from tabsa.models.reader.reader_storage import write_reader_folder
from tabsa.nn.context import EVALUATION, Context
from tabsa.text.aspects import EVERYDAY
from tabsa.training.loop import Figures, Loop, class_weights, cross_entropy, figures_of, length_batches
from tabsa.training.model_card import model_card
from tabsa.training.question_data import HeldOut, PreparedQuestions, encoder_folder, prepare_questions
from tabsa.training.question_drawing import Drawer
from tabsa.training.run_config import RunConfig

_PIECES = 16  # texts' lengths are rounded up to a multiple of this, long ones to a multiple of four times as many
_SHORT = 160
_TOKENS = 16_384  # of a batch that is only read
_READ_AT_ONCE = 512  # pieces, by a reader in use
_ANY_NUMBER = 64  # of targets: a reader knows as many as a text names
Learn = Callable[[QuestionBatch], Tensor]
Shape = tuple[int, ...]  # pieces T, questions M, aspects U, words of an aspect L


def shape_of(batch: QuestionBatch) -> Shape:
    """The shape of a batch, its texts' length rounded up."""
    length = batch.pieces.shape[2]
    step = _PIECES if length <= _SHORT else 4 * _PIECES
    return (-(-length // step) * step, batch.targets.shape[2], *batch.aspects.shape[1:])


def roomy(shape: Shape, before: Shape = (0, 0, 0, 0)) -> Shape:
    """The shape of a graph for batches like one, which vary, and for those before."""
    pieces, questions, aspects, words = shape
    spread = (pieces, -(-questions // 8) * 8, -(-aspects // 64) * 64 + 64, -(-words // 4) * 4)
    return tuple(map(max, spread, before))


def padded(batch: QuestionBatch, shape: Shape) -> QuestionBatch:
    """The same texts and questions in arrays of a given shape."""
    own = (batch.pieces.shape[2], batch.targets.shape[2], *batch.aspects.shape[1:])
    longer, more, others, wider = (room - size for room, size in zip(shape, own, strict=True))
    added: dict[str, tuple[int, ...]] = dict.fromkeys(("targets", "aspect_rows", "labels"), (0, more))
    added |= {"aspects": (0, wider, 0, others), "aspect_lengths": (0, others), "soft_labels": (0, 0, 0, more)}
    filling = {"slots": NO_SLOT, "targets": NO_SLOT, "labels": UNLABELLED, "aspect_lengths": 1}
    tensors = {name: one for name, one in vars(batch).items() if name != "lengths" and one is not None}
    return replace(
        batch, **{n: pad(one, added.get(n, (0, longer)), value=filling.get(n, 0)) for n, one in tensors.items()}
    )


class QuestionGraph(NamedTuple):
    """One captured update, the batch it reads and the losses it leaves."""

    shape: Shape
    batch: QuestionBatch
    graph: torch.cuda.CUDAGraph
    losses: Tensor


class QuestionGraphs:
    """Learns from batches, by graph where one fits; `learn` is one update, which must not wait for the GPU."""

    def __init__(self, learn: Learn, draws: Sequence[torch.Generator]) -> None:
        self.plainly, self.draws = learn, draws
        self.graphs: dict[tuple[int, int], QuestionGraph] = {}
        self.pool: Any = None  # one for all: they run one after the other

    def learn(self, batch: QuestionBatch) -> Tensor:
        """One update; returns the losses (S,)."""
        needed = shape_of(batch)
        key = batch.pieces.shape[1], needed[0]
        found = self.graphs.get(key)
        if found is not None and all(map(ge, found.shape, needed)):
            batch = padded(batch, found.shape)
            for field in fields(batch):
                if (own := getattr(found.batch, field.name)) is not None:
                    own.copy_(getattr(batch, field.name))
            found.graph.replay()
            return found.losses.clone()
        shape = roomy(needed) if found is None else roomy(needed, found.shape)
        batch = padded(batch, shape)
        # Learning plainly first makes the optimiser's state, which a capture must find there.
        losses = self.plainly(batch)
        self.graphs[key] = self._captured(batch.mapped(torch.clone), shape)
        return losses

    def _captured(self, batch: QuestionBatch, shape: Shape) -> QuestionGraph:
        self.pool = self.pool or torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        for generator in self.draws:
            graph.register_generator_state(generator)
        with torch.cuda.graph(graph, pool=self.pool):
            losses = self.plainly(batch)
        return QuestionGraph(shape, batch, graph, losses)


class Batches:
    """Texts with questions as batches for a model."""

    made: ClassVar[type[QuestionBatch]] = QuestionBatch

    def __init__(self, model: Reader, prepared: PreparedQuestions, data: Questions) -> None:  # noqa: ARG002
        self.known, self.aspects, self.data = prepared.pieces, prepared.aspect_pieces, data
        self.aspect_lengths = (prepared.aspect_pieces != NO_SLOT).sum(1)
        self.lengths, self.counts = data.lengths, np.diff(data.first)
        if not len(data.targets):
            raise DataError("nothing is asked of these texts; expected targets and aspects to ask about")

    def batch(self, rows: NDArray[np.int64]) -> QuestionBatch:
        """The texts `rows` (S, B)."""
        data, counts = self.data, self.counts[rows][..., None]
        place = np.arange(max(1, int(counts.max())))
        there = place < counts
        number = np.where(there, data.first[rows][..., None] + place, 0)  # of each question, (S, B, M)
        arrays = {
            "lengths": self.lengths[rows],
            "targets": np.where(there, data.targets[number], NO_SLOT),
            "labels": np.where(there, data.labels[number], UNLABELLED),
            **self.texts(rows, number),
        }
        soft = None if data.soft_labels is None else torch.from_numpy(data.soft_labels[number].astype(np.float32))
        tensors = {name: torch.from_numpy(array.astype(np.int64)) for name, array in arrays.items()}
        return self.made(**tensors, soft_labels=soft)

    def texts(self, rows: NDArray[np.int64], number: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """The texts, and a table of the aspects of their questions."""
        data, seeds = self.data, len(rows)
        place = np.arange(int(self.lengths[rows].max())) - 1
        length = self.lengths[rows][..., None] - 2
        inside = (place >= 0) & (place < length)
        index = np.where(inside, data.starts[rows][..., None] + place, 0)
        pieces = np.where(inside, data.pieces[index] if len(data.pieces) else 0, self.known.padding)
        pieces[..., 0] = self.known.first
        np.put_along_axis(pieces, length + 1, self.known.last, axis=-1)
        slots = np.where(inside, data.slots[index] if len(data.slots) else NO_SLOT, NO_SLOT)
        table = [np.unique(data.aspects[number[seed]], return_inverse=True) for seed in range(seeds)]
        used = np.zeros((seeds, max(len(found) for found, _ in table)), np.int64)
        for own, (found, _) in zip(used, table, strict=True):
            own[: len(found)] = found
        lengths = self.aspect_lengths[used]
        aspects = self.aspects[used][..., : int(lengths.max())]
        return {
            "pieces": pieces,
            "slots": slots,
            "aspects": np.where(aspects == NO_SLOT, self.known.padding, aspects),
            "aspect_lengths": lengths,
            "aspect_rows": np.stack([inverse.reshape(number.shape[1:]) for _, inverse in table]),
        }

    def orders(self, size: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
        """The rows of batches of like length, in a random order; the last texts of an epoch are left out."""
        order = rng.permutation(len(self.data))
        order = order[: len(order) // size * size] if len(order) >= size else np.resize(order, size)
        batches = length_batches(self.lengths, order, size)
        return [batches[n] for n in rng.permutation(len(batches))]


@torch.no_grad()
def probabilities_of(
    model: Reader, prepared: PreparedQuestions, data: Questions, products: torch.dtype = torch.float32,
    arrange: type[Batches] = Batches,
) -> NDArray[np.float32]:  # fmt: skip
    """Each seed's probabilities of every question, (S, Q, labels)."""
    batches = arrange(model, prepared, data)
    device = next(model.parameters()).device
    seeds = len(model.seeds)
    result = np.zeros((seeds, len(data.targets), model.labels), np.float32)
    order = np.argsort(-batches.lengths, kind="stable")
    context = Context(products=products) if products != torch.float32 else EVALUATION
    start = 0
    while start < len(order):
        rows = order[start : start + max(1, _TOKENS // int(batches.lengths[order[start]]))]
        start += len(rows)
        batch = batches.batch(rows[None]).to(device).mapped(lambda tensor: tensor.expand(seeds, *tensor.shape[1:]))
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


class ReaderTrainer(Loop[QuestionBatch]):
    """A run of a reader; with a `pool` it learns from these fixed questions, in place of drawn ones."""

    model: Reader
    arrange: ClassVar[type[Batches]] = Batches  # how texts and questions become batches; a subclass may have another

    def __init__(
        self, config: RunConfig, prepared: PreparedQuestions, model: Reader, device: str = "cpu",
        pool: Questions | None = None,
    ) -> None:  # fmt: skip
        super().__init__(config, model, model.seeds, device)
        self.prepared, self.drawer = prepared, Drawer(config, prepared)
        self.pool = None if pool is None else self.arrange(model, prepared, pool)
        self.ahead: dict[int, Future[Batches]] = {}
        self.texts = len(self.drawer) if pool is None else len(pool)
        self.updates = max(1, self.texts // config.training.batch_size)
        labels = (pool or prepared.train).labels
        counts = np.bincount(labels[labels >= 0], minlength=len(prepared.labels))
        if pool is None:  # silent questions are drawn
            counts[0] = max(counts[0], counts[1:].sum() * 2)
        self.class_weights = torch.from_numpy(class_weights(counts, config.training.class_power)).float().to(device)
        captured = self.device.type == "cuda" and model.capturable
        self.graphs = QuestionGraphs(self.learn_texts, self.draws) if captured else None

    def batches(self) -> Iterator[QuestionBatch]:
        """The next epoch's texts, drawn once for all seeds, in an order of each seed's own."""
        drawn = self.pool or self._epoch(self.progress.epoch)
        orders = [drawn.orders(self.config.training.batch_size, rng) for rng in self.orders]
        return (drawn.batch(np.stack(rows)) for rows in zip(*orders, strict=True))

    def learn(self, batch: QuestionBatch) -> Tensor:
        """One update, replayed as a graph where the GPU has captured one."""
        if self.device.type == "cuda":  # from pinned memory, or the GPU would have to be done with the batch before
            batch = batch.mapped(Tensor.pin_memory).to(self.device)
        return self.learn_texts(batch) if self.graphs is None else self.graphs.learn(batch)

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
        return self.arrange(self.model, self.prepared, self.drawer.epoch(number))

    def score(self) -> list[tuple[Figures, bool]]:
        """Every seed's figures on dev, and whether its answers are finite."""
        held = self.prepared.held[0]
        answers = probabilities_of(self.model, self.prepared, held.data, self.products, self.arrange)
        return [(held_figures(held, self.prepared.labels, own), bool(np.isfinite(own).all())) for own in answers]


def build_reader(
    config: RunConfig, seeds: Sequence[int], data_dir: Path | None
) -> tuple[PreparedQuestions, Reader, bytes]:
    """Read the data and the encoder that a configuration names: questions, a network to train, and its tokeniser."""
    folder = encoder_folder(config.model.encoder, data_dir)
    reader = PieceReader.read(folder / "tokenizer.json")
    prepared = prepare_questions(config, reader, data_dir)
    shape, weights = read_encoder(folder)
    if config.data.max_length > shape.longest:
        raise ConfigError(f"'data.max_length' is {config.data.max_length}; the encoder reads {shape.longest} at once")
    model: Reader = config.system.network_class()(config.model, shape, weights, len(prepared.labels), seeds)
    return prepared, model, (folder / "tokenizer.json").read_bytes()


def write_reader(path: Path, trainer: ReaderTrainer, tokenizer: bytes) -> ModelFolder:
    """Write the model of the seed that is best on dev, calibrated there."""
    config, prepared, progress, shape = trainer.config, trainer.prepared, trainer.progress, trainer.model.shape
    best, held = progress.best_seed(), prepared.held[0]
    trainer.put(trainer.best)
    own = probabilities_of(trainer.model, prepared, held.data)[best]
    labelled = held.gold >= 0
    gold, answers = held.gold[labelled], answers_of(held.data, len(held.gold), own)[labelled]
    calibration = fit_presence_calibration(gold, answers)
    dev = held_figures(held, prepared.labels, np.asarray(calibration.apply(own), np.float64))
    after = calibration.apply(answers)
    errors = {"error_before": calibration_error(gold, answers), "error_after": calibration_error(gold, after)}
    metrics = progress.metrics(config, trainer.seeds, dev) | {"calibration": asdict(calibration) | errors}
    few = len(prepared.aspects) <= 2 * len(EVERYDAY)
    model_config = ModelConfig(
        kind=config.kind,
        model=reader_options(config.model, shape),
        aspects=prepared.aspects if few else EVERYDAY,  # where nobody names any
        labels=prepared.labels,
        targets=_ANY_NUMBER,
        max_length=min(_READ_AT_ONCE, shape.longest),
        tokeniser="word pieces",
        calibration=asdict(calibration),
        implied=prepared.implied,
    )
    selection = f"{config.training.select} on {config.data.dev}, epoch {metrics['epoch']}, seed {metrics['seed']}"
    facts = [
        f"encoder: {Path(config.model.encoder).name}",
        f"learnt from: {', '.join([config.data.name, *config.questions.sets])}",
        f"selected by: {selection}",
    ]
    card = model_card(config, prepared.labels, facts, dev, implied=prepared.implied)
    weights = {name: tensor.detach()[best].cpu().numpy() for name, tensor in trainer.best.items()}
    folder = write_reader_folder(path, model_config, weights, tokenizer, metrics, card)
    export(folder)
    return folder
