"""The LSTM baselines: LSTM-Final and LSTM-Loc (Saeidi et al., 2016), LSTM+TA+SA and SenticLSTM (Ma et al., 2018)."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from tabsa.models.base import Model, ModelOutput, Vocabulary
from tabsa.models.lstm.lstm_config import LSTMConfig, LSTMTASAConfig, SenticLSTMConfig
from tabsa.nn.attention import live_words, mean_over, mentions, mentions_or_all, sentence_attention, target_attention
from tabsa.nn.context import Context, constant, dropout, normal, parameter, xavier
from tabsa.nn.lstm import BiLSTM, LSTMStates, SenticBiLSTM, dropout_alike

_FORGET_BIAS: Final = 1.0  # of the forget gate at the start, of the first two


class LSTMFinal(Model):
    """A bi-directional LSTM whose two final states answer, one softmax an aspect; one reading a target.

    The sentence is read once for each target, as the authors do it: the target of the question is one token, and any
    other target another, so a reading depends on whose it is. The final states would otherwise say the same of all. The
    vectors of the two tokens are trained, because no word's vector means either; they start as those of the first two
    targets' tokens.
    """

    def __init__(self, config: LSTMConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(vocabulary, seeds)
        self.config = config
        d, starts, aspects = vocabulary.words.shape[1], self.starts(), len(vocabulary.aspects)
        tokens = self.target_vectors[:2]  # a model of one target has no other
        self.marks = parameter(starts, *tokens.shape, init=lambda tensor, _: tensor.copy_(tokens))  # own, other
        self.reader = BiLSTM(starts, d, config.units, forget_bias=_FORGET_BIAS)
        self.output = parameter(starts, aspects, 2 * config.units, self.labels, init=xavier)
        self.output_bias = parameter(starts, aspects, self.labels, init=constant(0))

    def forward(self, tokens: Tensor, lengths: Tensor, *, context: Context) -> ModelOutput:
        """Read each sentence for each of its targets, and classify for each aspect."""
        seeds, batch, _ = tokens.shape
        targets, wide = len(self.targets), self.output.shape[2]
        where = mentions(tokens, self.targets)  # (S, B, K, T)
        words = self.marked(tokens, where).flatten(1, 2)  # (S, B x K, T, d)
        words = dropout_alike(words, self.config.input_dropout, context)
        read = self.reader(words, lengths.unsqueeze(2).expand(-1, -1, targets).flatten(1))
        summary = self.summary(read, where, live_words(tokens, lengths))  # (S, B x K, 2 units)
        summary = dropout(summary, self.config.output_dropout, context, shape=(batch * targets, wide))
        logits = summary @ self.output.transpose(1, 2).flatten(2)  # (S, B x K, A x labels)
        logits = logits.view(seeds, batch, targets, *self.output_bias.shape[1:])
        return ModelOutput(logits + self.output_bias[:, None, None])

    def marked(self, tokens: Tensor, where: Tensor) -> Tensor:
        """Look up the words, the question's target and any other under their own marks: (S, B, K, T, d)."""
        words = self.words[tokens].unsqueeze(2)  # (S, B, 1, T, d)
        own, other = self.marks[:, 0], self.marks[:, -1]
        others = where.any(2, keepdim=True) & ~where
        words = torch.where(where.unsqueeze(-1), own[:, None, None, None], words)
        return torch.where(others.unsqueeze(-1), other[:, None, None, None], words)

    def summary(self, read: LSTMStates, where: Tensor, live: Tensor) -> Tensor:  # noqa: ARG002
        """Choose what of a reading is classified, (S, B x K, 2 units); `where` (S, B, K, T) its target stands."""
        return read.last


class LSTMLoc(LSTMFinal):
    """The mean of the states at the target's mentions; of all states where a sentence does not mention it.

    The state at a mention depends on the target by itself, so one reading a sentence could do. The authors mask the
    target and other locations by different tokens here too, and so does this: one reading a target.
    """

    def summary(self, read: LSTMStates, where: Tensor, live: Tensor) -> Tensor:
        """Take the mean state over the target's mentions: (S, B x K, 2 units)."""
        places = mentions_or_all(where, live).flatten(1, 2).unsqueeze(2)  # (S, B x K, 1, T)
        return mean_over(read.states, places).squeeze(2)


class LSTMTASA(Model):
    """A bi-directional LSTM with attention from the target, then from target and aspect.

    A sentence is read once: all targets are one token to the LSTM, and attention tells them apart by place. That
    token's vector is trained, because no word's vector means it; it starts as that of the first target's token. A
    target that the sentence does not mention attends to all of its words.
    """

    config: LSTMTASAConfig

    def __init__(self, config: LSTMTASAConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(vocabulary, seeds)
        self.config = config
        d, starts, aspects = vocabulary.words.shape[1], self.starts(), len(vocabulary.aspects)
        wide, narrow = 2 * config.units, config.attention
        token = self.target_vectors[0]
        self.mark = parameter(starts, d, init=lambda tensor, _: tensor.copy_(token))
        self.target_attention = parameter(starts, wide, init=normal(wide**-0.5))  # w of TA
        self.from_state = parameter(starts, wide, narrow, init=xavier)  # W1, for h
        self.from_target = parameter(starts, wide, narrow, init=xavier)  # W1, for v
        self.attention_bias = parameter(starts, narrow, init=constant(0))  # b1
        self.from_aspect = parameter(starts, narrow, aspects, init=xavier)  # w_k
        self.output = parameter(starts, wide, self.labels, init=xavier)
        self.output_bias = parameter(starts, self.labels, init=constant(0))
        self.add_reader(starts, vocabulary)

    def add_reader(self, starts: Sequence[torch.Generator], vocabulary: Vocabulary) -> None:
        """Make the LSTM that reads."""
        self.reader: torch.nn.Module = BiLSTM(starts, vocabulary.words.shape[1], self.config.units)

    def forward(self, tokens: Tensor, lengths: Tensor, *, context: Context) -> ModelOutput:
        """Read, attend, classify."""
        return self.answer(tokens, lengths, self.reader(self.marked(tokens, context), lengths).states, context)

    def marked(self, tokens: Tensor, context: Context) -> Tensor:
        """Look up the words, every target under its one mark, after dropout: (S, B, T, d)."""
        is_target = mentions(tokens, self.targets).any(2)
        words = torch.where(is_target.unsqueeze(-1), self.mark[:, None, None], self.words[tokens])
        return dropout_alike(words, self.config.input_dropout, context)

    def answer(self, tokens: Tensor, lengths: Tensor, states: Tensor, context: Context) -> ModelOutput:
        """Answer for every target and aspect from `states` (S, B, T, 2 units); one classifier serves all aspects."""
        states = dropout_alike(states, self.config.output_dropout, context)
        live = live_words(tokens, lengths)
        where = mentions_or_all(mentions(tokens, self.targets), live)
        targets = target_attention(states, self.target_attention, where)  # v, (S, B, K, 2 units)
        weights = {"state": self.from_state, "target": self.from_target}
        weights |= {"bias": self.attention_bias, "aspects": self.from_aspect}
        summary = sentence_attention(states, targets, live, **weights)  # s, (S, B, K, A, 2 units)
        logits = (summary.flatten(1, 3) @ self.output).view(*summary.shape[:4], self.labels)
        return ModelOutput(logits + self.output_bias[:, None, None, None])


class SenticLSTM(LSTMTASA):
    """The same attention over the sentic LSTM; a word without a concept has the concept vector 0."""

    config: SenticLSTMConfig
    concept_vectors: Tensor

    def add_reader(self, starts: Sequence[torch.Generator], vocabulary: Vocabulary) -> None:
        """Make the sentic LSTM."""
        if vocabulary.concepts is None:
            raise ValueError("a sentic-lstm needs a vocabulary with concepts")
        self.register_buffer("concept_vectors", vocabulary.concepts, persistent=False)
        size, concept_size = vocabulary.words.shape[1], vocabulary.concepts.shape[1]
        self.reader = SenticBiLSTM(starts, size, concept_size, self.config.units)

    def forward(self, tokens: Tensor, lengths: Tensor, concepts: Tensor, *, context: Context) -> ModelOutput:  # type: ignore[override]
        """Read, attend, classify; `concepts` (S, B, T) are rows of the concept table."""
        states = self.reader(self.marked(tokens, context), self.concept_vectors[concepts], lengths)
        return self.answer(tokens, lengths, states, context)
