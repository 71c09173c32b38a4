"""A pretrained encoder from its folder: config.json, tokenizer.json and model.safetensors, nothing that can run."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from tabsa.embeddings.packing import BLOCK, pack_table, unpack_table
from tabsa.errors import ModelError
from tabsa.files import read_text, reason
from tabsa.models.reader.reader_config import EncoderShape
from tabsa.nn.context import Context, dropout
from tabsa.nn.transformer import block, layer_norm, padding_mask, project, quantised

Arrays = Mapping[str, NDArray[np.float32]]
KeysValues = Sequence[tuple[Tensor, ...]]  # of a text, for each layer that questions go through, (S, B, T, d)


_SIZES: Final = {
    "size": "hidden_size", "layers": "num_hidden_layers", "heads": "num_attention_heads",
    "inner": "intermediate_size", "vocabulary": "vocab_size", "positions": "max_position_embeddings",
}  # fmt: skip


def read_shape(folder: Path) -> EncoderShape:
    """Read `config.json`; raises a one-line ModelError for what is no BERT or MPNet."""
    path = folder / "config.json"
    try:
        values: dict[str, Any] = json.loads(read_text(path, ModelError))
        kind = str(values["model_type"])
        if values.get("hidden_act", "gelu") != "gelu":
            raise ModelError(f"{path}: its activation is '{values['hidden_act']}'; expected gelu")
        if values.get("position_embedding_type", "absolute") != "absolute":
            raise ModelError(f"{path}: its positions are '{values['position_embedding_type']}'; expected absolute ones")
        sizes = {own: values[name] for own, name in _SIZES.items()}
        buckets = values.get("relative_attention_num_buckets", 32) if kind == "mpnet" else 0
        return EncoderShape(kind=kind, epsilon=float(values["layer_norm_eps"]), buckets=buckets, **sizes)
    except (KeyError, TypeError, ValueError) as e:
        raise ModelError(f"{path} does not describe an encoder ({e})") from e


_LAYER: Final = {
    "bert": {
        "q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
        "out": "attention.output.dense", "norm": "attention.output.LayerNorm",
    },
    "mpnet": {
        "q": "attention.attn.q", "k": "attention.attn.k", "v": "attention.attn.v",
        "out": "attention.attn.o", "norm": "attention.LayerNorm",
    },
}  # fmt: skip
_BOTH: Final = {"inner": "intermediate.dense", "outer": "output.dense", "last_norm": "output.LayerNorm"}


def read_encoder(folder: Path) -> tuple[EncoderShape, dict[str, NDArray[np.float32]]]:
    """An encoder's shape and its weights under the names of `Encoder`; matrices act from the right."""
    from safetensors import SafetensorError, safe_open

    shape = read_shape(folder)
    path = folder / "model.safetensors"
    try:
        with safe_open(path, "pt") as stream:  # NumPy has no bf16
            # Without the model's name, and with the names that a normalisation's weights have today.
            names = {
                name.removeprefix(f"{shape.kind}.").replace(".gamma", ".weight").replace(".beta", ".bias"): name
                for name in stream.keys()  # noqa: SIM118
            }

            def get(name: str) -> NDArray[np.float32]:
                array: NDArray[np.float32] = stream.get_tensor(names[name]).float().numpy()
                if not np.isfinite(array).all():
                    raise ModelError(f"{path}: '{name}' holds something that is not a finite number")
                return array

            weights = _renamed(shape, get)
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    except KeyError as e:
        raise ModelError(f"{path} has no {e}; expected the weights of a {shape.kind}") from e
    except SafetensorError as e:
        raise ModelError(f"{path} is damaged ({e})") from e
    for name, size in shape.weight_sizes().items():
        if weights[name].shape != size:
            raise ModelError(f"{path}: '{name}' is {weights[name].shape}; its config.json promises {size}")
    return shape, weights


def _renamed(shape: EncoderShape, get: Callable[[str], NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    places = get("embeddings.position_embeddings.weight")[shape.first_position :]
    if shape.kind == "bert":
        places = places + get("embeddings.token_type_embeddings.weight")[0]  # every piece is of the first type
    weights = {
        "words": get("embeddings.word_embeddings.weight"),
        "places": places,
        "norm": get("embeddings.LayerNorm.weight"),
        "norm_bias": get("embeddings.LayerNorm.bias"),
    }
    if shape.kind == "mpnet":
        weights["distances"] = get("encoder.relative_attention_bias.weight")
    for number in range(shape.layers):
        old = {part: f"encoder.layer.{number}.{name}" for part, name in (_LAYER[shape.kind] | _BOTH).items()}
        new = f"layers.{number}."
        weights[new + "qkv"] = np.concatenate([get(f"{old[part]}.weight").T for part in "qkv"], axis=1)
        weights[new + "qkv_bias"] = np.concatenate([get(f"{old[part]}.bias") for part in "qkv"])
        for part in ("out", "inner", "outer", "norm", "last_norm"):  # the transpose of a normalisation's is itself
            weights[new + part] = np.ascontiguousarray(get(f"{old[part]}.weight").T)
            weights[new + part + "_bias"] = get(f"{old[part]}.bias")
    return weights


class Encoder(nn.Module):
    """Word pieces to states that know their neighbours; each seed has weights of its own."""

    places: Tensor
    distances: Tensor | None

    def __init__(self, shape: EncoderShape, weights: Arrays, seeds: int, rate: float, *, rounded: bool = False) -> None:
        super().__init__()
        self.shape, self.rate, self.rounded = shape, rate, rounded
        if rounded and shape.size % BLOCK == 0:
            weights = {**weights, "words": unpack_table(*pack_table(weights["words"]))}

        def parameter(name: str) -> nn.Parameter:
            return nn.Parameter(torch.from_numpy(weights[name]).expand(seeds, *weights[name].shape).contiguous())

        for name in ("words", "places", "norm", "norm_bias"):
            self.register_parameter(name, parameter(name))
        self.words.requires_grad_(not rounded)  # in four bits it would not move
        self.distances = parameter("distances") if "distances" in weights else None
        self.layers = nn.ModuleList()
        for number in range(shape.layers):
            layer, prefix = nn.Module(), f"layers.{number}."
            for name in weights:
                if name.startswith(prefix):
                    layer.register_parameter(name.removeprefix(prefix), parameter(name))
            self.layers.append(layer)
        if shape.buckets:
            by_distance = torch.from_numpy(shape.distance_buckets()).flip(0)  # of the key behind the query
            self.register_buffer("buckets", functional.one_hot(by_distance, shape.buckets).float(), persistent=False)

    def lower(self, pieces: Tensor, lengths: Tensor, context: Context, late: int = 0) -> tuple[Tensor, Tensor]:
        """The states of pieces (S, B, T) behind all layers but `late` ones, (S, B, T, d), and the mask of scores."""
        longest = pieces.shape[2]
        states = self.embedded(pieces, self.places[:, None, :longest], context)
        mask = padding_mask(lengths, longest)
        if self.distances is not None:
            mask = mask + self.distance_bias(self.distances, longest).unsqueeze(1)  # (S, B, h, T, T)
        mask = mask.to(context.products) if context.products == torch.bfloat16 else mask
        for number in range(self.shape.layers - late):
            states = self.layer(context)(states, self.weights(number), mask)
        return states, mask

    def read(self, pieces: Tensor, lengths: Tensor, context: Context, late: int) -> tuple[Tensor, KeysValues]:
        """The states behind all layers but `late` ones, where questions come in, and keys and values of these."""
        entered, mask = self.lower(pieces, lengths, context, late)
        states, found = entered, list[tuple[Tensor, ...]]()
        for number in range(self.shape.layers - late, self.shape.layers):
            weights = self.weights(number)
            found.append(project(states, weights, 1))
            if number < self.shape.layers - 1:  # the last layer is the questions' alone
                states = self.layer(context)(states, weights, mask, keys_values=found[-1])
        return entered, found

    def embedded(self, pieces: Tensor, places: Tensor, context: Context) -> Tensor:
        """Word pieces (S, B, T) with the vectors of their places, before the first layer: (S, B, T, d)."""
        # The seeds' tables as one, because an index with repeated pieces has a slow gradient on a GPU.
        first = self.shape.vocabulary * torch.arange(len(pieces), device=pieces.device)[:, None, None]
        states = functional.embedding(pieces + first, self.words.flatten(0, 1)) + places  # type: ignore[operator]
        states = layer_norm(states, self.norm, self.norm_bias, self.shape.epsilon)  # type: ignore[arg-type]
        return dropout(states, self.rate, context, shape=states.shape[1:])

    def weights(self, number: int) -> dict[str, Tensor]:
        """A layer's weights, as they are used."""
        weights: dict[str, Tensor] = dict(self.layers[number].named_parameters())
        return quantised(weights) if self.rounded else weights

    def layer(self, context: Context) -> Callable[..., Tensor]:
        """One layer, of states, its weights and a mask."""
        return partial(block, heads=self.shape.heads, epsilon=self.shape.epsilon, rate=self.rate, context=context)

    def distance_bias(self, distances: Tensor, length: int) -> Tensor:
        """Compute what the distance of two places adds to their score, (S, h, T, T).

        A product and windows of a vector, because the gradient of an index into a few rows is slow on a GPU.
        """
        middle = self.shape.longest - 1
        chosen: Tensor = self.buckets[middle - length + 1 : middle + length]  # type: ignore[index]
        values = chosen @ distances  # (S, 2 T - 1, h)
        windows: Tensor = values.unfold(1, length, 1).flip(1)  # (S, T, h, T)
        return windows.transpose(1, 2)
