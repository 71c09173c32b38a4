"""The judge: a decoder and a linear head over a question's last state; its training, its answers, its temperature."""

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from judge.decoder import OUTPUT, Decoder, DecoderConfig
from judge.questions import LABELS, Batch, Item, Trees, batches


class Judge(nn.Module):
    """Answers the questions of a batch of trees: logits (Q, labels)."""

    def __init__(self, config: DecoderConfig, dropout: float = 0.0) -> None:
        super().__init__()
        self.decoder = Decoder(config)
        self.head = nn.Linear(config.size, len(LABELS))
        self.dropout = dropout

    def forward(self, batch: Batch) -> Tensor:
        """Read every tree once, and answer."""
        states = self.decoder(batch.tokens, batch.positions, batch.mask)[batch.rows, batch.columns].float()
        with torch.autocast(states.device.type, enabled=False):
            logits: Tensor = self.head(functional.dropout(states, self.dropout, self.training))
        return logits

    @classmethod
    def of(
        cls,
        config: DecoderConfig,
        arrays: Mapping[str, NDArray[np.floating]],
        answers: Sequence[int],
        device: torch.device | str = "cpu",
    ) -> "Judge":
        """Make one of a decoder's tensors by our names; the rows `answers` of its output matrix start the head."""
        with torch.device(device):
            judge = cls(config)
        with torch.no_grad():
            for name, parameter in judge.decoder.named_parameters():
                parameter.copy_(torch.from_numpy(np.asarray(arrays[name])))
            judge.head.weight.copy_(torch.from_numpy(np.asarray(arrays[OUTPUT][list(answers)])))
            judge.head.bias.zero_()
        return judge


@dataclass(frozen=True, kw_only=True)
class Training:
    """The schedule."""

    epochs: int = 3
    rate: float = 1.5e-5
    head_rate: float = 1.5e-4
    tokens: int = 7000  # an update, with padding
    questions: int = 16  # of a text in an epoch, at most
    warm_up: int = 30  # updates
    label_smoothing: float = 0.0
    r_drop: float = 0.0  # weight of the divergence between two readings with other dropout (Liang et al., 2021)
    weight_decay: float = 0.01
    clip: float = 1.0
    seed: int = 1


def train(
    judge: Judge, items: Sequence[Item], config: Training, on_epoch: Callable[[int, float], None] | None = None
) -> None:
    """Fine-tune all weights: float32 masters, on a GPU with products in bf16."""
    device = next(judge.parameters()).device
    torch.manual_seed(config.seed)
    shuffle = random.Random(config.seed)
    groups = [{"params": judge.decoder.parameters(), "lr": config.rate},
              {"params": judge.head.parameters(), "lr": config.head_rate}]  # fmt: skip
    optimiser = torch.optim.AdamW(
        groups, betas=(0.9, 0.98), weight_decay=config.weight_decay, fused=device.type == "cuda"
    )
    updates = count()
    judge.train()
    for epoch in range(config.epochs):
        trees = Trees([item.sampled(config.questions, shuffle) for item in items])
        order = list(batches(trees.lengths, config.tokens, shuffle))
        losses = []
        for number, places in enumerate(order):
            done = (epoch + number / len(order)) / config.epochs
            factor = min(1.0, (next(updates) + 1) / config.warm_up) * max(0.02, 1 - done)
            for group, rate in zip(optimiser.param_groups, (config.rate, config.head_rate), strict=True):
                group["lr"] = rate * factor
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):  # never bf16 on a CPU
                loss = _loss(judge, trees.batch(places, device), config)
            loss.backward()
            nn.utils.clip_grad_norm_(judge.parameters(), config.clip)
            optimiser.step()
            losses.append(loss.detach())
        mean = float(torch.stack(losses).mean())
        if not math.isfinite(mean):
            raise FloatingPointError(f"the loss is {mean} in epoch {epoch + 1}")
        if on_epoch is not None:
            on_epoch(epoch + 1, mean)


def _loss(judge: Judge, batch: Batch, config: Training) -> Tensor:
    logits = judge(batch)
    loss = functional.cross_entropy(logits, batch.labels, label_smoothing=config.label_smoothing)
    if not config.r_drop:
        return loss
    again = judge(batch)
    loss = 0.5 * (loss + functional.cross_entropy(again, batch.labels, label_smoothing=config.label_smoothing))
    one, other = logits.log_softmax(-1), again.log_softmax(-1)
    both = functional.kl_div(one, other, log_target=True, reduction="batchmean")
    both = both + functional.kl_div(other, one, log_target=True, reduction="batchmean")
    return loss + 0.5 * config.r_drop * both


@torch.no_grad()
def answers(judge: Judge, trees: Trees, tokens: int = 40_000, temperature: float = 1.0) -> NDArray[np.float32]:
    """Return the probabilities of all questions in their order, (questions, labels)."""
    device = next(judge.parameters()).device
    judge.eval()
    logits, numbers = [], []
    for places in batches(trees.lengths, tokens):
        logits.append(judge(trees.batch(places, device)))  # stays on the device, so that nothing waits for it
        numbers.append(trees.questions(places))
    found = np.zeros((len(trees.labels), len(LABELS)), np.float32)
    found[np.concatenate(numbers)] = (torch.cat(logits).float() / temperature).softmax(-1).cpu().numpy()
    return found


def fit_temperature(probabilities: NDArray[np.floating], gold: NDArray[np.integer]) -> float:
    """Return the temperature with the least log loss on dev, by golden-section search over its logarithm."""
    logs = np.log(np.maximum(probabilities, 1e-12))
    rows = np.arange(len(gold))

    def loss(exponent: float) -> float:
        scaled = logs / math.exp(exponent)
        top = scaled.max(1, keepdims=True)
        return float((top[:, 0] + np.log(np.exp(scaled - top).sum(1)) - scaled[rows, gold]).mean())

    low, high, ratio = -2.0, 2.0, (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if loss(left) < loss(right) else (left, high)
    return math.exp((low + high) / 2)
