"""A decoder of the Qwen2 family in plain PyTorch; the mask is the caller's, so a text is read once for all questions.

B sequences, T tokens, H heads with K for keys and values, c numbers a head, d the size of a state.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, kw_only=True)
class DecoderConfig:
    """Sizes; the defaults are those of Qwen2.5-Coder-1.5B, but for its vocabulary, which is cut to what occurs."""

    vocabulary: int
    layers: int = 28
    size: int = 1536
    inner: int = 8960
    heads: int = 12
    kv_heads: int = 2
    rope_base: float = 1e6
    epsilon: float = 1e-6


class RMSNorm(nn.Module):
    """Root mean square normalisation (Zhang and Sennrich, 2019)."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight, self.epsilon = nn.Parameter(torch.ones(size)), epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Normalise the last dimension."""
        return functional.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.epsilon)


class Block(nn.Module):
    """Grouped-query attention and a SwiGLU feed-forward network, each behind a norm and added to the stream."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config, self.width = config, config.size // config.heads
        d, kv = config.size, config.kv_heads * self.width
        self.attention_norm, self.feed_norm = RMSNorm(d, config.epsilon), RMSNorm(d, config.epsilon)
        self.query, self.key, self.value = nn.Linear(d, d), nn.Linear(d, kv), nn.Linear(d, kv)
        self.output = nn.Linear(d, d, bias=False)
        self.gate, self.up = nn.Linear(d, config.inner, bias=False), nn.Linear(d, config.inner, bias=False)
        self.down = nn.Linear(config.inner, d, bias=False)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """Read a batch: `x` (B, T, d), `rotation` (B, 1, T, c) twice, `mask` (B, T, T), true where a token attends."""
        batch, length, d = x.shape
        normed = self.attention_norm(x)

        def heads(projected: Tensor, count: int) -> Tensor:
            return projected.view(batch, length, count, self.width).transpose(1, 2)  # (B, count, T, c)

        query = rotate(heads(self.query(normed), self.config.heads), *rotation)
        key = rotate(heads(self.key(normed), self.config.kv_heads), *rotation)
        value = heads(self.value(normed), self.config.kv_heads)
        shared = self.config.heads // self.config.kv_heads
        key, value = key.repeat_interleave(shared, 1), value.repeat_interleave(shared, 1)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None])
        x = x + self.output(mixed.transpose(1, 2).reshape(batch, length, d))
        normed = self.feed_norm(x)
        return x + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class Decoder(nn.Module):
    """Token embedding, blocks, and a last norm; without an output matrix, of which a few rows are the judge's head."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.size)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = RMSNorm(config.size, config.epsilon)

    def forward(self, tokens: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Return the states, (B, T, d), of `tokens` and `positions` (B, T) under a `mask` (B, T, T)."""
        x = self.embedding(tokens)
        if torch.is_autocast_enabled(x.device.type):
            x = x.to(torch.get_autocast_dtype(x.device.type))
        width = self.config.size // self.config.heads
        rates = self.config.rope_base ** (-torch.arange(0, width, 2, device=x.device).float() / width)
        angles = (positions[..., None].float() * rates).repeat(1, 1, 2)[:, None]  # (B, 1, T, c)
        rotation = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for block in self.blocks:
            x = block(x, rotation, mask)
        return self.norm(x)


def rotate(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Rotary position embedding (Su et al., 2021), the two halves of a head as real and imaginary parts."""
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


OUTPUT = "output.weight"  # not the decoder's: a judge takes five rows of it, a writer all
NAMES = {  # of a block's parameters in a GGUF file
    "attn_norm": "attention_norm",
    "ffn_norm": "feed_norm",
    "attn_q": "query",
    "attn_k": "key",
    "attn_v": "value",
    "attn_output": "output",
    "ffn_gate": "gate",
    "ffn_up": "up",
    "ffn_down": "down",
}


def parameter_name(name: str) -> str:
    """Return our name of a tensor in a GGUF file, such as `blk.3.attn_q.bias`."""
    if known := {"token_embd.weight": "embedding.weight", "output_norm.weight": "norm.weight", OUTPUT: OUTPUT}.get(
        name
    ):
        return known
    _, layer, part, kind = name.split(".")
    return f"blocks.{layer}.{NAMES[part]}.{kind}"
