"""EntNet (Henaff et al., 2017) for TABSA, bi-directional, and the paper's model, whose gate also reads a delay."""

from collections.abc import Sequence
from typing import ClassVar, Final

import torch
from torch import Tensor

from tabsa.errors import ConfigError
from tabsa.models.base import Model, ModelOutput, Vocabulary
from tabsa.models.entnet.entnet_config import EntNetConfig
from tabsa.nn.attention import mentions, neighbours
from tabsa.nn.context import Context, constant, dropout, mask, normal, parameter, side_by_side, xavier
from tabsa.nn.memory import DelayWeights, MemoryCell, MemoryWeights, prelu
from tabsa.nn.scan import reverse, scan

_KEY_SCALE: Final = 0.1  # standard deviation of a free key at the start


class EntNet(Model):
    """Memory chains with gated updates, attention over them from the question, and a two-layer classifier."""

    capturable = True
    cell: ClassVar[MemoryCell] = MemoryCell()  # what reads a word; a subclass may have another

    def __init__(self, config: EntNetConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(vocabulary, seeds)
        self.config = config
        self.tied = 0 if config.keys == "free" else len(self.targets)
        free = config.chains - self.tied
        if free < 0 or (config.keys == "tied" and free > 0):
            need = f"{'exactly' if config.keys == 'tied' else 'at least'} {self.tied}"
            raise ConfigError(f"'model.chains' is {config.chains}; {config.keys} keys need {need}, one a target")
        if config.mention_term and not self.tied:
            raise ConfigError("'model.mention_term' is true; it is for tied chains, and 'model.keys' is \"free\"")
        d, starts = vocabulary.words.shape[1], self.starts()
        ways = 2 if config.directions == "both" else 1
        self.free_keys = parameter(starts, free, d, init=normal(_KEY_SCALE))
        self.memory = parameter(starts, ways, d, d, init=xavier)  # U
        self.key = parameter(starts, ways, d, d, init=xavier)  # V
        self.word = parameter(starts, ways, d, d, init=xavier)  # W
        self.bias = parameter(starts, ways, d, init=constant(0)) if config.candidate_bias else None
        slopes = 1 if config.share_prelu else ways + 1  # the last is the final layer's
        self.slope = parameter(starts, slopes, d, init=constant(config.prelu))
        question = 2 * d if config.attention == "target-aspect" else d
        self.attend = parameter(starts, question, d, init=xavier)  # W_att
        self.hidden = parameter(starts, d, d, init=xavier)  # H
        self.output = parameter(starts, d, self.labels, init=xavier)  # R
        self.mention = parameter(starts, ways, 2, init=constant(0.5)) if config.mention_term else None
        self.add_delay(starts, ways, d)

    def add_delay(self, starts: list[torch.Generator], ways: int, d: int) -> None:
        """Make the delay's weights, in a subclass that has a delay."""

    def delay_weights(self) -> DelayWeights | None:
        """The delay's weights, for all groups; None where the gate has no delay term."""
        return None

    def keys(self) -> Tensor:
        """The keys of all chains, tied ones first: (S, n, d)."""
        tied = self.target_vectors[: self.tied].expand(len(self.free_keys), -1, -1)
        return torch.cat([tied, self.free_keys], dim=1)

    def weights(self) -> MemoryWeights:
        """The memory's weights, for G = S x directions groups."""
        ways = self.memory.shape[1]
        slope = self.slope[:, :1].expand(-1, ways, -1) if self.config.share_prelu else self.slope[:, :ways]
        return MemoryWeights(
            memory=self.memory.flatten(0, 1),
            key=self.key.flatten(0, 1),
            word=self.word.flatten(0, 1),
            slope=slope.flatten(0, 1),
            bias=None if self.bias is None else self.bias.flatten(0, 1),
            delay=self.delay_weights(),
            normalise=self.config.normalise,
        )

    def read(self, tokens: Tensor, lengths: Tensor, context: Context) -> tuple[Tensor, Tensor | None]:
        """Encode sentences once: memories of both directions summed (S, B, n, d), gates (S, directions, B, T, n).

        The gates are for looking at, and left out while training.
        """
        readings = [tokens, reverse(tokens, lengths)] if self.config.directions == "both" else [tokens]
        ways, batch = len(readings), tokens.shape[1]
        shape = (1, batch, self.words.shape[1])  # one for both directions and all words of a sentence
        dropped = mask(self.config.input_dropout, context, shape=shape, device=tokens.device)
        words = self.words[torch.stack(readings, dim=1).flatten(0, 1)]  # (S x directions, B, T, d)
        if dropped is not None:
            words = words * dropped.expand(-1, ways, -1, -1).flatten(0, 1).unsqueeze(2)
        keys = self.keys().unsqueeze(1).expand(-1, ways, -1, -1).flatten(0, 1)
        group_lengths = lengths.unsqueeze(1).expand(-1, ways, -1).flatten(0, 1)
        result = scan(
            self.cell, self.weights(), words, keys, group_lengths,
            nearby=self.nearby(tokens, lengths), path=context.path, gates=not context.training,
        )  # fmt: skip
        memory = result.memory.view(-1, ways, *result.memory.shape[1:]).sum(1)
        if result.gates is None:
            return memory, None
        gates = result.gates.view(-1, ways, *result.gates.shape[1:])
        return memory, self._turned(gates, lengths)

    def _turned(self, values: Tensor, lengths: Tensor) -> Tensor:
        """Turn what belongs to the backward reading, (S, directions, B, T, ...), into the other order."""
        if self.config.directions == "forward":
            return values
        return torch.stack([values[:, 0], reverse(values[:, 1], lengths)], dim=1)

    def nearby(self, tokens: Tensor, lengths: Tensor) -> Tensor | None:
        """The mention term of every gate, in the order of each reading: (S x directions, B, T, n)."""
        if self.mention is None:
            return None
        whose = neighbours(mentions(tokens, self.targets))[..., : self.tied, :].flatten(2, 3)  # (S, B, T x tied, 2)
        term = whose.unsqueeze(1).to(self.mention.dtype) @ self.mention[:, :, None, :, None]
        term = term.view(*term.shape[:3], -1, self.tied)  # (S, directions, B, T, tied)
        term = self._turned(term, lengths)
        free = term.new_zeros(*term.shape[:-1], self.free_keys.shape[1])
        return torch.cat([term, free], dim=-1).flatten(0, 1)

    def forward(self, tokens: Tensor, lengths: Tensor, *, context: Context) -> ModelOutput:
        """Read, attend to the chains for every question, classify."""
        memory, gates = self.read(tokens, lengths, context)
        seeds, batch, _, d = memory.shape
        attention = self.attention()  # (S, K, A, n)
        count, aspects, chains = attention.shape[1:]
        summary = attention.reshape(seeds, 1, count * aspects, chains) @ memory  # u, (S, B, K x A, d)
        hidden = summary.flatten(1, 2) @ self.hidden  # H u
        hidden = hidden.view(seeds, batch, count, aspects, d) + self.aspect_vectors
        hidden = prelu(hidden, self.slope[:, -1, None, None, None])
        hidden = dropout(hidden, self.config.output_dropout, context, shape=(batch, count, aspects, d))
        logits = (hidden.flatten(1, 3) @ self.output).view(seeds, batch, count, aspects, -1)
        return ModelOutput(logits, gates, attention, self.penalty())

    def attention(self) -> Tensor:
        """The share of each chain in each question: softmax over j of k_j . W_att [t; a], (S, K, A, n).

        Keys, targets and aspects are the same for every sentence, so one small table serves them all.
        """
        targets = self.target_vectors.unsqueeze(1).expand(-1, len(self.aspect_vectors), -1)  # (K, A, d)
        question = targets
        if self.config.attention == "target-aspect":
            question = torch.cat([targets, self.aspect_vectors.expand_as(targets)], dim=-1)
        query = question.flatten(0, 1) @ self.attend  # (S, K x A, d)
        scores = self.config.attention_scale * (query @ self.keys().transpose(1, 2))
        return scores.softmax(-1).view(len(scores), *targets.shape[:2], -1)

    def penalty(self) -> Tensor:
        """The L2 penalty on R, for each seed."""
        squared = self.output.square().sum((1, 2))
        return self.config.l2 * (0.5 * squared if self.config.l2_form == "squared" else squared.clamp(min=1e-12).sqrt())


_GRU_BIAS: Final = 1.0  # of the GRU's reset and update gates at the start, as in the authors' code


class DelayedEntNet(EntNet):
    """EntNet with delayed memory update."""

    def add_delay(self, starts: list[torch.Generator], ways: int, d: int) -> None:
        """Make the GRU (eq. 3) and v (eq. 1)."""
        self.delay_inputs = parameter(starts, ways, 3, d, d, init=xavier)  # candidate -> reset, update, new
        self.delay_gates = parameter(starts, ways, 2, d, d, init=xavier)  # delay -> reset, update
        self.delay_new = parameter(starts, ways, d, d, init=xavier)  # reset * delay -> new
        self.delay_bias = parameter(starts, ways, 3, d, init=constant(_GRU_BIAS))
        with torch.no_grad():
            self.delay_bias[:, :, 2] = 0
        self.delay_vector = parameter(starts, ways, d, init=normal(d**-0.5))  # v

    def delay_weights(self) -> DelayWeights:
        """The delay's weights, its gates side by side in one matrix."""
        return DelayWeights(
            inputs=side_by_side(self.delay_inputs),
            gates=side_by_side(self.delay_gates),
            new=self.delay_new.flatten(0, 1),
            bias=self.delay_bias.flatten(2, 3).flatten(0, 1),
            vector=self.delay_vector.flatten(0, 1),
        )
