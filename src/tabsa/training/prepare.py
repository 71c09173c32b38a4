"""From a configuration to arrays: everything a run needs, and nothing that needs text again.

`Prepared` can be saved to one file and trained from on a machine that has neither the data nor the word vectors.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.batch import NOT_ASKED, PADDING, Encoded, aspect_matrix, count_words, encode, target_word
from tabsa.concepts import ConceptTable, load_concepts
from tabsa.data import load
from tabsa.data.locate import find
from tabsa.errors import ConfigError, DataError
from tabsa.files import reason, replacing
from tabsa.models import MODELS
from tabsa.predictor import load as load_predictor
from tabsa.schema import Dataset
from tabsa.training.compose import JOINTS, compose
from tabsa.training.config import RunConfig
from tabsa.vectors import Coverage, Fallbacks, WordVectors, candidates, coverage, hashed_vectors, lookup, read_vectors
from tabsa.vectors.storage import rounded

_MOST_LABELS = 1 + int(np.iinfo(np.int8).max)  # what `Encoded.labels` can tell apart


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
    concepts: NDArray[np.float32] | None = (
        None  # vectors of the data's concepts, row 0 zero, for a model that reads them
    )

    def save(self, path: Path) -> None:
        """Write everything to one safetensors file."""
        from safetensors.numpy import save

        arrays: dict[str, NDArray[Any]] = {"matrix": self.matrix, "aspect_vectors": self.aspect_vectors}
        for name, data in (("train", self.train), ("dev", self.dev)):
            arrays |= {f"{name}.{key}": array for key, array in data.arrays().items()}
        if self.concepts is not None:
            arrays["concepts"] = self.concepts
        facts = {"targets": self.targets, "aspects": self.aspects, "labels": self.labels}
        with replacing(path, "wb") as stream:
            stream.write(save(arrays, {"prepared": json.dumps(facts)}))

    @classmethod
    def read(cls, path: Path) -> "Prepared":
        """Read what `save` wrote."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "numpy") as stream:
                facts = json.loads((stream.metadata() or {})["prepared"])
                arrays = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
        except OSError as e:
            raise DataError(f"cannot read {path}: {reason(e)}") from e
        except (SafetensorError, KeyError) as e:
            raise DataError(f"{path} is damaged, or not what `Prepared.save` wrote ({e})") from e
        train, dev = (
            Encoded(
                **{key: arrays[f"{name}.{key}"] for key in ("tokens", "lengths", "labels", "groups")},
                concepts=arrays.get(f"{name}.concepts"),
            )
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
            arrays.get("concepts"),
        )


@dataclass(frozen=True)
class Vocabulary:
    """The word vectors and concepts a model folder keeps, and how well they cover the data."""

    vectors: WordVectors
    coverage: Coverage
    concepts: ConceptTable | None = None


def prepare(config: RunConfig, data_dir: Path | None = None) -> tuple[Prepared, Vocabulary]:
    """Load the data and the vectors that `config` names, and encode them."""
    data = config.data
    train, dev = datasets(config, data_dir)
    counts = count_words((train, dev), targets=data.targets, max_length=data.max_length)
    if data.composed:
        counts.update(JOINTS)
    vectors = _vectors(config, list(counts), data_dir)
    words = [PADDING, *counts]
    table = lookup(words, vectors)
    matrix = table.matrix.copy()
    matrix[0] = 0
    rows = {word: row for row, word in enumerate(words)}
    concepts = _concepts(config, data_dir)
    encoded_train, encoded_dev = (
        encode(dataset, rows, targets=data.targets, max_length=data.max_length, concepts=concepts)
        for dataset in (train, dev)
    )
    target_rows = tuple(rows[target_word(slot)] for slot in range(data.targets))
    if data.composed:
        joints = [rows[word] for word in JOINTS]
        encoded_train = compose(encoded_train, target_rows, joints, share=data.composed, seed=config.training.seed)
    prepared = Prepared(
        encoded_train,
        encoded_dev,
        matrix,
        target_rows,
        aspect_matrix(train.aspects, vectors),
        train.aspects,
        train.labels,
    )
    if concepts is not None:
        prepared = _with_concepts(prepared, concepts)
    said = {word: count for word, count in counts.items() if word not in {target_word(n) for n in range(data.targets)}}
    return prepared, Vocabulary(vectors, coverage(table, said), concepts)


def datasets(config: RunConfig, data_dir: Path | None) -> tuple[Dataset, Dataset]:
    """What to learn from and what to select by, with the same aspects and labels."""
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
    if len(train.labels) > _MOST_LABELS:
        raise DataError(
            f"{train.name} has {len(train.labels) - 1} polarities; expected at most {_MOST_LABELS - 1}, each a class"
        )
    return train, replace(dev, labels=train.labels)


def _vectors(config: RunConfig, words: list[str], data_dir: Path | None) -> WordVectors:
    """The vectors to keep, the target tokens' among them."""
    vectors = _file_vectors(config, words, data_dir) if config.vectors.file else hashed_vectors([], config.vectors.size)
    tokens = [target_word(slot) for slot in range(config.data.targets)]
    made_up = hashed_vectors(tokens, vectors.dim, scale=vectors.scale * config.vectors.target_scale)
    # Rounded as the model folder stores them, so that training sees what use will see.
    matrix = rounded(np.concatenate([made_up.matrix, vectors.matrix]), config.vectors.storage)
    return WordVectors((*tokens, *vectors.words), matrix, vectors.scale, vectors.source)


def _file_vectors(config: RunConfig, words: list[str], data_dir: Path | None) -> WordVectors:
    """The file's vectors for the data's words and whatever their fallbacks need, and its first words."""
    if config.vectors.file == "box":
        return _box_vectors()
    path = Path(config.vectors.file)
    if not any(part.is_file() for part in (path, *path.parents)):  # a part of the path may be a zip
        path = find(config.vectors.file, data_dir)
    wanted = {spelling for word in words for spelling in candidates(word, Fallbacks())}
    return read_vectors(path, wanted, first=config.vectors.first)


def _concepts(config: RunConfig, data_dir: Path | None) -> ConceptTable | None:
    """The concepts of a model that reads them."""
    if "concepts" not in MODELS[config.kind].inputs:
        return None
    table = load_concepts(config.model.concepts, data_dir)
    if not config.model.related:
        return table
    if not config.vectors.file:
        raise ConfigError("'model.related' is true, which takes word vectors; expected their file as 'vectors.file'")
    return table.with_related(_file_vectors(config, sorted(table.related_words()), data_dir))


def _with_concepts(prepared: Prepared, table: ConceptTable) -> Prepared:
    """The data with its concepts numbered anew, and the vectors of those that it has."""
    of_splits = [np.zeros(0) if data.concepts is None else data.concepts for data in (prepared.train, prepared.dev)]
    used = np.unique(np.concatenate([[0], *(rows.ravel() for rows in of_splits)])).astype(np.int32)
    train, dev = (np.searchsorted(used, rows).astype(np.int32) for rows in of_splits)
    return replace(
        prepared,
        train=replace(prepared.train, concepts=train),
        dev=replace(prepared.dev, concepts=dev),
        concepts=table.matrix[used],
    )


def _box_vectors() -> WordVectors:
    """The words that the model in the box knows."""
    known = load_predictor().folder.vectors
    rows = [row for row, word in enumerate(known.words) if not word.startswith("<target")]
    return WordVectors(tuple(known.words[row] for row in rows), known.matrix[rows], known.scale, known.source)


def gold(data: Encoded) -> NDArray[np.int64]:
    """The gold labels by group, (groups, A)."""
    result = np.full((int(data.groups.max(initial=-1)) + 1, data.labels.shape[2]), NOT_ASKED, np.int64)
    there = data.groups >= 0
    result[data.groups[there]] = data.labels[there]
    return result
