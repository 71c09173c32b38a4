"""A reader's model folder: what its config.json says of the network, and where each weight lies in its file."""

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_config import ModelConfig, shown
from tabsa.checkpoint.model_folder import ModelFolder, write_folder
from tabsa.embeddings.packing import BLOCK, SCALE, WeightStorage, pack_weights
from tabsa.errors import ModelError
from tabsa.files import reason

WEIGHTS: Final = "weights.safetensors"
TOKENIZER: Final = "tokenizer.json"
DIGEST: Final = "weights"  # of the metadata of a graph: which file of weights it was made for
ALONG: Final = "along"  # beside it, how many layers questions go along; older graphs have none
UNHEARD: Final = "unheard"  # what a graph adds to the scores of pieces that a question is not to hear
BEHIND: Final = -50.0  # that much, and added to the scores of what lies behind a text's end
WORDS, PLACES, DISTANCES = "encoder.words", "encoder.places", "encoder.distances"
_MOST: Final = 1 << 20  # of anything that is counted: more than any encoder has
_MOST_LAYERS: Final = 1 << 10
_BYTES: Final = {"F32": 4, "F16": 2, "I8": 1, "U8": 1}


@dataclass(frozen=True)
class Dimensions:
    """A reader's sizes: the encoder's, as `EncoderShape` names them, and those of what answers."""

    kind: str
    size: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    epsilon: float
    buckets: int
    along: int  # the encoder's last layers, which questions go through
    question_layers: int  # of their own, behind those
    question_inner: int
    labels: int
    untied: bool = False  # whether questions go through copies of those last layers, all of their matrices in float

    @property
    def longest(self) -> int:
        """The most word pieces that are read at once."""
        return self.positions - (2 if self.kind == "mpnet" else 0)

    @property
    def kept(self) -> tuple[str, ...]:
        """The names of what questions hear of a text, in the order of the layers they go through."""
        return tuple(f"{kind}.{n}" for n in range(self.along + self.question_layers) for kind in ("keys", "values"))

    def exact(self, name: str) -> bool:
        """Whether a matrix is never rounded."""
        return self.untied and (name in ("question", "hidden") or name.startswith(("along.", "layers.")))

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every weight, by name."""
        d = self.size
        shapes: dict[str, tuple[int, ...]] = {WORDS: (self.vocabulary, d), PLACES: (self.longest, d)}
        if self.buckets:
            shapes[DISTANCES] = (self.buckets, self.heads)
        encoder = {"qkv": (d, 3 * d), "out": (d, d), "inner": (d, self.inner), "outer": (self.inner, d)}
        asking = {"query": (d, d), "keys_values": (d, 2 * d), "out": (d, d)}
        asking |= {"inner": (d, self.question_inner), "outer": (self.question_inner, d)}
        matrices = {f"encoder.layers.{n}.{name}": size for n in range(self.layers) for name, size in encoder.items()}
        matrices |= {f"layers.{n}.{name}": size for n in range(self.question_layers) for name, size in asking.items()}
        copies = {"query": (d, d), "out": (d, d), "inner": (d, self.inner), "outer": (self.inner, d)}
        untied = self.along if self.untied else 0
        matrices |= {f"along.{n}.{name}": size for n in range(untied) for name, size in copies.items()}
        matrices |= {"question": (3 * d, d), "hidden": (d, d), "output": (d, self.labels)}
        for name, size in matrices.items():
            shapes |= {name: size, f"{name}_bias": size[1:]}
        layers = [f"encoder.layers.{n}" for n in range(self.layers)]
        layers += [f"layers.{n}" for n in range(self.question_layers)]
        layers += [f"along.{n}" for n in range(untied)]
        for name in ("encoder.norm", *(f"{layer}.{norm}" for layer in layers for norm in ("norm", "last_norm"))):
            shapes |= {name: (d,), f"{name}_bias": (d,)}
        return shapes


def dimensions(folder: ModelFolder) -> Dimensions:
    """What config.json says of the network; raises a one-line ModelError where no reader is like that."""
    model, path = folder.config.model, folder.path / "config.json"
    shape = model.get("shape")
    if not isinstance(shape, dict):
        raise ModelError(f"{path}: 'model' has no 'shape'; expected the sizes of a reader's encoder")

    def count(values: Mapping[str, Any], name: str, low: int = 1) -> int:
        value, high = values.get(name), _MOST_LAYERS if name in ("layers", "along") else _MOST
        if type(value) is not int or not low <= value <= high:
            raise ModelError(f"{path}: '{name}' of the model is {shown(value)}; expected a whole number from {low}")
        return value

    kind: Any = shape.get("kind")
    epsilon: Any = shape.get("epsilon")
    if not isinstance(kind, str) or kind not in ("bert", "mpnet"):
        raise ModelError(f"{path}: the encoder is a {shown(kind)}; expected a bert or an mpnet")
    if type(epsilon) not in (int, float) or not 0 < epsilon < 1:
        raise ModelError(f"{path}: 'epsilon' of the model is {shown(epsilon)}; expected a small number")
    sizes = {name: count(shape, name) for name in ("size", "layers", "heads", "inner", "vocabulary", "positions")}
    if sizes["size"] % sizes["heads"] or sizes["positions"] < 8:
        raise ModelError(f"{path}: {sizes['heads']} heads of {sizes['size']} numbers are of no encoder")
    found = Dimensions(
        kind=kind, epsilon=float(epsilon), **sizes, buckets=count(shape, "buckets", 8) if kind == "mpnet" else 0,
        along=count({"along": 0} | model, "along", 0), question_layers=count(model, "layers", 0),
        question_inner=count(model, "inner") * sizes["size"], labels=len(folder.config.labels),
        untied=model.get("untied") is True,
    )  # fmt: skip
    if not 4 <= folder.config.max_length <= found.longest:
        raise ModelError(f"{path}: 'max_length' is {folder.config.max_length}; expected 4 to {found.longest}")
    if found.along > found.layers:
        raise ModelError(f"{path}: 'along' of the model is {found.along}; its encoder has {found.layers} layers")
    if found.labels < 2:
        raise ModelError(f"{path}: there is one label; expected 'none' and others")
    return found


class StoredTensor(NamedTuple):
    """An array in weights.safetensors."""

    kind: str  # F32, F16, I8 or U8
    shape: tuple[int, ...]
    start: int  # in the file, in bytes
    size: int


def stored_tensors(folder: ModelFolder) -> tuple[dict[str, StoredTensor], str]:
    """Where each array of the weights' file lies, and a digest of that; all of a reader's are there, and fit."""
    path = folder.files.checked(WEIGHTS)
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = stream.read(min(length, 100_000_000))
            end = path.stat().st_size
        entries = {name: entry for name, entry in json.loads(header).items() if name != "__metadata__"}
        found = {}
        for name, entry in entries.items():
            first, last = entry["data_offsets"]
            if not all(type(number) is int and number >= 0 for number in (first, last, *entry["shape"])):
                raise ValueError(f"'{name}' has a size that is no whole number")
            tensor = StoredTensor(entry["dtype"], tuple(entry["shape"]), 8 + length + first, last - first)
            if (
                tensor.size != math.prod(tensor.shape) * _BYTES[tensor.kind]
                or not 0 <= first <= last <= end - length - 8
            ):
                raise ValueError(f"'{name}' does not fit")
            found[name] = tensor
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as e:
        raise ModelError(f"{path} is damaged ({e})") from e
    _check(path, dimensions(folder), found)
    return found, hashlib.sha256(header).hexdigest()


def _check(path: Path, sizes: Dimensions, found: Mapping[str, StoredTensor]) -> None:
    """Refuse weights that are not those of a reader of these sizes."""
    for name, shape in sizes.shapes().items():
        tensor, scale = found.get(name), found.get(name + SCALE)
        if tensor is None:
            raise ModelError(f"{path} has no '{name}'; expected the weights of a reader")
        fits = tensor.shape == shape and tensor.kind in ("F32", "F16") and scale is None
        if tensor.kind == "I8" and scale is not None and len(shape) == 2:
            fits = tensor.shape == shape and scale.shape == shape[1:] and scale.kind == "F32"
        elif tensor.kind == "U8" and scale is not None and name == WORDS:
            fits = tensor.shape == (shape[0], shape[1] // 2) and scale.shape == (shape[0], shape[1] // BLOCK)
            fits = fits and shape[1] % BLOCK == 0 and scale.kind == "F16"
        if not fits:
            raise ModelError(f"{path}: '{name}' is {tensor.kind} {list(tensor.shape)}, which does not fit config.json")


def reader_options(config: Any, shape: Any) -> dict[str, Any]:
    """`ModelConfig.model` of a reader, from its ReaderConfig and the EncoderShape of its encoder."""
    return {**dataclasses.asdict(config), "shape": dataclasses.asdict(shape)}


def write_reader_folder(
    path: Path,
    config: ModelConfig,
    weights: Mapping[str, NDArray[Any]],
    tokenizer: bytes,
    metrics: Mapping[str, Any],
    card: str,
    storage: WeightStorage = "float16",
) -> ModelFolder:
    """Write a reader's model folder; `weights` are one seed's, `tokenizer` is the content of a tokenizer.json."""
    sizes = dimensions(ModelFolder(path, config))
    expected = sizes.shapes()
    for name in sorted({*weights, *expected}):
        given = weights[name].shape if name in weights else None
        if given != expected.get(name):
            raise ModelError(f"a reader's '{name}' has the shape {given}; expected {expected.get(name)}")
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise ModelError(f"'{name}' of the weights holds something that is not a finite number")
    try:
        compact = json.dumps(json.loads(tokenizer), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except ValueError as e:
        raise ModelError(f"the content of {TOKENIZER} is not valid JSON: {e}") from e
    stored = pack_weights(weights, storage, tables=(WORDS,), exact=[name for name in weights if sizes.exact(name)])
    return write_folder(path, config, stored, None, metrics, card, files={TOKENIZER: compact})
