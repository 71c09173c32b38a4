"""From a configuration to arrays: everything a run needs, and nothing that needs text again.

`Prepared` can be saved to one file and trained from on a machine that has neither the data nor the word vectors.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.batch import NOT_ASKED, PADDING, Encoded, aspect_words, count_words, encode, target_word
from tabsa.data import load
from tabsa.data.locate import find
from tabsa.errors import DataError
from tabsa.files import replacing
from tabsa.training.config import RunConfig
from tabsa.vectors import Coverage, Fallbacks, WordVectors, candidates, coverage, hashed_vectors, lookup, read_vectors


@dataclass(frozen=True)
class Prepared:
    """Data and vectors as arrays."""

    train: Encoded
    dev: Encoded
    matrix: NDArray[np.float32]  # the vocabulary's vectors, row 0 zero, (V, d)
    targets: tuple[int, ...]  # the row of each target token
    aspect_vectors: NDArray[np.float32]  # (A, d)
    aspects: tuple[str, ...]
    labels: tuple[str, ...]

    def save(self, path: Path) -> None:
        """Write everything to one safetensors file."""
        from safetensors.numpy import save

        arrays: dict[str, NDArray[Any]] = {"matrix": self.matrix, "aspect_vectors": self.aspect_vectors}
        for name, data in (("train", self.train), ("dev", self.dev)):
            arrays |= {f"{name}.{key}": array for key, array in data.arrays().items()}
        facts = {"targets": self.targets, "aspects": self.aspects, "labels": self.labels}
        with replacing(path, "wb") as stream:
            stream.write(save(arrays, {"prepared": json.dumps(facts)}))

    @classmethod
    def read(cls, path: Path) -> "Prepared":
        """Read what `save` wrote."""
        from safetensors import safe_open

        with safe_open(path, "numpy") as stream:
            facts = json.loads(stream.metadata()["prepared"])
            arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        train, dev = (
            Encoded(**{key: arrays[f"{name}.{key}"] for key in ("tokens", "lengths", "labels", "groups")})
            for name in ("train", "dev")
        )
        return cls(
            train,
            dev,
            arrays["matrix"],
            tuple(facts["targets"]),
            arrays["aspect_vectors"],
            tuple(facts["aspects"]),
            tuple(facts["labels"]),
        )


@dataclass(frozen=True)
class Vocabulary:
    """The word vectors a model folder keeps, and how well they cover the data."""

    vectors: WordVectors
    coverage: Coverage


def prepare(config: RunConfig, data_dir: Path | None = None) -> tuple[Prepared, Vocabulary]:
    """Load the data and the vectors that `config` names, and encode them."""
    data = config.data
    asked = data.aspects or None
    aspects: Any = "all" if asked == ("all",) else asked
    train = load(data.name, data.train, data_dir=data_dir, aspects=aspects)
    dev = load(data.name, data.dev, data_dir=data_dir, aspects=train.aspects)
    for dataset in (train, dev):
        if not any(example.opinions for example in dataset.examples):
            raise DataError(f"{dataset.name} {dataset.split} has no opinions on {', '.join(train.aspects)}")
    strange = sorted({o.polarity for e in dev.examples for o in e.opinions} - set(train.labels))
    if strange:
        raise DataError(f"{dev.name} {dev.split} has the polarity '{strange[0]}', which {train.split} does not have")
    counts = count_words((train, dev), targets=data.targets, max_length=data.max_length)
    vectors = _vectors(config, list(counts), data_dir)
    words = [PADDING, *counts]
    table = lookup(words, vectors)
    matrix = table.matrix.copy()
    matrix[0] = 0
    rows = {word: row for row, word in enumerate(words)}
    prepared = Prepared(
        encode(train, rows, targets=data.targets, max_length=data.max_length),
        encode(dev, rows, targets=data.targets, max_length=data.max_length),
        matrix,
        tuple(rows[target_word(slot)] for slot in range(data.targets)),
        aspect_matrix(train.aspects, vectors),
        train.aspects,
        train.labels,
    )
    return prepared, Vocabulary(vectors, coverage(table, counts))


def aspect_matrix(aspects: tuple[str, ...], vectors: WordVectors) -> NDArray[np.float32]:
    """The mean vector of each aspect's words, (A, d)."""
    return np.stack([lookup(dict.fromkeys(aspect_words(aspect)), vectors).matrix.mean(0) for aspect in aspects])


def _vectors(config: RunConfig, words: list[str], data_dir: Path | None) -> WordVectors:
    """The vectors to keep, rounded as the model folder stores them, so that training sees what use will see."""
    if not config.vectors.file:
        return hashed_vectors([], config.vectors.size)
    path = Path(config.vectors.file)
    path = path if path.is_file() else find(config.vectors.file, data_dir)
    fallbacks = Fallbacks()
    wanted = {spelling for word in words for spelling in candidates(word, fallbacks)}
    vectors = read_vectors(path, wanted)
    rounded = vectors.matrix.astype(np.float16).astype(np.float32)
    return WordVectors(vectors.words, rounded, vectors.scale, vectors.source)


def gold(data: Encoded) -> NDArray[np.int64]:
    """The gold labels by group, (groups, A)."""
    result = np.full((int(data.groups.max(initial=-1)) + 1, data.labels.shape[2]), NOT_ASKED, np.int64)
    there = data.groups >= 0
    result[data.groups[there]] = data.labels[there]
    return result
