"""The model folder: the only thing that training and use share. Plain files, nothing that can run.

config.json           kind, options, aspects, labels, text processing, format version
weights.safetensors   the trained numbers
vectors.safetensors   words and their vectors, in float16
metrics.json          how well it does, and what it was trained on
README.md             a model card
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import ModelError
from tabsa.files import read_text, reason, replacing
from tabsa.vectors import Source, WordVectors

FORMAT: Final = "tabsa model 1"


@dataclass(frozen=True)
class ModelConfig:
    """What `config.json` says."""

    kind: str
    model: dict[str, Any]
    aspects: tuple[str, ...]
    labels: tuple[str, ...]
    targets: int
    max_length: int
    tokeniser: str = "treebank, case folded"
    format: str = FORMAT


@dataclass(frozen=True)
class ModelFolder:
    """A model folder that was checked; its large files are read when they are first asked for."""

    path: Path
    config: ModelConfig

    @cached_property
    def weights(self) -> dict[str, NDArray[Any]]:
        """The trained numbers by name."""
        return _read_arrays(self.path / "weights.safetensors")[0]

    @cached_property
    def vectors(self) -> WordVectors:
        """The words the model knows."""
        arrays, facts = _read_arrays(self.path / "vectors.safetensors")
        try:
            words = arrays["words"].tobytes().decode("utf-8").split("\n") if arrays["words"].size else []
            source = Source(**json.loads(facts["source"])) if facts.get("source") else None
            return WordVectors(tuple(words), arrays["matrix"].astype(np.float32), float(facts["scale"]), source)
        except (KeyError, ValueError, TypeError) as e:
            raise ModelError(f"{self.path / 'vectors.safetensors'} does not hold word vectors ({e})") from e

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """How well the model does, as training measured it."""
        return _read_json(self.path / "metrics.json")


def read_folder(path: Path) -> ModelFolder:
    """Open a model folder; raises a one-line ModelError where it is not one."""
    if not path.is_dir():
        raise ModelError(f"{path} is not a model folder; expected one that `tabsa train` made")
    values = _read_json(path / "config.json")
    if values.get("format") != FORMAT:
        raise ModelError(f"{path} has format {values.get('format')!r}; this version reads '{FORMAT}'")
    names = {field.name for field in dataclasses.fields(ModelConfig)}
    try:
        config = ModelConfig(**{key: value for key, value in values.items() if key in names})
        config = dataclasses.replace(config, aspects=tuple(config.aspects), labels=tuple(config.labels))
    except TypeError as e:
        raise ModelError(f"{path / 'config.json'} lacks something ({e})") from e
    return ModelFolder(path, config)


def write_folder(
    path: Path,
    config: ModelConfig,
    weights: Mapping[str, NDArray[Any]],
    vectors: WordVectors,
    metrics: Mapping[str, Any],
    card: str,
) -> ModelFolder:
    """Write a model folder, `config.json` last: a folder that has it is complete."""
    from safetensors.numpy import save

    def write(name: str, content: bytes) -> None:
        with replacing(path / name, "wb") as stream:
            stream.write(content)

    (path / "config.json").unlink(missing_ok=True)
    write("weights.safetensors", save({name: np.ascontiguousarray(array) for name, array in weights.items()}))
    facts = {"scale": repr(vectors.scale)}
    if vectors.source:
        facts["source"] = json.dumps(dataclasses.asdict(vectors.source))
    words = np.frombuffer("\n".join(vectors.words).encode("utf-8"), np.uint8)
    write("vectors.safetensors", save({"matrix": vectors.matrix.astype(np.float16), "words": words}, facts))
    write("metrics.json", _json(metrics))
    write("README.md", card.encode("utf-8"))
    write("config.json", _json(dataclasses.asdict(config)))
    return ModelFolder(path, config)


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_text(path, ModelError))
    except json.JSONDecodeError as e:
        raise ModelError(f"{path} is not valid JSON: {e}") from e
    if not isinstance(value, dict):
        raise ModelError(f"{path} holds no JSON object")
    return value


def _read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as stream:
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
            return arrays, stream.metadata() or {}
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    except SafetensorError as e:
        raise ModelError(f"{path} is damaged ({e})") from e
