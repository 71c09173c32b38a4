"""LSTM+TA+SA (Ma et al., 2018): target and sentence attention over a bi-directional LSTM."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tabsa.models.base import Answer, Vocabulary
from tabsa.models.lstm.attentive import Attentive
from tabsa.models.lstm.config import LSTMTASAConfig
from tabsa.nn.context import Context
from tabsa.nn.lstm import BiLSTM


class LSTMTASA(Attentive):
    """Attention over a plain LSTM."""

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
        )

    def forward(self, tokens: Tensor, lengths: Tensor, *, context: Context) -> Answer:
        """Read, attend, classify."""
        read = self.reader(self.marked(tokens, context), lengths, context)
        return self.answer(tokens, lengths, read.states, context)
