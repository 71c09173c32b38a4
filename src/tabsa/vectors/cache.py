"""Word vectors for a vocabulary in one call, kept on disk for the next one.

A cache file is a safetensors file named after the source, the words and the fallbacks. It holds the rows, how each was
found, and the source's size, modification time and SHA-256. It is used if the source has the size and time it had; if
only the time differs (the file was copied or touched), if the source's SHA-256 is the same. So an unchanged file of
gigabytes is neither read nor hashed again. A cache file that is damaged, or that another program wrote, is ignored and
written anew; it takes its name only when complete, so processes may share a folder.
"""

import hashlib
import json
import warnings
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tabsa.errors import OutputError
from tabsa.files import replacing, sha256
from tabsa.vectors.fallbacks import WAYS, Fallbacks, candidates
from tabsa.vectors.reading import read_vectors
from tabsa.vectors.sources import Source, errors_named, locate, source_name
from tabsa.vectors.table import EmbeddingTable, lookup

_FORMAT: Final = "tabsa vectors 1"  # changes when a fallback's rule does, too


def load_vectors(
    path: str | Path,
    words: Iterable[str],
    *,
    fallbacks: Fallbacks | None = None,
    cache_dir: str | Path | None = None,
) -> EmbeddingTable:
    """A vector for every word, from a file of word vectors and the fallbacks for what it lacks.

    Args:
        path: a `.txt`, `.txt.gz` or `.zip` file, as `read_vectors` takes it.
        words: the vocabulary, each word once; row i of the result is word i.
        fallbacks: what stands in for a missing word; all of them by default.
        cache_dir: where to keep the result for the next call; None keeps nothing. A folder that cannot be written to
            costs a warning, not the vectors.
    """
    path, words, fallbacks = Path(path), tuple(words), fallbacks or Fallbacks()
    if cache_dir is None:
        return _read(path, words, fallbacks)
    with errors_named(path):
        file, member = locate(path)
        status = file.stat()
    name = source_name(file, member)
    size, modified = status.st_size, status.st_mtime_ns
    request = _request(name, words, fallbacks)
    key = hashlib.sha256(json.dumps(request).encode()).hexdigest()[:24]
    entry = Path(cache_dir) / f"vectors-{key}.safetensors"
    cached = _load(entry, request, words)
    if cached and (cached.size, cached.modified) == (size, modified):
        return cached.table
    if cached and cached.size == size and cached.table.source == Source(name, sha256(file)):
        table = cached.table
    else:
        table = _read(path, words, fallbacks)
    _save(entry, request, _Entry(table, size, modified))
    return table


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a cache file holds: a table, and its source's size and time of modification."""

    table: EmbeddingTable
    size: int
    modified: int  # nanoseconds


def _read(path: Path, words: tuple[str, ...], fallbacks: Fallbacks) -> EmbeddingTable:
    asked = {spelling for word in words for spelling in candidates(word, fallbacks)}
    return lookup(words, read_vectors(path, asked), fallbacks)


def _request(source: str, words: tuple[str, ...], fallbacks: Fallbacks) -> dict[str, Any]:
    """All that the rows depend on but the source's content."""
    digest = hashlib.sha256(json.dumps(words).encode()).hexdigest()
    return {"format": _FORMAT, "name": source, "words": digest, "fallbacks": asdict(fallbacks)}


def _digest(facts: str, *arrays: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Of all that a cache file holds: safetensors notices a file that is cut short, but no changed byte."""
    digest = hashlib.sha256(facts.encode())
    for array in arrays:
        digest.update(array.tobytes())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


def _save(entry: Path, request: dict[str, Any], content: _Entry) -> None:
    table = content.table
    how = np.array([WAYS.index(way) for way in table.how], dtype=np.uint8)
    facts = json.dumps(
        {
            "request": request,
            "source": table.source and asdict(table.source),
            "size": content.size,
            "modified": content.modified,
            "scale": table.scale,
        }
    )
    tensors: dict[str, npt.NDArray[Any]] = {
        "matrix": table.matrix,
        "how": how,
        "digest": _digest(facts, table.matrix, how),
    }
    try:
        with replacing(entry, "wb") as stream:
            stream.write(save(tensors, {"tabsa": facts}))
    except OutputError as e:
        warnings.warn(f"word vectors are not kept for the next run: {e}", stacklevel=3)


def _load(entry: Path, request: dict[str, Any], words: tuple[str, ...]) -> _Entry | None:
    """What the cache file holds, or None where there is none, or it is not what this request would have written."""
    try:
        with safe_open(entry, framework="numpy") as stream:
            text = (stream.metadata() or {}).get("tabsa")
            if text is None:
                return None
            matrix, how, digest = (stream.get_tensor(name) for name in ("matrix", "how", "digest"))
    except (OSError, SafetensorError):
        return None
    if not np.array_equal(digest, _digest(text, matrix, how)):
        return None
    facts = json.loads(text)
    if facts["request"] != request:
        return None
    ways = tuple(WAYS[code] for code in how)
    table = EmbeddingTable(words, matrix, facts["scale"], Source(**facts["source"]), ways)
    return _Entry(table, facts["size"], facts["modified"])
