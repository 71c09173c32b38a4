"""Fine-tuning with the encoder frozen: texts are read once by onnxruntime, and the question path learns from that.

A text's keys and values do not depend on questions, nor on what is learnt of these, so an epoch costs only questions.
Each seed learns from texts of its own and is judged on others: the folds of a cross-validation are seeds side by side,
and the last seed, which learns from all texts, is saved as it stands when the folds together are at their best.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tabsa.encoding.answers import PresenceCalibration, among_labels
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.pieces import PiecePassage
from tabsa.encoding.questions import AspectTable, Questions, answers_of, encode_questions
from tabsa.errors import DataError
from tabsa.evaluation.metrics import question_metrics
from tabsa.models.base import ModelOutput
from tabsa.models.reader.reader_engine import ReaderEngine
from tabsa.models.reader.reader_network import QuestionPath
from tabsa.nn.context import EVALUATION, Context
from tabsa.nn.transformer import padding_mask
from tabsa.schema import Dataset
from tabsa.training.loop import Figures, Loop, length_batches
from tabsa.training.run_config import RunConfig

Rows = NDArray[np.int64]
_IN_MEMORY: Final = 2**31  # bytes; more lies in a file
_READ_AT_ONCE: Final = 4096  # passages, by onnxruntime
_ANSWERED_AT_ONCE: Final = 64
_MOST_QUESTIONS: Final = 12  # of a passage in an update: its opinions, and silent ones that stand for all others
_LEAST_GAIN: Final = 0.001  # of the loss, for what is better at all
_FEW: Final = 8  # texts: with so few, the gain must be two standard errors


@dataclass(frozen=True)
class CachedFeatures:
    """An encoder's features of N passages with P word pieces, and their Q questions."""

    questions: Questions
    keys_values: NDArray[np.float16]  # of each layer, of all passages behind each other, (P, layers x 2, d)
    starts: Rows  # where each passage's begin, and the end, (N + 1,)
    targets: NDArray[np.float32]  # the states of all passages' targets, (G, d)
    target_rows: Rows  # the row in `targets` of each question's, (Q,)
    aspects: NDArray[np.float32]  # the states of each aspect's pieces, (A, L, d)
    aspect_lengths: Rows  # (A,)
    owners: Rows  # the example that each passage is of, (N,)

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def lengths(self) -> Rows:
        """Pieces of each passage, with the two around it."""
        return np.diff(self.starts)


def cache_features(
    engine: ReaderEngine,
    dataset: Dataset,
    labels: Sequence[str],
    *,
    folder: Path | None = None,
    on_read: Callable[[float], None] = lambda _: None,
) -> CachedFeatures:
    """Read a dataset's texts once; features that are too much for memory go to a temporary file in `folder`."""
    table, longest = AspectTable(engine.pieces), engine.folder.config.max_length
    questions = encode_questions(dataset, engine.pieces, table, labels, longest=longest)
    if not len(questions.targets):
        raise DataError(f"{dataset.name}: nothing is asked of its texts; expected targets and aspects to ask about")
    passages: list[PiecePassage] = []
    owners: list[int] = []
    for number, example in enumerate(dataset.examples):
        # Not in windows: nobody knows which of a long text's windows carries its label.
        cut = list(engine.pieces.cut(example.text, example.targets, longest=longest))
        passages += cut
        owners += [number] * len(cut)
    starts = np.cumsum([0, *(len(passage.pieces) + 2 for passage in passages)], dtype=np.int64)
    first = np.cumsum([0, *(len(passage.targets) for passage in passages)], dtype=np.int64)
    size = engine.shape.encoder.size
    keys_values = _room((int(starts[-1]), len(engine.shape.keys_values), size), folder)
    targets = np.empty((int(first[-1]), size), np.float32)
    for start in range(0, len(passages), _READ_AT_ONCE):
        for done, (number, features) in enumerate(engine.features(passages[start : start + _READ_AT_ONCE]), 1):
            row = start + number
            keys_values[starts[row] : starts[row + 1]] = features.keys_values.transpose(1, 0, 2)
            targets[first[row] : first[row + 1]] = features.targets
            on_read((start + done) / len(passages))
    # Every target of a passage has the same aspects, one target after another.
    each = np.diff(questions.first) // np.maximum(1, np.diff(first))
    target_rows = np.repeat(np.arange(first[-1]), np.repeat(each, np.diff(first)))
    states = engine.aspect_states(tuple(table.rows))
    widths = np.array([len(own) for own in states])
    aspects = np.stack([np.pad(own, ((0, widths.max() - len(own)), (0, 0))) for own in states])
    return CachedFeatures(questions, keys_values, starts, targets, target_rows, aspects, widths, np.array(owners))


def _room(shape: tuple[int, ...], folder: Path | None) -> NDArray[np.float16]:
    if folder is None or 2 * math.prod(shape) <= _IN_MEMORY:
        return np.empty(shape, np.float16)
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryFile(dir=folder) as file:  # gone with the last reference to the array
        mapped: NDArray[np.float16] = np.memmap(file, np.float16, "w+", shape=shape)
    return mapped


class FeatureBatch(NamedTuple):
    """Features of texts, and their questions; each seed has its own."""

    keys_values: Tensor  # of each layer, (layers x 2, S, B, T, d)
    lengths: Tensor  # (S, B)
    targets: Tensor  # the state of each question's target, (S, B, M, d)
    aspects: Tensor  # the states of its aspect's pieces, (S, B, M, L, d)
    aspect_lengths: Tensor  # (S, B, M)
    labels: Tensor  # UNLABELLED where there is no question, (S, B, M)
    weights: Tensor  # how many questions of its text each stands for, (S, B, M)


class FrozenEncoderReader(QuestionPath):
    """A reader without its encoder: it answers from cached features."""

    fused = True

    def forward(self, batch: FeatureBatch, *, context: Context) -> ModelOutput:
        """Logits (S, B, M, labels)."""
        pairs = list(zip(batch.keys_values[::2], batch.keys_values[1::2], strict=True))
        mask = padding_mask(batch.lengths, batch.keys_values.shape[3])
        rows = self.rows(batch.targets, batch.aspects, batch.aspect_lengths)
        return ModelOutput(self.classify(self.interact(rows, pairs, mask, context, packed=True), context))


class Fold(NamedTuple):
    """The passages that a seed learns from, and those it is judged on; none for the seed that learns from all."""

    learnt: Rows
    held: Rows


def folds_of(features: CachedFeatures, numbers: Sequence[int], *, crossed: bool) -> list[Fold]:
    """The folds of texts, given the number of the one that holds each; `crossed`, one more learns from all."""
    part, every = np.array(numbers, np.int64)[features.owners], np.arange(len(features))
    folds = [Fold(every[part != number], every[part == number]) for number in range(max(numbers) + 1)]
    folds = [fold for fold in folds if len(fold.held) and len(fold.learnt)]
    if not folds:
        raise DataError("no text is left to learn from, or none to judge by")
    return [*folds, Fold(every, np.arange(0))] if crossed else folds


class FrozenEncoderTrainer(Loop[list[Rows]]):
    """Fine-tunes on cached features; one seed a fold.

    `gold` is of every question of the dataset, -1 where no fold holds its text. `calibration` is that of the model that
    it starts from: what is learnt, and judged, is what comes behind it. Figures are, as a report's are, of answers that
    have only labels that are `present` in the data, of all `labels`; without these, of the answers as they are.
    """

    model: FrozenEncoderReader

    def __init__(
        self, config: RunConfig, features: CachedFeatures, gold: Rows, model: FrozenEncoderReader,
        folds: Sequence[Fold], calibration: PresenceCalibration, device: str = "cpu", labels: tuple[str, ...] = (),
        present: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.labels, self.present = labels, present
        self.features, self.gold, self.folds, self.calibration = features, gold, tuple(folds), calibration
        self.texts = max(len(fold.learnt) for fold in folds)
        self.updates = -(-self.texts // config.training.batch_size)
        self.examples = np.zeros(len(gold), np.int64)  # that each question is of
        self.examples[features.questions.numbers] = np.repeat(features.owners, np.diff(features.questions.first))
        super().__init__(config, model, model.seeds, device)
        self.answers = np.zeros((len(gold), model.labels))  # the latest, of the fold that held each question
        self.must_improve()
        self.start_losses = self._text_losses()

    def _text_losses(self) -> NDArray[np.float64]:
        """The loss of the latest answers on each text that was held, (texts,)."""
        held = self.gold >= 0
        owner = self.examples[held]
        return np.asarray(np.bincount(owner, _losses(self.gold[held], self.answers[held]))[np.unique(owner)])

    def surely_better(self) -> bool:
        """Compare the best state with the start on the texts that were held.

        In a cross-validation it must be better by a standard error of the gain, or more, the fewer texts there are.
        """
        self.put(self.best)
        self.score()
        gain = self.start_losses - self._text_losses()
        least = _LEAST_GAIN * float(self.start_losses.mean())
        if len(self.folds) > 1:
            least = max(least, (1 + _FEW / len(gain)) * float(gain.std(ddof=1)) / len(gain) ** 0.5)
        return float(gain.mean()) > least

    def batches(self) -> Iterator[list[Rows]]:
        """Passages of like length together; a fold with fewer texts than others reads some again."""
        orders = [self._orders(fold.learnt, rng) for fold, rng in zip(self.folds, self.orders, strict=True)]
        return (list(rows) for rows in zip(*orders, strict=True))

    def _orders(self, rows: Rows, rng: np.random.Generator) -> list[Rows]:
        size = min(self.config.training.batch_size, self.texts)
        order = np.concatenate([rng.permutation(rows) for _ in range(-(-self.updates * size // len(rows)))])
        batches = length_batches(self.features.lengths, order[: self.updates * size], size)
        return [batches[n] for n in rng.permutation(len(batches))]

    def learn(self, batch: list[Rows]) -> Tensor:
        """One update of each seed on its passages."""
        drawn = [[self._drawn(int(row), rng) for row in rows] for rows, rng in zip(batch, self.orders, strict=True)]
        texts = feature_batch(self.features, batch, drawn, self.device)
        logits = calibrated(self.model(texts, context=self.context()).logits, self.calibration)
        each = functional.cross_entropy(logits.movedim(-1, 1), texts.labels, ignore_index=UNLABELLED, reduction="none")
        return self.step((each * texts.weights).flatten(1).sum(1) / texts.weights.flatten(1).sum(1).clamp(min=1))

    def _drawn(self, row: int, rng: np.random.Generator) -> Rows:
        """The questions of a passage in an update."""
        questions = self.features.questions
        every = np.arange(questions.first[row], questions.first[row + 1])
        if len(every) <= _MOST_QUESTIONS:
            return every
        silent, opinions = every[questions.labels[every] <= 0], every[questions.labels[every] > 0]
        room = max(_MOST_QUESTIONS - len(opinions), len(opinions))
        return np.concatenate([opinions, rng.permutation(silent)[:room]])

    @torch.no_grad()
    def score(self) -> list[tuple[Figures, bool]]:
        """The figures of all folds, by the seeds that have not learnt the texts, and whether a seed's are finite."""
        data = self.features.questions
        encoded = np.zeros((len(data.targets), self.model.labels))
        encoded[:, 0] = 1
        finite = [bool(torch.isfinite(self.model.output[seed]).all()) for seed in range(len(self.folds))]
        for seed, rows, answers in held_answers(self.model, self.features, self.folds):
            encoded[rows] = self.calibration.apply(answers)
            finite[seed] &= bool(np.isfinite(answers).all())
        self.answers = answers_of(data, len(self.gold), encoded)
        held = self.gold >= 0
        loss = float(_losses(self.gold[held], self.answers[held]).mean())
        shown = among_labels(self.answers[held], self.labels, self.present) if self.labels else self.answers[held]
        metrics = question_metrics(self.gold[held], shown)
        figures: Figures = {"questions": {**metrics, "log_loss": loss}}
        return [(figures, one) for one in finite]


def _losses(gold: Rows, answers: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-np.log(np.maximum(answers[np.arange(len(gold)), gold], 1e-9)))


def feature_batch(
    features: CachedFeatures, rows: Sequence[Rows], questions: Sequence[Sequence[Rows]], device: torch.device
) -> FeatureBatch:
    """The passages `rows`, as many for each seed, with the numbers of each one's `questions`."""
    seeds, texts = len(rows), len(rows[0])
    lengths = np.array([features.lengths[own] for own in rows])
    most = max(1, *(len(one) for own in questions for one in own))
    layers, d = features.keys_values.shape[1:]
    keys_values = np.zeros((layers, seeds, texts, int(lengths.max()), d), np.float32)
    number = np.full((seeds, texts, most), -1)
    for seed, text in np.ndindex(seeds, texts):
        row, own = rows[seed][text], questions[seed][text]
        start, end = features.starts[row], features.starts[row + 1]
        keys_values[:, seed, text, : end - start] = features.keys_values[start:end].transpose(1, 0, 2)
        number[seed, text, : len(own)] = own
    there = number >= 0
    labels = np.where(there, features.questions.labels[number], UNLABELLED).astype(np.int64)
    targets = features.targets[features.target_rows[number]]
    chosen = features.questions.aspects[number]
    widths = features.aspect_lengths[chosen] * there
    opinions = (labels > 0).sum(-1)  # all of a text are there; of the others some, where there are many
    others = np.diff(features.questions.first)[np.stack(rows)] - opinions
    share = np.maximum(1, others) / np.maximum(1, there.sum(-1) - opinions)
    weights = np.where(labels > 0, 1, share[..., None]).astype(np.float32) * (labels != UNLABELLED)
    arrays = keys_values, lengths, targets, features.aspects[:, : widths.max()][chosen], widths, labels, weights
    return FeatureBatch(*(torch.from_numpy(one).to(device) for one in arrays))


def held_answers(
    model: FrozenEncoderReader, features: CachedFeatures, folds: Sequence[Fold]
) -> Iterator[tuple[int, Rows, NDArray[np.float64]]]:
    """Each seed's answers to the questions of the passages it holds: seed, questions, (questions, labels)."""
    orders = [fold.held[np.argsort(-features.lengths[fold.held], kind="stable")] for fold in folds]
    first = features.questions.first
    for start in range(0, max(map(len, orders)), _ANSWERED_AT_ONCE):
        parts = [order[start : start + _ANSWERED_AT_ONCE] for order in orders]
        questions = [[np.arange(first[row], first[row + 1]) for row in part] for part in parts]
        width = max(map(len, parts))
        padded = [np.pad(part, (0, width - len(part))) for part in parts]
        filled = [[*own, *[np.arange(0)] * (width - len(own))] for own in questions]
        texts = feature_batch(features, padded, filled, model.output.device)
        answers = model(texts, context=EVALUATION).logits.double().softmax(-1).cpu().numpy()
        for seed, own in enumerate(questions):
            if own:
                found = [of_text[: len(one)] for of_text, one in zip(answers[seed], own, strict=False)]
                yield seed, np.concatenate(own), np.concatenate(found)


def calibrated(logits: Tensor, calibration: PresenceCalibration) -> Tensor:
    """`PresenceCalibration.apply` on logits, (..., labels): the logarithms of the probabilities behind it."""
    odds = logits[..., 1:].logsumexp(-1) - logits[..., 0]
    odds = odds / calibration.presence_temperature + calibration.presence_bias
    polarities = (logits[..., 1:] / calibration.polarity_temperature).log_softmax(-1)
    there = functional.logsigmoid(odds).unsqueeze(-1)
    return torch.cat([functional.logsigmoid(-odds).unsqueeze(-1), there + polarities], dim=-1)
