"""From a configuration to arrays of words: everything a run of the paper's systems needs, and no text."""

from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import open_folder
from tabsa.datasets.checking import any_named, mostly_implied, notes_on
from tabsa.datasets.loading import load
from tabsa.datasets.locate import find
from tabsa.embeddings.concepts import ConceptTable, load_concepts
from tabsa.embeddings.fallbacks import candidates
from tabsa.embeddings.glove import read_vectors
from tabsa.embeddings.packing import rounded
from tabsa.embeddings.vectors import WordVectors, align, hashed_vectors, known_share, lookup
from tabsa.encoding.arrays import PADDING, Encoded, count_words, encode
from tabsa.encoding.target_words import aspect_matrix, target_word
from tabsa.errors import DataError
from tabsa.schema import Dataset
from tabsa.training.augmentation import JOINTS, compose
from tabsa.training.run_config import RunConfig


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
    concepts: NDArray[np.float32] | None = None  # vectors of concepts, row 0 zero, where a model reads them
    test: Encoded | None = None  # a split that nothing is learnt from and nothing selected by
    words: tuple[str, ...] = ()  # of each row of `matrix`
    vectors: dict[str, Any] = field(default_factory=dict)  # what they are, for a report
    composed: int = 0  # readings at the end of `train` that are composed of others
    soft_labels: NDArray[np.float32] | None = None  # teachers' of `train`, learnt instead, (N, K, A, labels)
    implied: bool = False  # most targets of `train` are not named in their texts
    named: bool = True  # some are
    notes: tuple[str, ...] = ()  # what to know of the data beside figures of it


@dataclass(frozen=True)
class FolderVocabulary:
    """The word vectors and concepts that a model folder takes along, and how well they cover the data."""

    vectors: WordVectors
    known_tokens: float  # the share of the data's words that have a vector which is not random
    concepts: ConceptTable | None = None


def prepare(config: RunConfig, data_dir: Path | None = None) -> tuple[Prepared, FolderVocabulary]:
    """Load the data and the vectors that `config` names, and encode them."""
    data = config.data
    train, dev = datasets(config, data_dir)
    counts = count_words((train, dev), targets=data.targets, max_length=data.max_length)
    composed = config.augmentation.composed
    if composed:
        counts.update(JOINTS)
    vectors = folder_vectors(config, list(counts), data_dir)
    words = [PADDING, *counts]
    table = lookup(words, vectors)
    matrix = table.matrix.copy()
    matrix[0] = 0
    rows = {word: row for row, word in enumerate(words)}
    concepts = load_concepts(config.model.concepts, data_dir) if config.system.concepts else None
    read = partial(encode, rows=rows, targets=data.targets, max_length=data.max_length, concepts=concepts)
    encoded_train, encoded_dev = map(read, (train, dev))
    plain, tokens = len(encoded_train), [target_word(slot) for slot in range(data.targets)]
    target_rows = tuple(rows[token] for token in tokens)
    if composed:
        joints = [rows[word] for word in JOINTS]
        encoded_train = compose(encoded_train, target_rows, joints, share=composed, seed=config.training.seed)
    source = None if vectors.source is None else asdict(vectors.source)
    known = len(vectors) - data.targets  # the target tokens' are among them
    prepared = Prepared(
        encoded_train,
        encoded_dev,
        matrix,
        target_rows,
        aspect_matrix(train.aspects, vectors),
        train.aspects,
        train.labels,
        None if concepts is None else concepts.matrix,
        words=tuple(words),
        vectors={"file": config.vectors.file or "random", "source": source, "words": known},
        composed=len(encoded_train) - plain,
        implied=mostly_implied(train),
        named=any_named(train),
        notes=(*notes_on(train, start=True), *notes_on(dev)),
    )
    texts = {word: count for word, count in counts.items() if word not in tokens}
    return prepared, FolderVocabulary(vectors, known_share(table, texts), concepts)


def datasets(config: RunConfig, data_dir: Path | None) -> tuple[Dataset, Dataset]:
    """The datasets to learn from and to select by, with the same aspects and labels."""
    data = config.data
    train = load(data.name, data.train, data_dir=data_dir, aspects=data.aspects or None, columns=data.own_columns)
    if not any(example.opinions for example in train.examples):
        raise DataError(f"{train.name} {train.split} has no opinions on {', '.join(train.aspects)}")
    if data.more:
        more = load(data.more, "all", aspects=train.aspects, columns=data.own_columns)
        _check_polarities(more, train, f"'data.more' ({more.name})", train.name)
        train = replace(train, examples=(*train.examples, *more.examples))
    return train, split(config, data.dev, train, data_dir)


def split(config: RunConfig, name: str, train: Dataset, data_dir: Path | None) -> Dataset:
    """Another split of a run's data, with the aspects and labels of what it learns from."""
    columns = config.data.own_columns
    dataset = load(config.data.name, name, data_dir=data_dir, aspects=train.aspects, columns=columns)
    if not any(example.opinions for example in dataset.examples):
        held = f"its {len(dataset.examples):,} text{'s' * (len(dataset.examples) != 1)}"
        raise DataError(
            f"{dataset.name} {dataset.split} has no opinions on {', '.join(train.aspects)} in {held}; a single file is "
            "split by itself, and needs more texts for that, or make a folder with a file for each split"
        )
    _check_polarities(dataset, train, f"{dataset.name} {name}", train.split)
    return replace(dataset, labels=train.labels)


def _check_polarities(dataset: Dataset, train: Dataset, name: str, other: str) -> None:
    strange = sorted({o.polarity for e in dataset.examples for o in e.opinions} - set(train.labels))
    if strange:
        raise DataError(f"{name} has the polarity '{strange[0]}', which {other} does not have")


def folder_vectors(config: RunConfig, words: list[str], data_dir: Path | None) -> WordVectors:
    """The vectors that the folder takes along, the target tokens' among them."""
    vectors = _file_vectors(config, words, data_dir) if config.vectors.file else hashed_vectors([], config.vectors.size)
    tokens = [target_word(slot) for slot in range(config.data.targets)]
    made_up = hashed_vectors(tokens, vectors.dim, scale=vectors.scale * config.vectors.target_scale)
    # Rounded as the model folder stores them, so that training sees what use will see.
    matrix = rounded(np.concatenate([made_up.matrix, vectors.matrix]), config.vectors.storage)
    return WordVectors((*tokens, *vectors.words), matrix, vectors.scale, vectors.source)


def _file_vectors(config: RunConfig, words: list[str], data_dir: Path | None) -> WordVectors:
    """The file's vectors for the data's words and whatever their fallbacks need, and its first words."""
    if config.vectors.file == "box":  # the words that the package's model of places knows
        known = open_folder("places").vectors
        rows = [row for row, word in enumerate(known.words) if not word.startswith("<target")]
        return WordVectors(tuple(known.words[row] for row in rows), known.matrix[rows], known.scale, known.source)
    wanted = {spelling for word in words for spelling in candidates(word)}
    vectors = read_vectors(_vector_file(config.vectors.file, data_dir), wanted, first=config.vectors.first)
    if not config.vectors.aligned:
        return vectors
    own = set(vectors.words)
    lacking = [word for word in words if own.isdisjoint(candidates(word))]
    file = _vector_file(config.vectors.aligned, data_dir)
    other = read_vectors(file, {*own, *lacking}, first=config.vectors.aligned_first)
    return align([*lacking, *other.words], vectors, other)


def _vector_file(name: str, data_dir: Path | None) -> Path:
    path = Path(name)
    is_file = any(part.is_file() for part in (path, *path.parents))  # a part of the path may be a zip
    return path if is_file else find(name, data_dir)
