"""SenticLSTM (Ma et al., 2018): target and sentence attention over an LSTM that knows concepts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from tabsa.config import option
from tabsa.layers.sentic import SenticBiLSTM
from tabsa.models.attentive import Attentive, AttentiveConfig
from tabsa.models.base import Answer, Vocabulary


@dataclass(frozen=True, kw_only=True)
class SenticLSTMConfig(AttentiveConfig):
    """The attention's choices, and those of the concepts.

    The authors' concept vectors were never released, so a result depends on `concepts`: name it beside the figures.
    """

    forget_bias: float = option(-1.0, "the bias of the forget gate at the start")
    concepts: str = option("", "a table of concepts, below a data folder or anywhere; empty: the package's lexicon")
    related: bool = option(False, "append to a concept's vector the mean word vector of its related concepts")


class SenticLSTM(Attentive):
    """Attention over the sentic LSTM; a word without a concept has the concept vector 0."""

    name: ClassVar[str] = "sentic-lstm"
    inputs: ClassVar[tuple[str, ...]] = ("tokens", "lengths", "concepts")
    config_class = SenticLSTMConfig
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
        self.reader = SenticBiLSTM(starts, size, concept_size, self.config.units, forget_bias=self.config.forget_bias)

    def forward(self, tokens: Tensor, lengths: Tensor, concepts: Tensor | None = None) -> Answer:
        """Read, attend, classify; `concepts` (S, B, T) are rows of the concept table, none given: no word has one."""
        rows = torch.zeros_like(tokens) if concepts is None else concepts
        states = self.reader(self.marked(tokens), self.concept_vectors[rows], lengths)
        return self.answer(tokens, lengths, states)
