"""The loop that fine-tunes a reader's question path over texts that were read once (`kept_texts`).

Each seed learns from texts of its own and is judged on others: the folds of a cross-validation are seeds side by side,
and the last seed, which learns from all texts, is kept as it stands when the folds together are at their best.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from tabsa.encoding.answers import PresenceCalibration
from tabsa.encoding.arrays import UNLABELLED
from tabsa.encoding.questions import answers_of
from tabsa.evaluation.metrics import question_metrics
from tabsa.models.base import Answer
from tabsa.models.reader.reader_network import QuestionPath
from tabsa.nn.context import EVALUATION, Context
from tabsa.nn.transformer import padding_mask
from tabsa.training.config import RunConfig
from tabsa.training.kept_texts import KeptTexts
from tabsa.training.loop import Loop, SeedScore, cross_entropy
from tabsa.training.validation import Figures

Rows = NDArray[np.int64]
_POOL: Final = 16  # batches that are sorted by length together
_MOST_ASKED: Final = 24  # questions of a passage in an update: its opinions, and as many silent ones as there is room
_READ_AT_ONCE: Final = 64
_LEAST_GAIN: Final = 0.001  # of the loss, for what is better at all
_FEW: Final = 8  # texts: with so few, two standard errors are asked for


@dataclass(frozen=True)
class KeptBatch:
    """What was read of texts, and what is asked of them; each seed has its own."""

    heard: Tensor  # keys and values of each layer, (layers x 2, S, B, T, d)
    lengths: Tensor  # (S, B)
    targets: Tensor  # the state of each question's target, (S, B, M, d)
    aspects: Tensor  # the vector of its aspect, (S, B, M, d)
    labels: Tensor  # UNLABELLED where there is no question, (S, B, M)

    def to(self, device: torch.device) -> "KeptBatch":
        """The same on a device."""
        tensors = (self.heard, self.lengths, self.targets, self.aspects, self.labels)
        return KeptBatch(*(tensor.to(device) for tensor in tensors))


class KeptReader(QuestionPath):
    """A reader without its encoder: it answers from what was kept."""

    fused = True

    def forward(self, batch: KeptBatch, *, context: Context) -> Answer:
        """Logits (S, B, M, labels)."""
        pairs = list(zip(batch.heard[::2], batch.heard[1::2], strict=True))
        mask = padding_mask(batch.lengths, batch.heard.shape[3])
        question = self.interact(self.ask(batch.targets, batch.aspects), pairs, mask, context)
        return Answer(self.classify(question, context))


@dataclass(frozen=True)
class Fold:
    """What a seed learns from, and what it is judged on; none of the latter for the one that learns from all."""

    learnt: Rows  # passages
    held: Rows


class KeptTrainer(Loop[list[Rows]]):
    """Fine-tunes on kept texts; one seed a fold.

    Args:
        config: the run.
        texts: what was read.
        gold: of every question of the dataset, -1 where it was not asked.
        model: one seed a fold.
        folds: what each learns from.
        calibration: of the model that it starts from; what is learnt, and judged, is what comes behind it.
        device: cpu or cuda.
    """

    def __init__(
        self,
        config: RunConfig,
        texts: KeptTexts,
        gold: NDArray[np.int64],
        model: KeptReader,
        folds: Sequence[Fold],
        calibration: PresenceCalibration,
        device: str = "cpu",
    ) -> None:
        self.kept, self.gold, self.folds, self.calibration = texts, gold, tuple(folds), calibration
        self.examples = np.zeros(len(gold), np.int64)  # that each question is of
        self.examples[texts.questions.numbers] = np.repeat(texts.owners, np.diff(texts.questions.first))
        super().__init__(config, model, model.seeds, device)
        self.model: KeptReader = model
        self.answers = np.zeros((len(gold), model.labels))  # the latest, of the fold that held each question
        for number, scored in enumerate(self.score()):  # training has to be better than what it starts from
            self.progress.best[number] = scored.score
            self.progress.best_figures[number] = scored.figures
        self.start_losses = self.text_losses()

    def reset(self) -> None:
        """Draw from the beginning again, after updates that were only a trial."""
        self.orders = [np.random.default_rng([seed, 0]) for seed in self.seeds]
        self.draws = [torch.Generator(self.device).manual_seed(2**32 + seed) for seed in self.seeds]

    def text_losses(self) -> NDArray[np.float64]:
        """The loss of the latest answers on each text that was held, (texts,)."""
        held = self.gold >= 0
        gold = self.gold[held]
        losses = -np.log(np.maximum(self.answers[held][np.arange(len(gold)), gold], 1e-9))
        owner = self.examples[held]
        return np.asarray(np.bincount(owner, losses)[np.unique(owner)])

    def surely_better(self) -> bool:
        """Whether the best state beats the start on the texts that were held.

        In a cross-validation, where texts are few, by a standard error of the gain over the texts, and by more of them
        the fewer there are: it is an estimate itself.
        """
        self.put(self.best)
        self.score()
        gain = self.start_losses - self.text_losses()
        least = _LEAST_GAIN * float(self.start_losses.mean())
        if len(self.folds) > 1:
            least = max(least, (1 + _FEW / len(gain)) * float(gain.std(ddof=1)) / len(gain) ** 0.5)
        return float(gain.mean()) > least

    @property
    def updates(self) -> int:
        """Updates in an epoch: as many as the fold with the most texts needs."""
        size = self.config.training.batch_size
        return max(-(-len(fold.learnt) // size) for fold in self.folds)

    @property
    def texts(self) -> int:
        """Passages that are learnt from."""
        return max(len(fold.learnt) for fold in self.folds)

    def batches(self) -> Iterator[list[Rows]]:
        """Passages of like length together; a fold with fewer texts than others reads some again."""
        orders = [self._orders(fold.learnt, rng) for fold, rng in zip(self.folds, self.orders, strict=True)]
        return (list(rows) for rows in zip(*orders, strict=True))

    def _orders(self, rows: Rows, rng: np.random.Generator) -> list[Rows]:
        size = min(self.config.training.batch_size, self.texts)
        order = np.concatenate([rng.permutation(rows) for _ in range(-(-self.updates * size // len(rows)))])
        order = order[: self.updates * size]
        batches: list[Rows] = []
        for start in range(0, len(order), size * _POOL):
            pool = order[start : start + size * _POOL]
            pool = pool[np.argsort(-self.kept.lengths[pool], kind="stable")]
            batches += [pool[i : i + size] for i in range(0, len(pool), size)]
        return [batches[n] for n in rng.permutation(len(batches))]

    def losses(self, batch: list[Rows], context: Context) -> tuple[Tensor, Tensor | None]:
        """Each seed's loss on its passages."""
        drawn = [[self._drawn(int(row), rng) for row in rows] for rows, rng in zip(batch, self.orders, strict=True)]
        asked = kept_batch(self.kept, batch, drawn).to(self.device)
        logits = calibrated(self.model(asked, context=context).logits, self.calibration)
        return cross_entropy(logits, asked.labels, None), None

    def _drawn(self, row: int, rng: np.random.Generator) -> Rows:
        """The questions of a passage that are asked in an update."""
        questions = self.kept.questions
        every = np.arange(questions.first[row], questions.first[row + 1])
        if len(every) <= _MOST_ASKED:
            return every
        silent = every[questions.labels[every] <= 0]
        told = every[questions.labels[every] > 0]
        return np.concatenate([told, rng.permutation(silent)[: max(_MOST_ASKED - len(told), len(told))]])

    @torch.no_grad()
    def score(self) -> list[SeedScore]:
        """All folds together: each question is answered by the seed that has not learnt from its text."""
        data = self.kept.questions
        said = np.zeros((len(data.targets), self.model.labels))
        said[:, 0] = 1
        finite = [bool(torch.isfinite(self.model.output[seed]).all()) for seed in range(len(self.folds))]
        for seed, rows, answers in held_answers(self.model, self.kept, self.folds):
            said[rows] = self.calibration.apply(answers)
            finite[seed] &= bool(np.isfinite(answers).all())
        self.answers = answers_of(data, len(self.gold), said)
        held = self.gold >= 0
        gold, answers = self.gold[held], self.answers[held]
        loss = -float(np.log(np.maximum(answers[np.arange(len(gold)), gold], 1e-9)).mean())
        figures: Figures = {"questions": {**question_metrics(gold, answers), "log_loss": loss}}
        return [SeedScore(figures, -loss, one) for one in finite]


def kept_batch(kept: KeptTexts, rows: Sequence[Rows], asked: Sequence[Sequence[Rows]]) -> KeptBatch:
    """The passages `rows`, as many for each seed, with the questions `asked` of each."""
    seeds, texts = len(rows), len(rows[0])
    lengths = np.array([kept.lengths[own] for own in rows])
    most = max(1, *(len(one) for own in asked for one in own))
    layers, d = kept.heard.shape[1:]
    heard = np.zeros((layers, seeds, texts, int(lengths.max()), d), np.float32)
    number = np.zeros((seeds, texts, most), np.int64)
    there = np.zeros((seeds, texts, most), bool)
    for seed in range(seeds):
        for text in range(texts):
            row, own = rows[seed][text], asked[seed][text]
            start, end = kept.starts[row], kept.starts[row + 1]
            heard[:, seed, text, : end - start] = kept.heard[start:end].transpose(1, 0, 2)
            number[seed, text, : len(own)] = own
            there[seed, text, : len(own)] = True
    labels = np.where(there, kept.questions.labels[number], UNLABELLED).astype(np.int64)
    return KeptBatch(
        torch.from_numpy(heard),
        torch.from_numpy(lengths),
        torch.from_numpy(kept.targets[kept.asked[number]]),
        torch.from_numpy(kept.aspects[kept.questions.aspects[number]]),
        torch.from_numpy(labels),
    )


def held_answers(
    model: KeptReader, kept: KeptTexts, folds: Sequence[Fold]
) -> Iterator[tuple[int, Rows, NDArray[np.float64]]]:
    """What each seed says to the questions of the passages it holds: seed, questions, (questions, labels)."""
    orders = [fold.held[np.argsort(-kept.lengths[fold.held], kind="stable")] for fold in folds]
    first, device = kept.questions.first, model.output.device
    for start in range(0, max(map(len, orders)), _READ_AT_ONCE):
        parts = [order[start : start + _READ_AT_ONCE] for order in orders]
        asked = [[np.arange(first[row], first[row + 1]) for row in part] for part in parts]
        width = max(map(len, parts))
        padded = [np.concatenate([part, np.zeros(width - len(part), np.int64)]) for part in parts]
        nothing = np.array([], np.int64)
        texts = kept_batch(kept, padded, [[*own, *[nothing] * (width - len(own))] for own in asked])
        logits = model(texts.to(device), context=EVALUATION).logits.double().softmax(-1).cpu().numpy()
        for seed, own in enumerate(asked):
            if own:
                answers = np.concatenate([said[: len(one)] for said, one in zip(logits[seed], own, strict=False)])
                yield seed, np.concatenate(own), answers


def calibrated(logits: Tensor, calibration: PresenceCalibration) -> Tensor:
    """`PresenceCalibration.apply` on logits, (..., labels): the logarithms of the probabilities behind it."""
    odds = logits[..., 1:].logsumexp(-1) - logits[..., 0]
    odds = odds / calibration.presence_temperature + calibration.presence_bias
    polarities = (logits[..., 1:] / calibration.polarity_temperature).log_softmax(-1)
    there = functional.logsigmoid(odds).unsqueeze(-1)
    return torch.cat([functional.logsigmoid(-odds).unsqueeze(-1), there + polarities], dim=-1)
