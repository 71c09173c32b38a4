"""LSTM+TA+SA (Ma et al., 2018): target and sentence attention over a bi-directional LSTM."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from tabsa.config import option
from tabsa.layers.lstm import BiLSTM
from tabsa.models.attentive import Attentive, AttentiveConfig
from tabsa.models.base import Answer, Vocabulary


@dataclass(frozen=True, kw_only=True)
class LSTMTASAConfig(AttentiveConfig):
    """The attention's choices, and those of the LSTM."""

    layers: int = option(1, "LSTM layers, one upon the other", low=1)
    forget_bias: float = option(0.0, "the bias of the forget gate at the start")


class LSTMTASA(Attentive):
    """Attention over a plain LSTM."""

    name: ClassVar[str] = "lstm-ta-sa"
    config_class = LSTMTASAConfig
    config: LSTMTASAConfig

    def __init__(self, config: LSTMTASAConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(config, vocabulary, seeds)

    def add_reader(self, starts: Sequence[torch.Generator], vocabulary: Vocabulary) -> None:
        """Make the LSTM."""
        config = self.config
        self.reader = BiLSTM(
            starts,
            vocabulary.words.shape[1],
            config.units,
            layers=config.layers,
            rate=config.output_dropout,
            forget_bias=config.forget_bias,
        )

    def forward(self, tokens: Tensor, lengths: Tensor) -> Answer:
        """Read, attend, classify."""
        read = self.reader(self.marked(tokens), lengths, self.generators)
        return self.answer(tokens, lengths, read.states)
