"""The context of a forward pass besides its inputs, and several seeds side by side.

Every parameter and activation carries a leading dimension S, one entry a seed. Each seed draws its start and its
dropout from its own generators, so that it goes the same way alone and in a group.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

ScanPath = Literal["auto", "step", "packed"]


@dataclass(frozen=True, kw_only=True)
class Context:
    """The way that a batch is read: in training, with dropout drawn from `generators`; otherwise without."""

    training: bool = False
    generators: Sequence[torch.Generator] | None = None  # dropout's, one a seed
    products: torch.dtype = torch.float32  # what a reader computes matrix products in on a GPU
    path: ScanPath = "auto"  # of the memory's scan

    def __post_init__(self) -> None:
        if self.training and self.generators is None:
            raise ValueError("training draws dropout from one generator a seed; expected `generators`")

    def check(self, device: torch.device) -> None:
        """Refuse products in bf16 on a CPU: some announce instructions for them that end the process."""
        if self.products != torch.float32 and device.type == "cpu":
            raise ValueError(f"products in {self.products} are a GPU's; expected torch.float32 on a CPU")


EVALUATION = Context()


Init = Callable[[Tensor, torch.Generator], Tensor]


def constant(value: float) -> Init:
    """Fill with one number."""
    return lambda tensor, _: tensor.fill_(value)


def normal(scale: float) -> Init:
    """Draw from a normal distribution with mean 0 and standard deviation `scale`."""
    return lambda tensor, generator: tensor.normal_(0, scale, generator=generator)


def xavier(tensor: Tensor, generator: torch.Generator) -> Tensor:
    """Glorot and Bengio (2010), uniform; the last two dimensions are in and out."""
    bound = (6 / (tensor.shape[-2] + tensor.shape[-1])) ** 0.5
    return tensor.uniform_(-bound, bound, generator=generator)


def parameter(generators: Sequence[torch.Generator], *shape: int, init: Init) -> nn.Parameter:
    """A parameter of shape (S, *shape), each seed's entry drawn from its own generator."""
    return nn.Parameter(torch.stack([init(torch.empty(shape), generator) for generator in generators]))


def side_by_side(matrices: Tensor) -> Tensor:
    """Several matrices as one, for S x directions groups: (S, directions, m, d, e) -> (G, d, m e)."""
    return matrices.flatten(0, 1).transpose(1, 2).flatten(2)


def dropout(x: Tensor, rate: float, context: Context, *, shape: Sequence[int]) -> Tensor:
    """In training, zero entries of `x` (S, ...) with probability `rate` and scale the rest.

    The mask has `shape`, which broadcasts to a seed's part of `x`: a 1 in it shares the mask along that dimension.
    """
    factor = mask(rate, context, shape=shape, device=x.device)
    return x if factor is None else x * factor.to(x.dtype)


def mask(rate: float, context: Context, *, shape: Sequence[int], device: torch.device) -> Tensor | None:
    """Draw what `dropout` multiplies by, (S, *shape); None where nothing is dropped."""
    if not context.training or context.generators is None or rate == 0:
        return None
    keep = 1 - rate
    masks = torch.empty(len(context.generators), *shape, device=device)
    for own, generator in zip(masks, context.generators, strict=True):
        own.bernoulli_(keep, generator=generator)
    return masks.div_(keep)
