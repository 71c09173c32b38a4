"""LSTM-Final (Saeidi et al., 2016): a bi-directional LSTM whose two final states answer, one softmax an aspect."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from tabsa.models.base import Answer, Model, Vocabulary
from tabsa.models.lstm.config import LSTMConfig
from tabsa.nn.context import Context
from tabsa.nn.lstm import BiLSTM, LSTMStates, dropout_alike
from tabsa.nn.seeds import constant, dropout, parameter, xavier
from tabsa.nn.targets import live_words, mentions

_FORGET_BIAS: Final = 1.0  # of the forget gate at the start


class LSTMFinal(Model):
    """The sentence is read once for each target, as the authors do it.

    The target asked about is one token, and any other target another, so a reading depends on whose it is: the final
    states would otherwise say the same of all. The vectors of the two tokens are trained, because no word's vector
    means either; they start as those of the first two targets' tokens.
    """

    def __init__(self, config: LSTMConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(vocabulary, seeds)
        self.config = config
        d, starts, aspects = vocabulary.words.shape[1], self.starts(), len(vocabulary.aspects)
        tokens = self.target_vectors[:2]  # a model of one target has no other
        self.marks = parameter(starts, *tokens.shape, init=lambda tensor, _: tensor.copy_(tokens))  # own, other
        self.reader = BiLSTM(
            starts, d, config.units, layers=config.layers, rate=config.output_dropout, forget_bias=_FORGET_BIAS
        )
        self.output = parameter(starts, aspects, 2 * config.units, self.labels, init=xavier)
        self.output_bias = parameter(starts, aspects, self.labels, init=constant(0))

    def forward(self, tokens: Tensor, lengths: Tensor, *, context: Context) -> Answer:
        """Read each sentence for each of its targets, and classify for each aspect."""
        seeds, batch, _ = tokens.shape
        targets, wide = len(self.targets), self.output.shape[2]
        where = mentions(tokens, self.targets)  # (S, B, K, T)
        words = self.marked(tokens, where).flatten(1, 2)  # (S, B x K, T, d)
        words = dropout_alike(words, self.config.input_dropout, context)
        ends = lengths.unsqueeze(2).expand(-1, -1, targets).flatten(1)
        read = self.reader(words, ends, context)
        summary = self.summary(read, where, live_words(tokens, lengths))  # (S, B x K, 2 units)
        summary = dropout(summary, self.config.output_dropout, context, shape=(batch * targets, wide))
        logits = summary @ self.output.transpose(1, 2).flatten(2)  # (S, B x K, A x labels)
        logits = logits.view(seeds, batch, targets, *self.output_bias.shape[1:])
        return Answer(logits + self.output_bias[:, None, None])

    def marked(self, tokens: Tensor, where: Tensor) -> Tensor:
        """The words' vectors with the target asked about, and any other, under their own marks: (S, B, K, T, d)."""
        words = self.words[tokens].unsqueeze(2)  # (S, B, 1, T, d)
        own, other = self.marks[:, 0], self.marks[:, -1]
        others = where.any(2, keepdim=True) & ~where
        words = torch.where(where.unsqueeze(-1), own[:, None, None, None], words)
        return torch.where(others.unsqueeze(-1), other[:, None, None, None], words)

    def summary(self, read: LSTMStates, where: Tensor, live: Tensor) -> Tensor:  # noqa: ARG002
        """What of a reading is classified, (S, B x K, 2 units); `where` (S, B, K, T) its target stands."""
        return read.last
