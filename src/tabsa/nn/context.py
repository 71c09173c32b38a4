"""What a forward pass depends on besides its inputs, handed to it as an argument: nothing is left lying on a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch

ScanPath = Literal["auto", "step", "packed", "fused"]


@dataclass(frozen=True, kw_only=True)
class Context:
    """How a batch is read: in training, with dropout drawn from `generators`; otherwise without.

    Raises:
        ValueError: training without generators, which would mean no dropout, or bf16 products on a CPU (`check`).
    """

    training: bool = False
    generators: Sequence[torch.Generator] | None = None  # dropout's, one a seed
    live: tuple[int, ...] | None = None  # sentences, from the first, that each step must read, where known (`nn.scan`)
    products: torch.dtype = torch.float32  # what a fast path computes matrix products in; states and sums are float32
    path: ScanPath = "auto"  # of the memory's scan

    def __post_init__(self) -> None:
        if self.training and self.generators is None:
            raise ValueError("training draws dropout from one generator a seed; expected `generators`")

    def check(self, device: torch.device) -> None:
        """Refuse products in bf16 on a CPU: some announce instructions for them that end the process."""
        if self.products != torch.float32 and device.type == "cpu":
            raise ValueError(f"products in {self.products} are a GPU's; expected torch.float32 on a CPU")


EVALUATION = Context()
