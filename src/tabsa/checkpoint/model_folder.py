"""The model folder: opened, its parts read when they are first used, and written."""

import dataclasses
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.checksums import CHECKSUMS, FolderFiles, is_regular, read_checksums, read_json, write_checksums
from tabsa.checkpoint.model_config import FORMAT, ModelConfig, model_config, shown
from tabsa.checkpoint.weight_storage import unpack_weights
from tabsa.embeddings.concepts import ConceptTable
from tabsa.embeddings.packing import Storage, pack, unpack
from tabsa.embeddings.vectors import VectorSource, WordVectors
from tabsa.errors import ModelError, OutputError
from tabsa.files import reason, replacing

DEFAULT: Final = "reader"  # the model in the box
ALIASES: Final[Mapping[str, str]] = MappingProxyType({"fast": "places"})  # other names of models in the package
_SHIPPED: Final = Path(__file__).parents[1] / "pretrained"
Precision: TypeAlias = Literal["float32", "int8"]  # of a graph's products
PrecisionChoice: TypeAlias = Literal["auto", "float32", "int8"]  # auto: what the model was trained for
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
    """A model folder that was checked; its large files are read when they are first used."""

    path: Path
    config: ModelConfig

    @cached_property
    def files(self) -> FolderFiles:
        """Its files, which are checked before they are read."""
        return FolderFiles(self.path)

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of each file that an answer comes from, as it was written, or else as it is."""
        there = (name for name in ANSWERING if is_regular(self.path / name))
        written = read_checksums(self.path)
        return {name: self.files.digest(name) for name in there} if written is None else written

    @property
    def sha256(self) -> str:
        """The SHA-256 of all files that an answer comes from: of the lines that `sha256sum` prints of them, sorted."""
        lines = (f"{digest}  {name}\n" for name, digest in sorted(self.checksums().items()))
        return hashlib.sha256("".join(lines).encode("utf-8")).hexdigest()

    def stored_weights(self, *names: str) -> dict[str, NDArray[Any]]:
        """Read some of the numbers as they are stored, or all; names that the file has not are passed over."""
        return _read_arrays(self.files.checked("weights.safetensors"), names)[0]

    @property
    def compact(self) -> bool:
        """True where the weights are stored in float16."""
        return any(array.dtype == np.float16 for array in self.stored_weights().values())

    @cached_property
    def weights(self) -> dict[str, NDArray[Any]]:
        """The trained numbers by name, in float32."""
        with _holding("weights", self.path / "weights.safetensors"):
            return unpack_weights(self.stored_weights())

    @cached_property
    def vectors(self) -> WordVectors:
        """The words the model knows."""
        path = self.files.checked("vectors.safetensors")
        arrays, facts = _read_arrays(path)
        with _holding("word vectors", path):
            words = _lines(arrays["words"]) if arrays["words"].size else []
            matrix = unpack(arrays)
            if matrix.shape[:-1] != (len(words),) or not np.isfinite(matrix).all():
                raise ValueError(f"{len(words)} words need as many rows of finite numbers")
            return WordVectors(tuple(words), matrix, float(facts["scale"]), _source(facts))

    @cached_property
    def concepts(self) -> ConceptTable | None:
        """The concepts the model knows; None where it reads none."""
        path = self.files.checked("concepts.safetensors")
        if not path.exists():
            return None
        arrays, facts = _read_arrays(path)
        with _holding("concepts", path):
            matrix = arrays["matrix"].astype(np.float32)
            if matrix.ndim != 2 or not np.isfinite(matrix).all():
                raise ValueError("a concept needs a vector of finite numbers")
            return ConceptTable(tuple(_lines(arrays["names"])), matrix, _source(facts))

    def precision(self, choice: PrecisionChoice = "auto") -> Precision:
        """Return what a choice means here: auto is int8 for a model that was trained for it and has the graphs."""
        if choice == "auto":
            exported = all((self.path / name).is_file() for name in READER_GRAPHS["int8"])
            return "int8" if self.config.model.get("rounded") is True and exported else "float32"
        if choice not in GRAPHS:
            raise ModelError(f"there is no precision '{choice}'; expected one of: {', '.join(('auto', *GRAPHS))}")
        return choice

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """The model's figures, as training measured them."""
        return read_json(self.path / "metrics.json")


def open_folder(name: str | Path | None = None) -> ModelFolder:
    """Open a model folder at a path, or by its name in the package or on the hub; None is the model in the box."""
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
        raise ModelError(
            f"there is no model '{wanted}': no folder of that name, and the package has: {', '.join(named)}"
        )
    return read_folder(path)


def shipped_models() -> dict[str, Path]:
    """Find the models in the package: the folder of each name, the model in the box first."""
    found = {path.parent.name: path.parent for path in sorted(_SHIPPED.glob("*/config.json"))}
    return dict(sorted(found.items(), key=lambda item: item[0] != DEFAULT))


def aliases_of(name: str) -> tuple[str, ...]:
    """Return the other names of a model in the package."""
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

    try:
        for name in (*ANSWERING, CHECKSUMS):  # of another model, where a folder is written again
            (path / name).unlink(missing_ok=True)
    except OSError as e:
        raise OutputError(f"cannot write {path}: {reason(e)}") from e
    contents = dict(files or {})
    contents["weights.safetensors"] = save({name: np.ascontiguousarray(array) for name, array in weights.items()})
    if vectors is not None:
        facts = {"scale": repr(vectors.scale), **_facts(vectors.source)}
        contents["vectors.safetensors"] = save({**pack(vectors.matrix, storage), "words": _bytes(vectors.words)}, facts)
    if concepts is not None:
        arrays: dict[str, NDArray[Any]] = {"matrix": concepts.matrix.astype(np.float16)}
        arrays["names"] = _bytes(concepts.names)
        contents["concepts.safetensors"] = save(arrays, _facts(concepts.source))
    _write_files(path, {**contents, "metrics.json": _json(metrics), "README.md": card.encode("utf-8")})
    contents["config.json"] = _json(dataclasses.asdict(config))
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    write_checksums(path, {name: digest for name, digest in digests.items() if name in ANSWERING})
    _write_files(path, {"config.json": contents["config.json"]})
    return ModelFolder(path, config)


def add_files(folder: ModelFolder, files: Mapping[str, bytes]) -> None:
    """Write more files that an answer comes from, and their checksums beside those that are there."""
    before = folder.checksums()
    _write_files(folder.path, files)
    written = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    write_checksums(folder.path, before | written)


def _write_files(path: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        with replacing(path / name, "wb") as stream:
            stream.write(content)


def _facts(source: VectorSource | None) -> dict[str, str]:
    return {"source": json.dumps(dataclasses.asdict(source))} if source else {}


def _source(facts: Mapping[str, str]) -> VectorSource | None:
    return VectorSource(**json.loads(facts["source"])) if facts.get("source") else None


def _bytes(lines: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(lines).encode("utf-8"), np.uint8)


def _lines(array: NDArray[Any]) -> list[str]:
    return array.tobytes().decode("utf-8").split("\n")


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode("utf-8")


@contextmanager
def _holding(what: str, path: Path) -> Iterator[None]:
    """Turn what goes wrong while a file's content is made sense of into one line."""
    try:
        yield
    except (KeyError, ValueError, TypeError, RecursionError) as e:
        raise ModelError(f"{path} does not hold {what} ({e})") from e


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
