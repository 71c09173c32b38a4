"""What the two systems of Ma et al. (2018) share: attention from the target, then from target and aspect."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tabsa.models.base import Answer, Model, Vocabulary
from tabsa.models.lstm.config import AttentiveConfig
from tabsa.nn.attention import SentenceWeights, sentence_attention, target_attention
from tabsa.nn.context import Context
from tabsa.nn.lstm import dropout_alike
from tabsa.nn.seeds import constant, normal, parameter, xavier
from tabsa.nn.targets import live_words, mentions, mentions_or_all


class Attentive(Model):
    """A sentence is read once: all targets are one token to the LSTM, and attention tells them apart by place.

    That token's vector is trained, because no word's vector means it; it starts as that of the first target's token.
    A target that the sentence does not mention attends to all of its words.
    """

    config: AttentiveConfig

    def __init__(self, config: AttentiveConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
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
        """Where a system makes the LSTM that reads."""
        raise NotImplementedError

    def marked(self, tokens: Tensor, context: Context) -> Tensor:
        """The words' vectors, every target under its one mark, after dropout: (S, B, T, d)."""
        is_target = mentions(tokens, self.targets).any(2)
        words = torch.where(is_target.unsqueeze(-1), self.mark[:, None, None], self.words[tokens])
        return dropout_alike(words, self.config.input_dropout, context)

    def answer(self, tokens: Tensor, lengths: Tensor, states: Tensor, context: Context) -> Answer:
        """What `states` (S, B, T, 2 units) say of every target and aspect; one classifier serves all aspects."""
        states = dropout_alike(states, self.config.output_dropout, context)
        live = live_words(tokens, lengths)
        where = mentions_or_all(mentions(tokens, self.targets), live)
        targets = target_attention(states, self.target_attention, where)  # v, (S, B, K, 2 units)
        weights = SentenceWeights(self.from_state, self.from_target, self.attention_bias, self.from_aspect)
        summary = sentence_attention(weights, states, targets, live)  # s, (S, B, K, A, 2 units)
        logits = (summary.flatten(1, 3) @ self.output).view(*summary.shape[:4], self.labels)
        return Answer(logits + self.output_bias[:, None, None, None])
