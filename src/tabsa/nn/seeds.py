"""Several seeds side by side: every parameter and activation carries a leading dimension S, one entry a seed.

Each seed draws its start and its dropout from its own generators, so that it goes the same way alone and in a group.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from tabsa.nn.context import Context

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


def dropout(x: Tensor, rate: float, context: Context, *, shape: Sequence[int]) -> Tensor:
    """In training, zero entries of `x` (S, ...) with probability `rate` and scale the rest.

    The mask has `shape`, which broadcasts to a seed's part of `x`: a 1 in it shares the mask along that dimension.
    """
    kept = mask(rate, context, shape=shape, device=x.device)
    return x if kept is None else x * kept.to(x.dtype)


def mask(rate: float, context: Context, *, shape: Sequence[int], device: torch.device) -> Tensor | None:
    """What `dropout` multiplies by, (S, *shape); None where nothing is dropped."""
    if not context.training or context.generators is None or rate == 0:
        return None
    keep = 1 - rate
    masks = torch.empty(len(context.generators), *shape, device=device)
    for own, generator in zip(masks, context.generators, strict=True):
        own.bernoulli_(keep, generator=generator)
    return masks.div_(keep)
