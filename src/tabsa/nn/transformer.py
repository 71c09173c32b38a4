"""A transformer encoder (Vaswani et al., 2017) as BERT and MPNet have it, for several seeds side by side.

Shapes at line ends use S seeds, B texts, T word pieces, d dimensions of a state, h heads.
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from tabsa.embeddings.packing import COLUMN_STEPS, NARROW
from tabsa.nn.context import Context, dropout


def linear(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """`x` (S, ..., d) by `weight` (S, d, e), plus `bias` (S, e): (S, ..., e)."""
    product = torch.baddbmm(bias.unsqueeze(1), x.flatten(1, -2), weight)
    return product.view(*x.shape[:-1], weight.shape[-1])


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """Normalise each state of `x` (S, ..., d), then scale and move it by `weight` and `bias` (S, d)."""
    if len(weight) == 1:  # one kernel instead of three
        return functional.layer_norm(x, weight.shape[1:], weight[0], bias[0], epsilon)
    between = [1] * (x.dim() - 2)
    normal = functional.layer_norm(x, weight.shape[1:], eps=epsilon)
    return normal * weight.view(len(weight), *between, -1) + bias.view(len(bias), *between, -1)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, heads: int) -> Tensor:
    """Attention of h heads: `query` (S, B, Q, d) over `key` and `value` (S, B, T, d); (S, B, Q, d).

    softmax(q . k / sqrt(d / h) + mask) v in each head; `mask` broadcasts to (S, B, h, Q, T).
    """

    def split(x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], heads, -1).transpose(2, 3).flatten(0, 1)  # (S x B, h, ., d / h)

    flat = mask.expand(*query.shape[:2], *mask.shape[2:]).flatten(0, 1)
    result = functional.scaled_dot_product_attention(
        split(query), split(key), split(value), flat.to(query.dtype).expand(-1, heads, query.shape[2], -1)
    )
    return result.view(*query.shape[:2], *result.shape[1:]).transpose(2, 3).flatten(3)


def padding_mask(lengths: Tensor, longest: int) -> Tensor:
    """Make what is added to scores so that nothing after a text's end is attended to, (S, B, 1, 1, T)."""
    live = torch.arange(longest, device=lengths.device) < lengths.unsqueeze(-1)
    return torch.zeros(live.shape, device=lengths.device).masked_fill(~live, -torch.inf)[:, :, None, None]


def keys_values(states: Tensor, weights: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Compute a layer's keys and values of `states` (S, B, T, d)."""
    d = states.shape[-1]
    key, value = linear(states, weights["qkv"][..., d:], weights["qkv_bias"][..., d:]).chunk(2, dim=-1)
    return key, value


def block(
    states: Tensor, weights: Mapping[str, Tensor], mask: Tensor, *, heads: int, epsilon: float, rate: float,
    context: Context, keys_values: tuple[Tensor, Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """One layer over `states` (S, B, T, d), normalised after each of its two halves.

    x = LN(x + attention(x));  LN(x + W2 gelu(W1 x))

    With `keys_values` that are there already, or are others', attention is to these alone.
    """
    shape, d = states.shape[1:], states.shape[-1]
    if keys_values is None:
        query, key, value = linear(states, weights["qkv"], weights["qkv_bias"]).chunk(3, dim=-1)
    else:
        query = linear(states, weights["qkv"][..., :d], weights["qkv_bias"][..., :d])
        key, value = keys_values
    learnt = linear(attend(query, key, value, mask, heads), weights["out"], weights["out_bias"])
    states = states + dropout(learnt, rate, context, shape=shape)
    states = layer_norm(states, weights["norm"], weights["norm_bias"], epsilon)
    inner = functional.gelu(linear(states, weights["inner"], weights["inner_bias"]))
    inner = linear(inner, weights["outer"], weights["outer_bias"])
    states = states + dropout(inner, rate, context, shape=shape)
    return layer_norm(states, weights["last_norm"], weights["last_norm_bias"], epsilon)


def fake_quantise(weight: Tensor) -> Tensor:
    """Matrices (S, d, e) as int8 keeps them, each column in steps of its own; gradients go straight through."""
    scale = weight.detach().abs().amax(-2, keepdim=True).clamp(min=1e-6) / COLUMN_STEPS
    return weight + ((weight / scale).round() * scale - weight).detach()


def quantised(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A layer's weights, those that int8 rounds rounded."""
    rounds = {name for name, weight in weights.items() if weight.dim() == 3 and min(weight.shape[1:]) >= NARROW}
    return {name: fake_quantise(weight) if name in rounds else weight for name, weight in weights.items()}
