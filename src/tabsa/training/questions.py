"""From a configuration to texts with questions, as arrays: everything a reader's run needs besides its encoder.

`PreparedQuestions` can be saved to one file and trained from on a machine that has neither the data nor a tokeniser.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.datasets.checking import mostly_implied, notes_on
from tabsa.datasets.loading import load
from tabsa.datasets.locate import find
from tabsa.datasets.records import Columns
from tabsa.encoding.pieces import PieceReader
from tabsa.encoding.questions import AspectTable, Questions, encode_questions, joined_questions
from tabsa.errors import ConfigError, DataError, first_line
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, Dataset, Example, Opinion
from tabsa.training.config import RunConfig
from tabsa.training.prepared_file import read_prepared, write_prepared

LABELS: Final = (NONE, POSITIVE, NEGATIVE, NEUTRAL, MIXED)  # of a model that learns from several datasets
_KIND: Final = "questions"
_CONFLICT: Final = "conflict"  # SemEval-2014's word for mixed
_SLOTS: Final = 16  # placeholders that augmentation may need
# What stands for the unnamed thing that a review is about, behind `this` or `the`.
_THINGS: Final = (
    "hotel", "place", "restaurant", "phone", "laptop", "computer", "book", "novel", "course", "class", "product",
    "item", "shoe", "shoes", "boot", "boots", "app", "dress", "shirt", "jacket", "game", "tablet", "camera", "machine",
    "store", "shop", "bar", "food", "tea", "coffee", "snack", "notebook", "netbook",
)  # fmt: skip


@dataclass(frozen=True)
class Held:
    """A dataset that is judged, not learnt from."""

    name: str
    data: Questions
    gold: NDArray[np.int64]  # of every question of the dataset, -1 where it was not asked, (questions,)
    aspects: int  # of a group, where every group is asked the same; 0 where not
    labels: tuple[str, ...]  # its own


@dataclass(frozen=True)
class Pieces:
    """What augmentation and batches need to know of a tokeniser."""

    first: int
    last: int
    padding: int
    placeholders: tuple[tuple[int, ...], ...]
    before: tuple[int, ...]  # `this`, `the`
    things: tuple[int, ...]
    colon: int

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> "Pieces":
        """What JSON kept of one."""
        plain: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**plain | {"placeholders": tuple(map(tuple, values["placeholders"]))})


@dataclass(frozen=True)
class PreparedQuestions:
    """Texts with questions, and the table of the aspects that are asked."""

    train: Questions
    held: tuple[Held, ...]  # dev first
    aspects: tuple[str, ...]
    aspect_pieces: NDArray[np.int32]  # padded with -1, (A, L)
    inventories: tuple[NDArray[np.int32], ...]  # of each dataset; empty where a text asks its own aspects
    repeats: tuple[int, ...]  # how often each dataset is read in an epoch
    labels: tuple[str, ...]
    pieces: Pieces
    implied: bool = False  # most targets of the first dataset are not named in their texts
    notes: tuple[str, ...] = ()  # what to know of dev beside figures of it

    def save(self, path: Path) -> None:
        """Write everything to one safetensors file."""
        arrays: dict[str, NDArray[Any]] = {"aspect_pieces": self.aspect_pieces, **self.train.arrays("train.")}
        for number, held in enumerate(self.held):
            arrays |= held.data.arrays(f"held.{number}.") | {f"gold.{number}": held.gold}
        arrays |= {f"inventory.{number}": rows for number, rows in enumerate(self.inventories)}
        facts = {
            "aspects": self.aspects,
            "labels": self.labels,
            "repeats": self.repeats,
            "pieces": vars(self.pieces),
            "held": [{"name": h.name, "aspects": h.aspects, "labels": h.labels} for h in self.held],
            "implied": self.implied,
            "notes": self.notes,
        }
        write_prepared(path, _KIND, arrays, facts)

    @classmethod
    def read(cls, path: Path) -> "PreparedQuestions":
        """Read what `save` wrote."""
        arrays, facts = read_prepared(path, _KIND)
        held = tuple(
            Held(f["name"], Questions.of(arrays, f"held.{n}."), arrays[f"gold.{n}"], f["aspects"], tuple(f["labels"]))
            for n, f in enumerate(facts["held"])
        )
        return cls(
            Questions.of(arrays, "train."),
            held,
            tuple(facts["aspects"]),
            arrays["aspect_pieces"],
            tuple(arrays[f"inventory.{n}"] for n in range(len(facts["repeats"]))),
            tuple(facts["repeats"]),
            tuple(facts["labels"]),
            Pieces.of(facts["pieces"]),
            facts.get("implied", False),
            tuple(facts.get("notes", ())),
        )


def prepare_questions(
    config: RunConfig, reader: PieceReader, data_dir: Path | None = None, *, judged: tuple[Dataset, ...] = ()
) -> PreparedQuestions:
    """Load and encode what a configuration names; `judged` are further datasets that nothing is learnt from."""
    data, questions = config.data, config.questions
    columns = data.own_columns
    main = named_dataset(data.name, data.train, data.aspects or None, data_dir, columns)
    sets = [(main, 1), *(_set(text, data_dir) for text in questions.sets)]
    if data.more:
        sets.append((named_dataset(data.more, "all", main.aspects, data_dir, columns), 1))
    dev = named_dataset(data.name, data.dev, questions.dev_aspects or data.aspects or None, data_dir, columns)
    labels = labels_of([*(dataset for dataset, _ in sets), dev])
    return prepare_datasets(config, reader, sets, (dev, *judged), labels)


def prepare_datasets(
    config: RunConfig,
    reader: PieceReader,
    sets: Sequence[tuple[Dataset, int]],
    judged: Sequence[Dataset],
    labels: tuple[str, ...],
) -> PreparedQuestions:
    """The same of datasets that are there: those that are learnt from, and how often, the first the one that counts."""
    questions, (main, _), dev = config.questions, sets[0], judged[0]
    table = AspectTable(reader)
    longest = config.data.max_length or 512
    encoded, inventories = [], []
    for number, (dataset, _) in enumerate(sets):
        own = all(example.aspects is not None for example in dataset.examples)
        whole = own or len(dataset.aspects) <= questions.ask_all
        # Of a large inventory only the opinions are kept here; what is silent is drawn in every epoch.
        encoded.append(_kept(encode_questions(dataset, reader, table, labels, longest=longest, number=number), whole))
        rows = [] if whole else [table.row(aspect) for aspect in dataset.aspects]
        inventories.append(np.array(rows, np.int32))
    held = tuple(_held(dataset, reader, table, labels, longest) for dataset in judged)
    return PreparedQuestions(
        joined_questions(encoded),
        held,
        tuple(table.rows),
        table.pieces(),
        tuple(inventories),
        tuple(repeat for _, repeat in sets),
        labels,
        known_pieces(reader),
        mostly_implied(main),
        notes_on(dev),
    )


def known_pieces(reader: PieceReader) -> Pieces:
    """What training needs of a tokeniser."""
    vocabulary = reader.wordpieces.vocabulary
    padding = next((vocabulary[piece] for piece in ("[PAD]", "<pad>") if piece in vocabulary), 0)
    return Pieces(
        reader.first,
        reader.last,
        padding,
        tuple(reader.placeholder(slot) for slot in range(_SLOTS)),
        tuple(piece for word in ("this", "the") for piece in reader.words(word)),
        tuple(dict.fromkeys(reader.words(thing)[0] for thing in _THINGS)),
        reader.words(":")[0],
    )


def translated(prepared: PreparedQuestions, rows: NDArray[np.int32], pieces: Pieces) -> PreparedQuestions:
    """The same for another tokeniser with the same pieces: `rows` has the new number of each old one."""

    def moved(data: Questions) -> Questions:
        return replace(data, pieces=rows[data.pieces])

    table = prepared.aspect_pieces
    return replace(
        prepared,
        train=moved(prepared.train),
        held=tuple(replace(held, data=moved(held.data)) for held in prepared.held),
        aspect_pieces=np.where(table == -1, -1, rows[np.maximum(table, 0)]).astype(np.int32),
        pieces=pieces,
    )


def piece_rows(old: PieceReader, new: PieceReader) -> NDArray[np.int32]:
    """The new tokeniser's number of each of the old one's pieces; its unknown piece where it lacks one."""
    vocabulary, others, unknown = old.wordpieces.vocabulary, new.wordpieces.vocabulary, new.wordpieces.unknown
    rows = np.full(max(vocabulary.values()) + 1, unknown, np.int32)
    for piece, number in vocabulary.items():
        rows[number] = others.get(piece, unknown)
    rows[[old.first, old.last]] = new.first, new.last
    return rows


def _kept(data: Questions, whole: bool) -> Questions:
    """All questions, or those that are not silent; one that nothing is learnt from stays, so that it is not drawn."""
    if whole:
        return data
    chosen = data.labels != 0
    before = np.concatenate([[0], np.cumsum(chosen)])
    names = ("targets", "aspects", "labels", "numbers")
    return replace(data, first=before[data.first], **{name: getattr(data, name)[chosen] for name in names})


def _held(dataset: Dataset, reader: PieceReader, table: AspectTable, labels: tuple[str, ...], longest: int) -> Held:
    data = encode_questions(dataset, reader, table, labels, longest=longest)
    own = any(example.aspects is not None for example in dataset.examples)
    index = {label: place for place, label in enumerate(labels)}
    gold = np.array([index[polarity] for *_, polarity in dataset.questions()], np.int64)
    kept = tuple(label for label in labels if label in dataset.labels)
    return Held(f"{dataset.name} {dataset.split}", data, gold, 0 if own else len(dataset.aspects), kept)


def labels_of(datasets: list[Dataset]) -> tuple[str, ...]:
    """The labels of several datasets: those that have a meaning here first, in their order, then others."""
    found = dict.fromkeys(label for dataset in datasets for label in dataset.labels)
    return (*(label for label in LABELS if label in found), *(label for label in found if label not in LABELS))


def _set(text: str, data_dir: Path | None) -> tuple[Dataset, int]:
    """What one entry of `questions.sets` names, and how often it is read."""
    match = re.fullmatch(r"\s*(.+?)\s*(?:\*\s*(\d+))?\s*", text)
    if match is None:
        raise ConfigError(f"'questions.sets' has {text!r}; expected NAME, NAME:SPLIT, NAME:SPLIT:all or a file")
    name, split, aspects = (*match[1].split(":"), "", "")[:3]
    file = not split and ("/" in name or "." in name)
    dataset = named_dataset(name, split or ("all" if file else "train"), (aspects,) if aspects else None, data_dir)
    return dataset, int(match[2] or 1)


def named_dataset(
    name: str, split: str, aspects: Any, data_dir: Path | None, columns: Columns | None = None
) -> Dataset:
    """A dataset, SemEval-2014's conflict called mixed as elsewhere."""
    dataset = load(name, split, data_dir=data_dir, aspects=aspects, columns=columns)
    if _CONFLICT not in dataset.labels:
        return dataset

    def opinion(one: Opinion) -> Opinion:
        return replace(one, polarity=MIXED) if one.polarity == _CONFLICT else one

    def example(one: Example) -> Example:
        return replace(one, opinions=tuple(map(opinion, one.opinions)))

    labels = tuple(MIXED if label == _CONFLICT else label for label in dataset.labels)
    return replace(dataset, labels=labels, examples=tuple(map(example, dataset.examples)))


def encoder_folder(name: str, data_dir: Path | None = None) -> Path:
    """Where the encoder that a configuration names lies: a folder, or one below a data folder or its neighbour."""
    if not name:
        raise ConfigError("'model.encoder' is empty; expected the folder of a BERT or an MPNet, or its name on the hub")
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    for place in (f"encoders/{name}", f"../encoders/{name}"):
        try:
            return find(place, data_dir)
        except DataError:
            continue
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise ConfigError(f"there is no folder '{name}' for 'model.encoder'; a name on the hub is OWNER/NAME")
    return _from_hub(name)


def _from_hub(name: str) -> Path:
    """The folder of a model of the hub in the hub's own cache; asks the hub where it is not there yet."""
    try:
        from huggingface_hub import hf_hub_download
    except ImportError as e:
        raise ConfigError(
            f"there is no folder '{name}', and a name on the hub needs: pip install huggingface_hub"
        ) from e
    try:
        files = [hf_hub_download(name, file) for file in ("config.json", "tokenizer.json", "model.safetensors")]
    except Exception as e:
        raise ConfigError(f"there is no folder '{name}', and the hub does not give it ({first_line(e)})") from e
    return Path(files[0]).parent
