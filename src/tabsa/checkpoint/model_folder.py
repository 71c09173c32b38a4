"""The model folder: opened, read when its parts are asked for, and written."""

import dataclasses
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.checksums import CHECKSUMS, FolderFiles, is_regular, read_checksums, read_json, write_checksums
from tabsa.checkpoint.model_config import FORMAT, ModelConfig, model_config, shown
from tabsa.embeddings.concepts import ConceptTable
from tabsa.embeddings.packing import Storage, pack, unpack, unpack_weights
from tabsa.embeddings.vectors import VectorSource, WordVectors
from tabsa.errors import ModelError, OutputError
from tabsa.files import reason, replacing

DEFAULT: Final = "reader"  # the model in the box
ALIASES: Final[Mapping[str, str]] = MappingProxyType({"fast": "places"})  # other names of models in the package
_SHIPPED: Final = Path(__file__).parents[1] / "pretrained"
Precision: TypeAlias = Literal["float32", "int8"]  # of a graph's products
AskedPrecision: TypeAlias = Literal["auto", "float32", "int8"]  # auto: what the model was trained for
GRAPHS: Final[dict[Precision, str]] = {"float32": "model.onnx", "int8": "model.int8.onnx"}
# A reader's graphs: what reads a text, and what asks its states.
READER_GRAPHS: Final[dict[Precision, tuple[str, str]]] = {
    "float32": ("read.onnx", "ask.onnx"),
    "int8": ("read.int8.onnx", "ask.int8.onnx"),
}
ANSWERING: Final = (  # the files that an answer comes from
    *("config.json", "weights.safetensors", "vectors.safetensors", "concepts.safetensors", "tokenizer.json"),
    *(*GRAPHS.values(), *(name for names in READER_GRAPHS.values() for name in names)),
)


@dataclass(frozen=True)
class ModelFolder:
    """A model folder that was checked; its large files are read when they are first asked for."""

    path: Path
    config: ModelConfig

    @cached_property
    def files(self) -> FolderFiles:
        """Its files, which are checked before they are read."""
        return FolderFiles(self.path)

    @property
    def sha256(self) -> str:
        """The SHA-256 of all files that an answer comes from: of the lines that `sha256sum` prints of them, sorted."""
        named = read_checksums(self.path)
        if named is None:
            there = [name for name in ANSWERING if is_regular(self.path / name)]
            named = {name: self.files.digest(name) for name in there}
        lines = (f"{digest}  {name}\n" for name, digest in sorted(named.items()))
        return hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()

    @cached_property
    def _stored_weights(self) -> dict[str, NDArray[Any]]:
        return self.stored_weights()

    def stored_weights(self, *names: str) -> dict[str, NDArray[Any]]:
        """Some of the numbers as they are stored, or all; names that the file has not are passed over."""
        return _read_arrays(self.files.checked("weights.safetensors"), names)[0]

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
        arrays, facts = _read_arrays(self.files.checked("vectors.safetensors"))
        try:
            words = _lines(arrays["words"]) if arrays["words"].size else []
            source = VectorSource(**json.loads(facts["source"])) if facts.get("source") else None
            matrix = unpack(arrays)
            if matrix.shape[:-1] != (len(words),) or not np.isfinite(matrix).all():
                raise ValueError(f"{len(words)} words need as many rows of finite numbers")
            return WordVectors(tuple(words), matrix, float(facts["scale"]), source)
        except (KeyError, ValueError, TypeError, RecursionError) as e:
            raise ModelError(f"{self.path / 'vectors.safetensors'} does not hold word vectors ({e})") from e

    @cached_property
    def concepts(self) -> ConceptTable | None:
        """The concepts the model knows; None where it reads none."""
        path = self.files.checked("concepts.safetensors")
        if not path.exists():
            if path.name in (read_checksums(self.path) or {}):
                raise ModelError(f"{self.path} has no {path.name}; the folder is incomplete")
            return None
        arrays, facts = _read_arrays(path)
        try:
            source = VectorSource(**json.loads(facts["source"])) if facts.get("source") else None
            matrix = arrays["matrix"].astype(np.float32)
            if matrix.ndim != 2 or not np.isfinite(matrix).all():
                raise ValueError("a concept needs a vector of finite numbers")
            return ConceptTable(tuple(_lines(arrays["names"])), matrix, source)
        except (KeyError, ValueError, TypeError, RecursionError) as e:
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
        return read_json(self.path / "metrics.json")


def open_folder(name: str | Path | None = None) -> ModelFolder:
    """The model folder at a path, of a model in the package by its name, or of one on the hub (`hub:OWNER/NAME`).

    None is the model in the box.
    """
    if isinstance(name, str) and name.startswith("hub:"):
        from tabsa.checkpoint.hub import hub_folder, hub_name

        return hub_folder(hub_name(name))
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
    file = path / "config.json"
    if not is_regular(file):
        raise ModelError(f"{path} has no config.json, so it is no model folder, or its training has not ended")
    values = read_json(file)
    if values.get("format") != FORMAT:
        raise ModelError(f"{path} has format {shown(values.get('format'))}; this version reads '{FORMAT}'")
    folder = ModelFolder(path, model_config(values, file))
    folder.files.checked(file.name)
    return folder


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

    digests: dict[str, str] = {}

    def write(name: str, content: bytes) -> None:
        with replacing(path / name, "wb") as stream:
            stream.write(content)
        if name in ANSWERING:
            digests[name] = hashlib.sha256(content).hexdigest()

    try:
        for name in (*ANSWERING, CHECKSUMS):  # of another model, where a folder is written again
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
    content = _json(dataclasses.asdict(config))
    write_checksums(path, digests | {"config.json": hashlib.sha256(content).hexdigest()})
    write("config.json", content)
    return ModelFolder(path, config)


def add_files(folder: ModelFolder, files: Mapping[str, bytes]) -> None:
    """Write more files that an answer comes from, and their checksums beside those that are there.

    A folder that has none yet gets those of all its files as they are.
    """
    before = read_checksums(folder.path)
    if before is None:
        there = [name for name in ANSWERING if name not in files and is_regular(folder.path / name)]
        before = {name: folder.files.digest(name) for name in there}
    for name, content in files.items():
        with replacing(folder.path / name, "wb") as stream:
            stream.write(content)
    written = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    write_checksums(folder.path, written, before)


def _source(source: VectorSource | None) -> dict[str, str]:
    return {"source": json.dumps(dataclasses.asdict(source))} if source else {}


def _bytes(lines: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode("utf-8"), np.uint8)


def _lines(array: NDArray[Any]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


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
    # TypeError, AttributeError: a kind of number that NumPy has not; the others: sizes that no array has.
    except (SafetensorError, TypeError, AttributeError, ValueError, OverflowError, MemoryError) as e:
        raise ModelError(f"{path} is damaged ({e})") from e
