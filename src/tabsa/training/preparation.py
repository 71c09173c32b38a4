"""From a configuration to arrays: everything a run needs, and nothing that needs text again.

`Prepared` can be saved to one file and trained from on a machine that has neither the data nor the word vectors.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabsa.checkpoint.model_folder import open_folder
from tabsa.datasets.checking import any_named, mostly_implied, notes_on
from tabsa.datasets.loading import load
from tabsa.datasets.locate import find
from tabsa.embeddings.alignment import align
from tabsa.embeddings.concepts import ConceptTable, load_concepts
from tabsa.embeddings.fallbacks import candidates
from tabsa.embeddings.glove import read_vectors
from tabsa.embeddings.packing import rounded
from tabsa.embeddings.vectors import Coverage, WordVectors, coverage, hashed_vectors, lookup
from tabsa.encoding.arrays import PADDING, Encoded, count_words, encode
from tabsa.encoding.target_words import aspect_matrix, target_word
from tabsa.errors import DataError
from tabsa.schema import Dataset
from tabsa.training.augmentation import JOINTS, compose
from tabsa.training.config import RunConfig
from tabsa.training.prepared_file import read_prepared, write_prepared

_KIND = "prepared"
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
    test: Encoded | None = None  # a split that nothing is learnt from and nothing selected by
    words: tuple[str, ...] = ()  # of each row of `matrix`
    vectors: dict[str, Any] = field(default_factory=dict)  # what they are, for a report
    composed: int = 0  # readings at the end of `train` that are composed of others
    soft_labels: NDArray[np.float32] | None = None  # teachers' of `train`, learnt instead, (N, K, A, labels)
    implied: bool = False  # most targets of `train` are not named in their texts
    named: bool = True  # some are
    notes: tuple[str, ...] = ()  # what to know of the data beside figures of it

    def save(self, path: Path) -> None:
        """Write everything to one safetensors file."""
        arrays: dict[str, NDArray[Any]] = {"matrix": self.matrix, "aspect_vectors": self.aspect_vectors}
        for name, data in (("train", self.train), ("dev", self.dev), ("test", self.test)):
            arrays |= {} if data is None else {f"{name}.{key}": array for key, array in data.arrays().items()}
        if self.concepts is not None:
            arrays["concepts"] = self.concepts
        if self.soft_labels is not None:
            arrays["soft_labels"] = self.soft_labels
        names = ("targets", "aspects", "labels", "words", "vectors", "composed", "implied", "named", "notes")
        facts = {name: getattr(self, name) for name in names}
        write_prepared(path, _KIND, arrays, facts)

    @classmethod
    def read(cls, path: Path) -> "Prepared":
        """Read what `save` wrote."""
        arrays, facts = read_prepared(path, _KIND)
        return cls(
            _encoded(arrays, "train"),
            _encoded(arrays, "dev"),
            arrays["matrix"],
            tuple(facts["targets"]),
            arrays["aspect_vectors"],
            tuple(facts["aspects"]),
            tuple(facts["labels"]),
            arrays.get("concepts"),
            _encoded(arrays, "test") if "test.tokens" in arrays else None,
            tuple(facts.get("words", ())),
            facts.get("vectors", {}),
            facts.get("composed", 0),
            arrays.get("soft_labels"),
            facts.get("implied", False),
            facts.get("named", True),
            tuple(facts.get("notes", ())),
        )


def _encoded(arrays: Mapping[str, NDArray[Any]], split: str) -> Encoded:
    parts = {key: arrays[f"{split}.{key}"] for key in ("tokens", "lengths", "labels", "groups", "gold")}
    return Encoded(**parts, concepts=arrays.get(f"{split}.concepts"))


@dataclass(frozen=True)
class KeptVocabulary:
    """The word vectors and concepts a model folder keeps, and how well they cover the data."""

    vectors: WordVectors
    coverage: Coverage
    concepts: ConceptTable | None = None


def prepare(config: RunConfig, data_dir: Path | None = None, *, test: str = "") -> tuple[Prepared, KeptVocabulary]:
    """Load the data and the vectors that `config` names, and encode them.

    `test` names a split to encode besides. What is learnt does not depend on it: words that only it has get their rows
    after all others.
    """
    data = config.data
    train, dev = datasets(config, data_dir)
    counts = count_words((train, dev), targets=data.targets, max_length=data.max_length)
    composed = config.augmentation.composed
    if composed:
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
    plain = len(encoded_train)
    target_rows = tuple(rows[target_word(slot)] for slot in range(data.targets))
    if composed:
        joints = [rows[word] for word in JOINTS]
        encoded_train = compose(encoded_train, target_rows, joints, share=composed, seed=config.training.seed)
    prepared = Prepared(
        encoded_train,
        encoded_dev,
        matrix,
        target_rows,
        aspect_matrix(train.aspects, vectors),
        train.aspects,
        train.labels,
        words=tuple(words),
        vectors=_described(config, vectors),
        composed=len(encoded_train) - plain,
        implied=mostly_implied(train),
        named=any_named(train),
        notes=(*notes_on(train, start=True), *notes_on(dev)),
    )
    if test:
        prepared = _with_test(prepared, config, split(config, test, train, data_dir), concepts, data_dir)
    if concepts is not None:
        prepared = _with_concepts(prepared, concepts)
    tokens = {target_word(slot) for slot in range(data.targets)}
    texts = {word: count for word, count in counts.items() if word not in tokens}
    return prepared, KeptVocabulary(vectors, coverage(table, texts), concepts)


def _described(config: RunConfig, vectors: WordVectors) -> dict[str, Any]:
    """What vectors these are, for a report."""
    source = None if vectors.source is None else asdict(vectors.source)
    made_up = config.data.targets  # the target tokens' are among them
    return {"file": config.vectors.file or "random", "source": source, "words": len(vectors) - made_up}


def _with_test(
    prepared: Prepared, config: RunConfig, dataset: Dataset, concepts: ConceptTable | None, data_dir: Path | None
) -> Prepared:
    """With a further split; words are looked up anew, because a file is read for the words it is asked for."""
    data = config.data
    counts = count_words((dataset,), targets=data.targets, max_length=data.max_length)
    own = set(prepared.words)
    added = [word for word in counts if word not in own]
    words = (*prepared.words, *added)
    matrix = lookup(added, _vectors(config, list(words[1:]), data_dir)).matrix
    rows = {word: row for row, word in enumerate(words)}
    test = encode(dataset, rows, targets=data.targets, max_length=data.max_length, concepts=concepts)
    return replace(prepared, test=test, words=words, matrix=np.concatenate([prepared.matrix, matrix]))


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
    strange = sorted({o.polarity for e in dataset.examples for o in e.opinions} - set(train.labels))
    if strange:
        raise DataError(f"{dataset.name} {name} has the polarity '{strange[0]}', which {train.split} does not have")
    return replace(dataset, labels=train.labels)


def datasets(config: RunConfig, data_dir: Path | None) -> tuple[Dataset, Dataset]:
    """What to learn from and what to select by, with the same aspects and labels."""
    data = config.data
    aspects = data.aspects or None
    train = load(data.name, data.train, data_dir=data_dir, aspects=aspects, columns=data.own_columns)
    if not any(example.opinions for example in train.examples):
        raise DataError(f"{train.name} {train.split} has no opinions on {', '.join(train.aspects)}")
    if data.more:
        train = _joined(train, load(data.more, "all", aspects=train.aspects, columns=data.own_columns))
    dev = split(config, data.dev, train, data_dir)
    if len(train.labels) > _MOST_LABELS:
        raise DataError(
            f"{train.name} has {len(train.labels) - 1} polarities; expected at most {_MOST_LABELS - 1}, each a class"
        )
    return train, dev


def _joined(train: Dataset, more: Dataset) -> Dataset:
    """What to learn from with more behind it, whose polarities it must know."""
    strange = sorted({o.polarity for e in more.examples for o in e.opinions} - set(train.labels))
    if strange:
        raise DataError(f"'data.more' ({more.name}) has the polarity '{strange[0]}', which {train.name} does not have")
    return replace(train, examples=(*train.examples, *more.examples))


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
    if not any(part.is_file() for part in (path, *path.parents)):  # a part of the path may be a zip
        path = find(name, data_dir)
    return path


def _concepts(config: RunConfig, data_dir: Path | None) -> ConceptTable | None:
    """The concepts of a model that reads them."""
    return load_concepts(config.model.concepts, data_dir) if config.system.concepts else None


def _with_concepts(prepared: Prepared, table: ConceptTable) -> Prepared:
    """The data with its concepts numbered anew, and the vectors of those that it has; test's own come last."""
    learnt = [data.concepts for data in (prepared.train, prepared.dev) if data.concepts is not None]
    used = np.unique(np.concatenate([[0], *(rows.ravel() for rows in learnt)])).astype(np.int32)
    if prepared.test is not None and prepared.test.concepts is not None:
        used = np.concatenate([used, np.setdiff1d(prepared.test.concepts, used)])
    number = np.zeros(len(table.matrix), np.int32)
    number[used] = np.arange(len(used))

    def renumbered(data: Encoded) -> Encoded:
        return data if data.concepts is None else replace(data, concepts=number[data.concepts])

    return replace(
        prepared,
        train=renumbered(prepared.train),
        dev=renumbered(prepared.dev),
        test=None if prepared.test is None else renumbered(prepared.test),
        concepts=table.matrix[used],
    )


def _box_vectors() -> WordVectors:
    """The words that the package's model of places knows."""
    known = open_folder("places").vectors
    rows = [row for row, word in enumerate(known.words) if not word.startswith("<target")]
    return WordVectors(tuple(known.words[row] for row in rows), known.matrix[rows], known.scale, known.source)
