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


def project(states: Tensor, weights: Mapping[str, Tensor], first: int = 0, end: int = 3) -> tuple[Tensor, ...]:
    """Compute a layer's queries (0), keys (1) and values (2) of `states` (S, ..., d), those from `first` to `end`."""
    columns = slice(first * states.shape[-1], end * states.shape[-1])
    product = linear(states, weights["qkv"][..., columns], weights["qkv_bias"][..., columns])
    return product.chunk(end - first, dim=-1)


def block(
    states: Tensor, weights: Mapping[str, Tensor], mask: Tensor, *, heads: int, epsilon: float, rate: float,
    context: Context, keys_values: tuple[Tensor, ...] = (),
) -> Tensor:  # fmt: skip
    """One layer over `states` (S, B, T, d), whose keys and values may be there already."""
    query, *own = project(states, weights, 0, 1 if keys_values else 3)
    key, value = keys_values or own
    learnt = attend(query, key, value, mask, heads)
    return after_attention(states, learnt, weights, epsilon, rate, context)


def after_attention(
    states: Tensor, learnt: Tensor, weights: Mapping[str, Tensor], epsilon: float, rate: float, context: Context
) -> Tensor:
    """The rest of a layer, normalised after each of its two halves: x = LN(x + W learnt);  LN(x + W2 gelu(W1 x))."""
    learnt = linear(learnt, weights["out"], weights["out_bias"])
    states = states + dropout(learnt, rate, context, shape=states.shape[1:])
    states = layer_norm(states, weights["norm"], weights["norm_bias"], epsilon)
    inner = functional.gelu(linear(states, weights["inner"], weights["inner_bias"]))
    inner = linear(inner, weights["outer"], weights["outer_bias"])
    states = states + dropout(inner, rate, context, shape=states.shape[1:])
    return layer_norm(states, weights["last_norm"], weights["last_norm_bias"], epsilon)


def fake_quantise(weight: Tensor) -> Tensor:
    """Matrices (S, d, e) as int8 keeps them, each column in steps of its own; gradients go straight through."""
    scale = weight.detach().abs().amax(-2, keepdim=True).clamp(min=1e-6) / COLUMN_STEPS
    return weight + ((weight / scale).round() * scale - weight).detach()


def quantised(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A layer's weights, those that int8 rounds rounded."""
    rounds = {name for name, weight in weights.items() if weight.dim() == 3 and min(weight.shape[1:]) >= NARROW}
    return {name: fake_quantise(weight) if name in rounds else weight for name, weight in weights.items()}
