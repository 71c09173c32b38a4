"""Labels as numbers: the gold labels of a dataset, and what is learnt from each passage of a text."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError
from tabsa.schema import Dataset

NOT_ASKED: Final = -1  # the label of a pair that nothing is learnt from


def gold_labels(dataset: Dataset) -> NDArray[np.int64]:
    """The gold label of every row as an index into `dataset.labels`: (groups, aspects).

    It is NOT_ASKED where the aspect was not asked of the text.
    """
    index = {label: i for i, label in enumerate(dataset.labels)}
    try:
        rows = [
            [
                index[example.polarity(target.name, aspect)]
                if example.aspects is None or aspect in example.aspects
                else NOT_ASKED
                for aspect in dataset.aspects
            ]
            for example, target in dataset.groups()
        ]
    except KeyError as e:
        raise DataError(
            f"{dataset.name} {dataset.split} has the polarity {e}; expected one of {', '.join(dataset.labels)}"
        ) from e
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(dataset.aspects))


def passage_labels(gold: NDArray[np.int64], *, first: bool) -> NDArray[np.int64]:
    """What a passage teaches about a target whose text has these labels, (aspects,).

    `first` says whether it is the first passage that is read for the target. What a text says is learnt from that one,
    as when texts are cut short. Of the others nobody knows whether they carry an opinion of the text; that they are
    silent where the whole text is, is known.
    """
    return gold if first else np.where(gold == 0, 0, NOT_ASKED)
