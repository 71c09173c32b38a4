"""The paper's model: EntNet whose gate also hears a GRU that remembers when it opened."""

from collections.abc import Sequence
from typing import Final

import torch

from tabsa.models.base import Vocabulary
from tabsa.models.entnet.config import DelayedEntNetConfig
from tabsa.models.entnet.network import EntNet
from tabsa.nn.memory import DelayWeights
from tabsa.nn.seeds import constant, normal, parameter, xavier

_GRU_BIAS: Final = 1.0  # of the GRU's reset and update gates at the start, as in the authors' code


class DelayedEntNet(EntNet):
    """EntNet with delayed memory update."""

    config: DelayedEntNetConfig

    def __init__(self, config: DelayedEntNetConfig, vocabulary: Vocabulary, seeds: Sequence[int]) -> None:
        super().__init__(config, vocabulary, seeds)

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
            inputs=_side_by_side(self.delay_inputs),
            gates=_side_by_side(self.delay_gates),
            new=self.delay_new.flatten(0, 1),
            bias=self.delay_bias.flatten(2, 3).flatten(0, 1),
            vector=self.delay_vector.flatten(0, 1),
        )


def _side_by_side(matrices: torch.Tensor) -> torch.Tensor:
    """(S, directions, m, d, d) -> (S x directions, d, m d)."""
    return matrices.flatten(0, 1).transpose(1, 2).flatten(2, 3)
