"""The model folder: the only thing that training and use share. Plain files, nothing that can run.

config.json           kind, options, aspects, labels, text processing, format version
weights.safetensors   the trained numbers
vectors.safetensors   words and their vectors, in float16
concepts.safetensors  concepts and their vectors, in float16, where the model reads them
tokenizer.json        how a text is cut into word pieces, where the model reads those; it then has no vectors
model.onnx            the trained network as a graph, and model.int8.onnx the same in eight bits, where exported;
                      readers have read.onnx and ask.onnx, whose numbers lie in weights.safetensors
metrics.json          how well it does, and what it was trained on
README.md             a model card
"""

import dataclasses
import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.embeddings import VectorSource, WordVectors
from tabsa.embeddings.concepts import ConceptTable
from tabsa.embeddings.packing import unpack_weights
from tabsa.embeddings.storage import Storage, pack, unpack
from tabsa.errors import ModelError, OutputError
from tabsa.files import read_text, reason, replacing

FORMAT: Final = "tabsa model 1"
DEFAULT: Final = "reader"  # the model in the box
ALIASES: Final[Mapping[str, str]] = MappingProxyType({"fast": "places"})  # other names of models in the package
_SHIPPED: Final = Path(__file__).parent / "pretrained"
Precision: TypeAlias = Literal["float32", "int8"]  # of a graph's products
AskedPrecision: TypeAlias = Literal["auto", "float32", "int8"]  # auto: what the model was trained for
GRAPHS: Final[dict[Precision, str]] = {"float32": "model.onnx", "int8": "model.int8.onnx"}
# A reader's graphs: what reads a text, and what asks its states.
READER_GRAPHS: Final[dict[Precision, tuple[str, str]]] = {
    "float32": ("read.onnx", "ask.onnx"),
    "int8": ("read.int8.onnx", "ask.int8.onnx"),
}
_OF_ANOTHER_MODEL: Final = (  # may be left where a folder is written again
    *("config.json", "concepts.safetensors", "vectors.safetensors", "tokenizer.json", *GRAPHS.values()),
    *(name for names in READER_GRAPHS.values() for name in names),
)


@dataclass(frozen=True)
class ModelConfig:
    """What `config.json` says."""

    kind: str
    model: dict[str, Any]
    aspects: tuple[str, ...]
    labels: tuple[str, ...]
    targets: int
    max_length: int
    temperature: float = 1.0  # what logits are divided by, so that probabilities are calibrated
    bias: tuple[float, ...] = ()  # what is added to them after that, one number a label, or none
    tokeniser: str = "treebank, case folded"
    calibration: dict[str, float] | None = None  # a reader's: the fields of `evaluation`'s PresenceCalibration
    implied: bool = False  # whether in use a target that a text does not name is what the text is about, unless told
    named: bool = True  # whether it learnt from targets that texts name; where not, it looks for none that is implied
    windows: tuple[int, ...] = ()  # a reader's: pieces of a text that is read whole, and of a window of a longer one
    format: str = FORMAT


@dataclass(frozen=True)
class ModelFolder:
    """A model folder that was checked; its large files are read when they are first asked for."""

    path: Path
    config: ModelConfig

    @cached_property
    def _stored_weights(self) -> dict[str, NDArray[Any]]:
        return self.stored_weights()

    def stored_weights(self, *names: str) -> dict[str, NDArray[Any]]:
        """Some of the numbers as they are stored, or all; names that the file has not are passed over."""
        return _read_arrays(self.path / "weights.safetensors", names)[0]

    @property
    def compact(self) -> bool:
        """Whether the weights are stored in float16."""
        return any(array.dtype == np.float16 for array in self._stored_weights.values())

    @cached_property
    def weights(self) -> dict[str, NDArray[Any]]:
        """The trained numbers by name, in float32."""
        try:
            return unpack_weights(self._stored_weights)
        except ValueError as e:
            raise ModelError(f"{self.path / 'weights.safetensors'} is damaged ({e})") from e

    @cached_property
    def vectors(self) -> WordVectors:
        """The words the model knows."""
        arrays, facts = _read_arrays(self.path / "vectors.safetensors")
        try:
            words = _lines(arrays["words"]) if arrays["words"].size else []
            source = VectorSource(**json.loads(facts["source"])) if facts.get("source") else None
            matrix = unpack(arrays)
            if matrix.shape[:-1] != (len(words),) or not np.isfinite(matrix).all():
                raise ValueError(f"{len(words)} words need as many rows of finite numbers")
            return WordVectors(tuple(words), matrix, float(facts["scale"]), source)
        except (KeyError, ValueError, TypeError) as e:
            raise ModelError(f"{self.path / 'vectors.safetensors'} does not hold word vectors ({e})") from e

    @cached_property
    def concepts(self) -> ConceptTable | None:
        """The concepts the model knows; None where it reads none."""
        path = self.path / "concepts.safetensors"
        if not path.exists():
            return None
        arrays, facts = _read_arrays(path)
        try:
            source = VectorSource(**json.loads(facts["source"])) if facts.get("source") else None
            matrix = arrays["matrix"].astype(np.float32)
            if matrix.ndim != 2 or not np.isfinite(matrix).all():
                raise ValueError("a concept needs a vector of finite numbers")
            return ConceptTable(tuple(_lines(arrays["names"])), matrix, source)
        except (KeyError, ValueError, TypeError) as e:
            raise ModelError(f"{path} does not hold concepts ({e})") from e

    def precision(self, asked: AskedPrecision = "auto") -> Precision:
        """What is run where this is asked for: auto is int8 for a model that was trained for it and has the graphs.

        Raises:
            ModelError: there is no such precision.
        """
        if asked != "auto":
            if asked not in GRAPHS:
                known = ", ".join(("auto", *GRAPHS))
                raise ModelError(f"there is no precision '{asked}'; expected one of: {known}")
            return asked
        ways = ((GRAPHS["int8"],), READER_GRAPHS["int8"])
        exported = any(all((self.path / name).is_file() for name in names) for names in ways)
        return "int8" if self.config.model.get("rounded") is True and exported else "float32"

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """How well the model does, as training measured it."""
        return _read_json(self.path / "metrics.json")


def open_folder(name: str | Path | None = None) -> ModelFolder:
    """The model folder at a path, or of a model in the package by its name; None is the model in the box."""
    if name is not None and Path(name).is_dir():
        return read_folder(Path(name))
    shipped = shipped_models()
    wanted = str(name or DEFAULT)
    path = shipped.get(ALIASES.get(wanted, wanted))
    if path is None:
        named = [one + "".join(f" (or {other})" for other in aliases_of(one)) for one in shipped]
        known = f"the package has: {', '.join(named)}" if named else "the package has none"
        raise ModelError(f"there is no model '{wanted}': no folder of that name, and {known}")
    return read_folder(path)


def shipped_models() -> dict[str, Path]:
    """The models in the package: the folder of each name, the model in the box first."""
    found = {path.parent.name: path.parent for path in sorted(_SHIPPED.glob("*/config.json"))}
    return dict(sorted(found.items(), key=lambda item: item[0] != DEFAULT))


def aliases_of(name: str) -> tuple[str, ...]:
    """The other names of a model in the package."""
    return tuple(alias for alias, model in ALIASES.items() if model == name)


def read_folder(path: Path) -> ModelFolder:
    """Open a model folder; raises a one-line ModelError where it is not one."""
    if not path.is_dir():
        raise ModelError(f"{path} is not a model folder; expected one that `tabsa train` made")
    if not (path / "config.json").exists():
        raise ModelError(f"{path} has no config.json, so it is no model folder, or its training has not ended")
    values = _read_json(path / "config.json")
    if values.get("format") != FORMAT:
        raise ModelError(f"{path} has format {values.get('format')!r}; this version reads '{FORMAT}'")
    return ModelFolder(path, _model_config(values, path / "config.json"))


def write_folder(
    path: Path,
    config: ModelConfig,
    weights: Mapping[str, NDArray[Any]],
    vectors: WordVectors | None,
    metrics: Mapping[str, Any],
    card: str,
    concepts: ConceptTable | None = None,
    storage: Storage = "float16",
    files: Mapping[str, bytes] | None = None,
) -> ModelFolder:
    """Write a model folder, `config.json` last: a folder that has it is complete.

    `storage` is that of the vectors, weights are stored as they are; `files` are others, by name.
    """
    from safetensors.numpy import save

    def write(name: str, content: bytes) -> None:
        with replacing(path / name, "wb") as stream:
            stream.write(content)

    try:
        for name in _OF_ANOTHER_MODEL:
            (path / name).unlink(missing_ok=True)
    except OSError as e:
        raise OutputError(f"cannot write {path}: {reason(e)}") from e
    write("weights.safetensors", save({name: np.ascontiguousarray(array) for name, array in weights.items()}))
    if vectors is not None:
        facts = {"scale": repr(vectors.scale), **_source(vectors.source)}
        arrays = {**pack(vectors.matrix, storage), "words": _bytes(vectors.words)}
        write("vectors.safetensors", save(arrays, facts))
    if concepts is not None:
        arrays = {"matrix": concepts.matrix.astype(np.float16), "names": _bytes(concepts.names)}
        write("concepts.safetensors", save(arrays, _source(concepts.source)))
    for name, content in (files or {}).items():
        write(name, content)
    write("metrics.json", _json(metrics))
    write("README.md", card.encode("utf-8"))
    write("config.json", _json(dataclasses.asdict(config)))
    return ModelFolder(path, config)


def _model_config(values: Mapping[str, Any], path: Path) -> ModelConfig:
    """What `config.json` says, checked: a folder may come from anyone."""

    def names(value: Any) -> bool:
        return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)

    def number(value: Any) -> bool:
        return type(value) is int and value >= 0

    right: dict[str, Callable[[Any], bool]] = {
        "kind": lambda value: isinstance(value, str),
        "model": lambda value: isinstance(value, dict),
        "aspects": names,
        "labels": names,
        "targets": lambda value: number(value) and value > 0,
        "max_length": number,
        "temperature": lambda value: type(value) in (int, float) and 0 < value < math.inf,
        "bias": lambda value: isinstance(value, list) and all(type(b) in (int, float) and abs(b) < 1e6 for b in value),
        "tokeniser": lambda value: isinstance(value, str),
        "calibration": lambda value: value is None or _is_calibration(value),
        "implied": lambda value: type(value) is bool,
        "named": lambda value: type(value) is bool,
        "windows": lambda value: isinstance(value, list) and len(value) in (0, 2) and all(map(number, value)),
    }
    given: dict[str, Any] = {}
    for field in dataclasses.fields(ModelConfig):
        if field.name in values and field.name in right:
            value = values[field.name]
            if not right[field.name](value):
                raise ModelError(f"{path}: '{field.name}' is {value!r}, which no model folder has")
            given[field.name] = tuple(value) if isinstance(value, list) else value
        elif field.default is dataclasses.MISSING:
            raise ModelError(f"{path} has no '{field.name}'; the folder is incomplete")
    config = ModelConfig(**given)
    if config.bias and len(config.bias) != len(config.labels):
        raise ModelError(f"{path}: 'bias' has {len(config.bias)} numbers; expected one for each of the labels, or none")
    return config


def _is_calibration(value: Any) -> bool:
    """Whether it is what `PresenceCalibration` has, in numbers that are of use."""
    names = {"presence_temperature", "presence_bias", "polarity_temperature"}
    return (
        isinstance(value, dict)
        and value.keys() == names
        and all(type(number) in (int, float) and abs(number) < 1e6 for number in value.values())
        and min(value["presence_temperature"], value["polarity_temperature"]) > 0
    )


def _source(source: VectorSource | None) -> dict[str, str]:
    return {"source": json.dumps(dataclasses.asdict(source))} if source else {}


def _bytes(lines: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode("utf-8"), np.uint8)


def _lines(array: NDArray[Any]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(read_text(path, ModelError))
    except json.JSONDecodeError as e:
        raise ModelError(f"{path} is not valid JSON: {e}") from e
    if not isinstance(value, dict):
        raise ModelError(f"{path} holds no JSON object")
    return value


def _read_arrays(path: Path, names: Collection[str] = ()) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as stream:
            arrays = {name: stream.get_tensor(name) for name in stream.keys() if not names or name in names}  # noqa: SIM118
            if strange := {str(array.dtype) for array in arrays.values() if array.dtype.kind not in "biuf"}:
                raise ModelError(f"{path} is damaged (it holds numbers of the type {strange.pop()})")
            return arrays, stream.metadata() or {}
    except OSError as e:
        raise ModelError(f"cannot read {path}: {reason(e)}") from e
    except (SafetensorError, TypeError, AttributeError) as e:  # the last two: a kind of number that NumPy has not
        raise ModelError(f"{path} is damaged ({e})") from e
