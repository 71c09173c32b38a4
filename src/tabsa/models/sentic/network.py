"""SenticLSTM (Ma et al., 2018): target and sentence attention over an LSTM that knows concepts."""

from collections.abc import Sequence

import torch
from torch import Tensor

from tabsa.models.base import Answer, Vocabulary
from tabsa.models.lstm.attentive import Attentive
from tabsa.models.sentic.config import SenticLSTMConfig
from tabsa.nn.context import Context
from tabsa.nn.sentic import SenticBiLSTM


class SenticLSTM(Attentive):
    """Attention over the sentic LSTM; a word without a concept has the concept vector 0."""

    config: SenticLSTMConfig
    concept_vectors: Tensor

    def __init__(self, config: SenticLSTMConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(config, vocabulary, seeds)

    def add_reader(self, starts: Sequence[torch.Generator], vocabulary: Vocabulary) -> None:
        """Make the sentic LSTM."""
        if vocabulary.concepts is None:
            raise ValueError("a sentic-lstm needs a vocabulary with concepts")
        self.register_buffer("concept_vectors", vocabulary.concepts, persistent=False)
        size, concept_size = vocabulary.words.shape[1], vocabulary.concepts.shape[1]
        self.reader = SenticBiLSTM(starts, size, concept_size, self.config.units)

    def forward(self, tokens: Tensor, lengths: Tensor, concepts: Tensor | None = None, *, context: Context) -> Answer:
        """Read, attend, classify; `concepts` (S, B, T) are rows of the concept table, none given: no word has one."""
        rows = torch.zeros_like(tokens) if concepts is None else concepts
        states = self.reader(self.marked(tokens, context), self.concept_vectors[rows], lengths)
        return self.answer(tokens, lengths, states, context)
