"""From a configuration to texts with questions, as arrays: everything a reader's run needs besides its encoder."""

import re
from collections.abc import Sequence
from contextlib import suppress
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
from tabsa.schema import MIXED, NEGATIVE, NEUTRAL, NONE, POSITIVE, Dataset
from tabsa.training.run_config import RunConfig

LABELS: Final = (NONE, POSITIVE, NEGATIVE, NEUTRAL, MIXED)  # of a model that learns from several datasets
_CONFLICT: Final = "conflict"  # SemEval-2014's word for mixed
_SLOTS: Final = 16  # placeholders that augmentation may need
# What stands for the unnamed thing that a review is about, behind `this` or `the`.
_THINGS: Final = (
    "hotel", "place", "restaurant", "phone", "laptop", "computer", "book", "novel", "course", "class", "product",
    "item", "shoe", "shoes", "boot", "boots", "app", "dress", "shirt", "jacket", "game", "tablet", "camera", "machine",
    "store", "shop", "bar", "food", "tea", "coffee", "snack", "notebook", "netbook",
)  # fmt: skip


@dataclass(frozen=True)
class HeldOut:
    """A dataset that is judged, not learnt from."""

    name: str
    data: Questions
    gold: NDArray[np.int64]  # of every question of the dataset, -1 where there is none, (questions,)
    aspects: int  # of a group, where every group has the same questions; 0 where not
    labels: tuple[str, ...]  # its own


@dataclass(frozen=True)
class KnownPieces:
    """The pieces of a tokeniser that augmentation and batches need."""

    first: int
    last: int
    padding: int
    placeholders: tuple[tuple[int, ...], ...]
    before: tuple[int, ...]  # `this`, `the`
    things: tuple[int, ...]
    colon: int

    @classmethod
    def of(cls, reader: PieceReader) -> "KnownPieces":
        """Those of a reader's tokeniser."""
        vocabulary = reader.wordpieces.vocabulary
        return cls(
            reader.first,
            reader.last,
            next((vocabulary[piece] for piece in ("[PAD]", "<pad>") if piece in vocabulary), 0),
            tuple(reader.placeholder(slot) for slot in range(_SLOTS)),
            tuple(piece for word in ("this", "the") for piece in reader.words(word)),
            tuple(dict.fromkeys(reader.words(thing)[0] for thing in _THINGS)),
            reader.words(":")[0],
        )


@dataclass(frozen=True)
class PreparedQuestions:
    """Texts with questions, and the table of the aspects of all questions."""

    train: Questions
    held: tuple[HeldOut, ...]  # dev first
    aspects: tuple[str, ...]
    aspect_pieces: NDArray[np.int32]  # padded with -1, (A, L)
    inventories: tuple[NDArray[np.int32], ...]  # of each dataset; empty where a text has aspects of its own
    repeats: tuple[int, ...]  # how often each dataset is read in an epoch
    labels: tuple[str, ...]
    pieces: KnownPieces
    implied: bool = False  # most targets of the first dataset are not named in their texts
    notes: tuple[str, ...] = ()  # what to know of dev beside figures of it


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
    found = dict.fromkeys(label for dataset in [*(one for one, _ in sets), dev] for label in dataset.labels)
    # Those that have a meaning here first, in their order.
    labels = (*(label for label in LABELS if label in found), *(label for label in found if label not in LABELS))
    return prepare_datasets(config, reader, sets, (dev, *judged), labels)


def prepare_datasets(
    config: RunConfig,
    reader: PieceReader,
    sets: Sequence[tuple[Dataset, int]],
    judged: Sequence[Dataset],
    labels: tuple[str, ...],
) -> PreparedQuestions:
    """The same of datasets that are there: those that are learnt from, and how often, the first the one that counts."""
    table = AspectTable(reader)
    longest = config.data.max_length or 512
    encoded, inventories = [], []
    for number, (dataset, _) in enumerate(sets):
        own = all(example.aspects is not None for example in dataset.examples)
        whole = own or len(dataset.aspects) <= config.questions.ask_all
        data = encode_questions(dataset, reader, table, labels, longest=longest, number=number)
        # Of a large inventory only the opinions are here; what is silent is drawn in every epoch.
        encoded.append(data if whole else _opinions_only(data))
        rows = [] if whole else [table.row(aspect) for aspect in dataset.aspects]
        inventories.append(np.array(rows, np.int32))
    held = tuple(_held_out(dataset, reader, table, labels, longest) for dataset in judged)
    return PreparedQuestions(
        joined_questions(encoded),
        held,
        tuple(table.rows),
        table.pieces(),
        tuple(inventories),
        tuple(repeat for _, repeat in sets),
        labels,
        KnownPieces.of(reader),
        mostly_implied(sets[0][0]),
        notes_on(judged[0]),
    )


def _opinions_only(data: Questions) -> Questions:
    """The questions that are not silent; one that nothing is learnt from stays, so that it is not drawn."""
    chosen = data.labels != 0
    before = np.concatenate([[0], np.cumsum(chosen)])
    names = ("targets", "aspects", "labels", "numbers")
    return replace(data, first=before[data.first], **{name: getattr(data, name)[chosen] for name in names})


def _held_out(
    dataset: Dataset, reader: PieceReader, table: AspectTable, labels: tuple[str, ...], longest: int
) -> HeldOut:
    data = encode_questions(dataset, reader, table, labels, longest=longest)
    own = any(example.aspects is not None for example in dataset.examples)
    gold = np.array([labels.index(polarity) for *_, polarity in dataset.questions()], np.int64)
    known = tuple(label for label in labels if label in dataset.labels)
    return HeldOut(f"{dataset.name} {dataset.split}", data, gold, 0 if own else len(dataset.aspects), known)


def _set(text: str, data_dir: Path | None) -> tuple[Dataset, int]:
    """The dataset that one entry of `questions.sets` names, and how often it is read."""
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

    def renamed(label: str) -> str:
        return MIXED if label == _CONFLICT else label

    examples = tuple(
        replace(one, opinions=tuple(replace(opinion, polarity=renamed(opinion.polarity)) for opinion in one.opinions))
        for one in dataset.examples
    )
    return replace(dataset, labels=tuple(map(renamed, dataset.labels)), examples=examples)


def encoder_folder(name: str, data_dir: Path | None = None) -> Path:
    """Find the encoder that a configuration names: a folder, one below a data folder, or of the hub."""
    if not name:
        raise ConfigError("'model.encoder' is empty; expected the folder of a BERT or an MPNet, or its name on the hub")
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    for place in (f"encoders/{name}", f"../encoders/{name}"):
        with suppress(DataError):
            return find(place, data_dir)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise ConfigError(f"there is no folder '{name}' for 'model.encoder'; a name on the hub is OWNER/NAME")
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, allow_patterns=["config.json", "tokenizer.json", "model.safetensors"]))
    except ImportError as e:
        raise ConfigError(f"'{name}' is no folder, and a name on the hub needs: pip install huggingface_hub") from e
    except Exception as e:
        raise ConfigError(f"there is no folder '{name}', and the hub does not give it ({first_line(e)})") from e
