"""A reader's choices, its sizes, and what its config.json says of these; needs no PyTorch."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_config import shown
from tabsa.checkpoint.model_folder import ModelFolder
from tabsa.config import option
from tabsa.errors import ModelError

_FAR: Final = 128  # the distance from which MPNet's relative positions are all alike
COPIES: Final = "question_layers."  # before the number of an untied layer


@dataclass(frozen=True, kw_only=True)
class ReaderConfig:
    """The encoder of a reader, and how questions meet the text."""

    encoder: str = option("", "a BERT or MPNet folder, below a data folder or anywhere, or its name on the hub")
    depth: int = option(0, "layers of the encoder that are used, from the first; 0: all", low=0)
    late_interaction: int = option(4, "the encoder's last layers, in which questions attend to the text", low=1)
    untied: bool = option(False, "fine-tuned: questions have copies of the layers of `late_interaction`, in float")
    rounded: bool = option(False, "quantisation-aware: learn with the weights as the folder stores them in int8")
    dropout: float = option(0.1, "on the states of the encoder and of the questions", low=0, high=0.95)


@dataclass(frozen=True)
class EncoderShape:
    """The sizes of an encoder; a ValueError where none is like that."""

    kind: str  # bert or mpnet
    size: int  # d
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float
    buckets: int = 0  # of MPNet's relative positions

    def __post_init__(self) -> None:
        if self.kind not in ("bert", "mpnet"):
            raise ValueError(f"'kind' is {shown(self.kind)}; expected a bert or an mpnet")
        if type(self.epsilon) is not float or not 0 < self.epsilon < 1:
            raise ValueError(f"'epsilon' is {shown(self.epsilon)}; expected a small number")
        least = {"positions": 8, "buckets": 8 if self.kind == "mpnet" else 0}
        for name in ("size", "layers", "heads", "inner", "vocabulary", "positions", "buckets"):
            value, low, high = getattr(self, name), least.get(name, 1), 1 << (10 if name == "layers" else 20)
            if type(value) is not int or not low <= value <= high:
                raise ValueError(f"'{name}' is {shown(value)}; expected a whole number from {low} to {high}")
        if self.size % self.heads:
            raise ValueError(f"{self.heads} heads of {self.size} numbers are of no encoder")

    @property
    def first_position(self) -> int:
        """The row of the first piece's position: MPNet counts from behind its padding's."""
        return 2 if self.kind == "mpnet" else 0

    @property
    def longest(self) -> int:
        """The most word pieces it can read at once."""
        return self.positions - self.first_position

    def distance_buckets(self) -> NDArray[np.int64]:
        """Return MPNet's bucket of each distance of a query from a key, from 1 - longest on (Raffel et al., 2020)."""
        distance = np.arange(1 - self.longest, self.longest)
        half, exact = self.buckets // 2, self.buckets // 4
        far = np.maximum(np.abs(distance), 1).astype(np.float32)
        spread = exact + (np.log(far / exact) / math.log(_FAR / exact) * (half - exact)).astype(np.int64)
        near = np.where(np.abs(distance) < exact, np.abs(distance), np.minimum(spread, half - 1))
        return np.asarray(near + half * (distance < 0))

    def weight_sizes(self) -> dict[str, tuple[int, ...]]:
        """Return the size of every weight, by its name in `Encoder`."""
        d = self.size
        sizes: dict[str, tuple[int, ...]] = {"words": (self.vocabulary, d), "places": (self.longest, d)}
        sizes |= {"norm": (d,), "norm_bias": (d,)}
        if self.buckets:
            sizes["distances"] = (self.buckets, self.heads)
        for number in range(self.layers):
            sizes |= self.layer_sizes(f"layers.{number}.")
        return sizes

    def layer_sizes(self, prefix: str) -> dict[str, tuple[int, ...]]:
        """Return the sizes of a layer: its matrices with their biases, and its two normalisations."""
        d = self.size
        sizes: dict[str, tuple[int, ...]] = {"qkv": (d, 3 * d), "out": (d, d), "norm": (d,), "last_norm": (d,)}
        sizes |= {"inner": (d, self.inner), "outer": (self.inner, d)}
        sizes |= {f"{name}_bias": size[-1:] for name, size in sizes.items()}
        return {prefix + name: size for name, size in sizes.items()}


@dataclass(frozen=True)
class ReaderShape:
    """The sizes of a reader."""

    encoder: EncoderShape
    late_interaction: int
    labels: int
    untied: bool = False

    @property
    def keys_values(self) -> tuple[str, ...]:
        """The names of what questions attend to of a text, in the order of their layers."""
        return tuple(f"{kind}.{number}" for number in range(self.late_interaction) for kind in ("keys", "values"))

    @property
    def shared(self) -> list[str]:
        """The names of the encoder's layers that questions go through."""
        layers = self.encoder.layers
        return [f"encoder.layers.{number}" for number in range(layers - self.late_interaction, layers)]

    def exact(self, name: str) -> bool:
        """Return whether a matrix is never rounded: what fine-tuning changes is mostly less than a step of int8."""
        return self.untied and (name == "hidden" or name.startswith(COPIES))

    def weight_sizes(self) -> dict[str, tuple[int, ...]]:
        """Return the size of every weight, by its name in `Reader`."""
        d = self.encoder.size
        sizes = {f"encoder.{name}": size for name, size in self.encoder.weight_sizes().items()}
        for number in range(self.late_interaction if self.untied else 0):
            sizes |= self.encoder.layer_sizes(f"{COPIES}{number}.")
        sizes |= {"kinds": (2, d), "hidden": (d, d), "hidden_bias": (d,)}
        return sizes | {"output": (d, self.labels), "output_bias": (self.labels,)}


def reader_options(config: ReaderConfig, shape: EncoderShape) -> dict[str, Any]:
    """Return `ModelConfig.model` of a reader."""
    return {**dataclasses.asdict(config), "shape": dataclasses.asdict(shape)}


def reader_shape(folder: ModelFolder) -> ReaderShape:
    """Read a reader's sizes from config.json; raises a one-line ModelError where no reader is like that."""
    config, path = folder.config, folder.path / "config.json"
    late, untied = config.model.get("late_interaction"), config.model.get("untied") is True
    try:
        encoder = EncoderShape(**config.model["shape"])
        if type(late) is not int or not 1 <= late <= encoder.layers:
            raise ValueError(f"'late_interaction' is {shown(late)}; its encoder has {encoder.layers} layers")
        if not 4 <= config.max_length <= encoder.longest:
            raise ValueError(f"'max_length' is {config.max_length}; expected 4 to {encoder.longest}")
    except (KeyError, TypeError, ValueError) as e:
        raise ModelError(f"{path} does not describe a reader ({e})") from e
    return ReaderShape(encoder, late, len(config.labels), untied)
