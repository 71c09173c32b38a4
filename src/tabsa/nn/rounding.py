"""Quantisation-aware training (Jacob et al., 2018): weights are rounded as they will be stored, and learn."""

from collections.abc import Iterator, Mapping

from torch import Tensor

from tabsa.embeddings.packing import COLUMN_STEPS, NARROW


def fake_quantise(weight: Tensor) -> Tensor:
    """Matrices (S, d, e) as int8 keeps them, each column in steps of its own; gradients go straight through."""
    scale = weight.detach().abs().amax(-2, keepdim=True).clamp(min=1e-6) / COLUMN_STEPS
    return weight + ((weight / scale).round() * scale - weight).detach()


def quantised(weights: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """A layer's weights, those that int8 rounds rounded."""
    for name, weight in weights.items():
        rounds = weight.dim() == 3 and min(weight.shape[1:]) >= NARROW
        yield name, fake_quantise(weight) if rounds else weight
