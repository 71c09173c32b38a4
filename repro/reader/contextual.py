"""The paper's delayed memory over contextual words: a reader whose states are read by chains, not by attention.

Importing it makes the system `delayed-entnet-contextual` known, as a configuration's `kind`.

Each target has a chain tied to its slot, as in the paper; a further one is for what the text only implies, and there
are free ones. The words are the encoder's states, brought to the memory's size. A question chooses among its target's
chain and the free ones:

    q = W [t; a; t * a]        a: the mean of the rows of the aspect's pieces
    p = softmax over j of k_j . W_att q        u = sum of p_j h_j        y = R tanh(H (W_up u + q))
"""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

import torch
from torch import Tensor

from tabsa.config import option
from tabsa.models.reader.reader_config import ReaderConfig
from tabsa.models.reader.reader_network import QuestionBatch, Reader, Reading, Rows
from tabsa.models.registry import SYSTEMS
from tabsa.nn.attention import mean_over
from tabsa.nn.context import Context, constant, dropout, normal, parameter, xavier
from tabsa.nn.memory import DelayWeights, MemoryCell, MemoryWeights
from tabsa.nn.scan import reverse, scan
from tabsa.nn.transformer import linear

SYSTEMS["delayed-entnet-contextual"] = dataclasses.replace(
    SYSTEMS["reader-large"],
    name="delayed-entnet-contextual",
    about="the paper's delayed memory over an encoder's states, in place of the question layers",
    paper=SYSTEMS["delayed-entnet"].paper,
    config=f"{__name__}:ContextualEntNetConfig",
    network=f"{__name__}:ContextualEntNet",
    graph="",
    engine="",
)
_TIED: Final = 4  # chains tied to slots; targets after these share the chain of what is implied


@dataclass(frozen=True, kw_only=True)
class ContextualEntNetConfig(ReaderConfig):
    """A reader's choices, and those of the memory."""

    late_interaction: int = option(0, "none: the memory reads the encoder's last states", low=0, high=0)
    chains: int = option(4, "free chains of the memory, besides the one tied to the question's target", low=0)
    size: int = option(192, "dimensions of the memory", low=1)
    directions: Literal["both", "forward"] = option("both", "how a text is read")


class ContextualEntNet(Reader):
    """An encoder with the delayed memory."""

    config: ContextualEntNetConfig
    capturable = False
    cell: ClassVar[MemoryCell] = MemoryCell()
    memory: Tensor  # registered by name, one a direction

    def add_head(self, starts: list[torch.Generator], d: int) -> None:
        """The question's weights, and the memory's, one set a direction."""
        self.question = parameter(starts, 3 * d, d, init=xavier)
        self.question_bias = parameter(starts, d, init=constant(0))
        config = self.config
        size, ways = config.size, 2 if config.directions == "both" else 1
        self.down = parameter(starts, d, size, init=xavier)
        self.down_bias = parameter(starts, size, init=constant(0))
        self.keys = parameter(starts, _TIED + 1 + config.chains, size, init=normal(0.1))
        for name in ("memory", "key", "word", "delay_new"):
            self.register_parameter(name, parameter(starts, ways, size, size, init=xavier))
        self.delay_inputs = parameter(starts, ways, size, 3 * size, init=xavier)
        self.delay_gates = parameter(starts, ways, size, 2 * size, init=xavier)
        self.delay_bias = parameter(starts, ways, 3 * size, init=constant(0))
        self.delay_vector = parameter(starts, ways, size, init=normal(0.1))
        self.slope = parameter(starts, ways, size, init=constant(0.25))
        self.attend = parameter(starts, d, size, init=xavier)
        self.up = parameter(starts, size, d, init=xavier)
        self.up_bias = parameter(starts, d, init=constant(0))

    def memories(self, states: Tensor, lengths: Tensor, context: Context) -> Tensor:
        """The chains after reading, both directions summed: (S, B, n, size)."""
        ways = self.memory.shape[1]
        words = linear(states, self.down, self.down_bias).float()  # (S, B, T, size)
        words = dropout(words, self.config.dropout, context, shape=(words.shape[1], 1, words.shape[3]))
        readings = [words, reverse(words, lengths)][:ways]
        spread = lengths.unsqueeze(1).expand(-1, ways, -1).flatten(0, 1)
        keys = self.keys.unsqueeze(1).expand(-1, ways, -1, -1).flatten(0, 1)
        with torch.autocast(words.device.type, enabled=False):
            read = scan(
                self.cell, self.weights(), torch.stack(readings, dim=1).flatten(0, 1), keys, spread,
                path=context.path, gates=False,
            )  # fmt: skip
        return read.memory.view(-1, ways, *read.memory.shape[1:]).sum(1)

    def weights(self) -> MemoryWeights:
        """For G = S x directions groups."""

        def flat(name: str) -> Tensor:
            tensor: Tensor = getattr(self, name)
            return tensor.flatten(0, 1)

        delay = DelayWeights(*(flat(f"delay_{part}") for part in ("inputs", "gates", "new", "bias", "vector")))
        return MemoryWeights(flat("memory"), flat("key"), flat("word"), flat("slope"), delay=delay)

    def answer(self, batch: QuestionBatch, reading: Reading, rows: Rows, context: Context) -> Tensor:
        """What the chains say to each question."""
        memory = self.memories(reading[0], batch.lengths, context)  # (S, B, n, size)
        target, aspects, live = rows[0][..., 0, :], rows[0][..., 1:, :], rows[1][..., 1:]
        aspect = mean_over(aspects.flatten(1, 2), live.flatten(1, 2).unsqueeze(2)).view_as(target)
        question = linear(torch.cat([target, aspect, target * aspect], dim=-1), self.question, self.question_bias)
        query = question.flatten(1, 2) @ self.attend.to(question.dtype)
        scores = (query @ self.keys.transpose(1, 2).to(query.dtype)).view(*question.shape[:3], -1).float()
        slot = torch.where((batch.targets >= 0) & (batch.targets < _TIED), batch.targets, _TIED)
        # A tied chain is its own target's alone.
        chains = torch.arange(self.keys.shape[1], device=scores.device)
        others = (chains < _TIED + 1) & (chains != slot.unsqueeze(-1))
        shares = scores.masked_fill(others, -torch.inf).softmax(-1)  # (S, B, M, n)
        summary = shares @ memory
        return self.classify(linear(summary, self.up, self.up_bias) + question, context)
