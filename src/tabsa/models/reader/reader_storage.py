"""A reader's model folder: where each weight lies in its file, and how the folder is written."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_config import ModelConfig
from tabsa.checkpoint.model_folder import ModelFolder, write_folder
from tabsa.checkpoint.weight_storage import SCALE, WeightStorage, pack_weights
from tabsa.embeddings.packing import BLOCK
from tabsa.errors import ModelError
from tabsa.models.reader.reader_config import ReaderShape, reader_shape

WEIGHTS: Final = "weights.safetensors"
TOKENIZER: Final = "tokenizer.json"
DIGEST: Final = "weights"  # in a graph's metadata: which file of weights it was made for
ATTENTION_BIAS: Final = "unheard"  # a graph's name for what is added to the scores of pieces
MASKED: Final = -50.0  # of a piece that is not to be attended to, and of what lies after a text's end
WORDS, PLACES, DISTANCES = "encoder.words", "encoder.places", "encoder.distances"


class StoredTensor(NamedTuple):
    """An array in weights.safetensors."""

    kind: str  # of a reader's: F32, F16, I8 or U8
    shape: tuple[int, ...]
    start: int  # in the file, in bytes
    size: int


def stored_tensors(folder: ModelFolder) -> tuple[dict[str, StoredTensor], str]:
    """Find where each array of the weights' file lies, and a digest of that; all of a reader's are there, and fit."""
    path = folder.path / WEIGHTS
    folder.stored_weights(PLACES)  # safetensors refuses a file whose header is not true of it
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(length)
    found = {}
    for name, entry in json.loads(header).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            found[name] = StoredTensor(entry["dtype"], tuple(entry["shape"]), 8 + length + first, last - first)
    _check(path, reader_shape(folder), found)
    return found, hashlib.sha256(header).hexdigest()


def _check(path: Path, sizes: ReaderShape, found: Mapping[str, StoredTensor]) -> None:
    """Refuse weights that are not those of a reader of these sizes."""
    for name, shape in sizes.weight_sizes().items():
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
    sizes = reader_shape(ModelFolder(path, config))
    for name, array in weights.items():
        if not np.isfinite(array).all():
            raise ModelError(f"'{name}' of the weights holds something that is not a finite number")
    try:
        compact = json.dumps(json.loads(tokenizer), ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except ValueError as e:
        raise ModelError(f"the content of {TOKENIZER} is not valid JSON: {e}") from e
    stored = pack_weights(weights, storage, tables=(WORDS,), exact=[name for name in weights if sizes.exact(name)])
    return write_folder(path, config, stored, None, metrics, card, files={TOKENIZER: compact})
