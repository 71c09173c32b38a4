"""What to know of a dataset before one trusts figures of it, or a model that was trained on it."""

import warnings
from collections.abc import Iterable
from typing import Final

from tabsa.errors import DataWarning
from tabsa.schema import Dataset

FEW: Final = 100  # opinions: figures of fewer say little
FEW_TO_START: Final = 500  # opinions: a model that starts from nothing learns little from fewer


def count_unnamed(dataset: Dataset) -> tuple[int, int]:
    """How many of its targets are not named in their texts, and how many there are."""
    named = [bool(target.mentions) for _, target in dataset.groups()]
    return named.count(False), len(named)


def mostly_implied(dataset: Dataset) -> bool:
    """Whether more than half of its targets are not named in their texts.

    A model that is trained on it takes a target that a text does not name to be what the text is about.
    """
    unnamed, targets = count_unnamed(dataset)
    return 2 * unnamed > targets


def any_named(dataset: Dataset) -> bool:
    """Whether any target is named in its text; a model that is trained on it then knows what a name is."""
    return any(target.mentions for _, target in dataset.groups())


def warn_if_implied(dataset: Dataset, *, implied: bool) -> None:
    """Say so where most targets are not named in their texts, and a model answers `none` for these in use."""
    if not implied and mostly_implied(dataset):
        unnamed, targets = count_unnamed(dataset)
        warnings.warn(
            f"{dataset.split} of {dataset.name}: {unnamed:,} of {targets:,} targets are not named in their texts; in "
            "use the model answers `none` for these unless you say --implied (in Python implied=True)",
            DataWarning,
            stacklevel=3,
        )


def tell(notes: Iterable[str]) -> None:
    """Give each note as a warning."""
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=3)


def notes_on(dataset: Dataset) -> tuple[str, ...]:
    """What to know beside figures of a split: that it has too few opinions for them to mean much."""
    counted = _few(dataset, FEW)
    return (f"{counted}: figures of fewer than {FEW} opinions say little",) if counted else ()


def notes_on_start(dataset: Dataset) -> tuple[str, ...]:
    """What to know of a split that a model learns from which knew nothing before: that it is too small for that."""
    counted = _few(dataset, FEW_TO_START)
    advice = "leave `kind` out of the configuration, and the reader in the box is fine-tuned, which needs far fewer"
    return (f"{counted}: few for a model that starts from nothing; {advice}",) if counted else ()


def _few(dataset: Dataset, least: int) -> str:
    opinions = sum(len(example.opinions) for example in dataset.examples)
    if opinions >= least:
        return ""
    texts = len({example.text for example in dataset.examples})
    counted = f"{opinions:,} opinion{'s' * (opinions != 1)} in {texts:,} text{'s' * (texts != 1)}"
    return f"{dataset.split} of {dataset.name} has {counted}"
