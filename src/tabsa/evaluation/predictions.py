"""Files of predictions: any system's output, one row a line, in the form that `tabsa evaluate` scores.

    {"id": 1430, "target": "LOCATION1", "aspect": "price", "probabilities": {"none": 0.1, "positive": 0.9, ...}}

JSON Lines in UTF-8. Rows come in any order, each exactly once; other keys and blank lines are ignored.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.errors import DataError
from tabsa.schema import UNNAMED, Dataset
from tabsa.tables.fields import member
from tabsa.tables.reading import read_good_rows

_TOLERANCE: Final = 1e-3  # of a row's sum: room for figures rounded to three decimals


def read_predictions(path: Path, dataset: Dataset, *, skip: Collection[str] = ()) -> NDArray[np.float64]:
    """Read the probabilities in a file: (questions, labels), in the order of `Dataset.questions`; each must be there.

    Rows on aspects in `skip` are passed over, such as those that a benchmark leaves out.
    """
    named = f"{dataset.name} {dataset.split}"
    questions = ((example.id, target.name, aspect) for example, target, aspect, _ in dataset.questions())
    places = {question: place for place, question in enumerate(questions)}
    probabilities = np.zeros((len(places), len(dataset.labels)))
    lines = np.zeros(len(places), dtype=np.int64)  # where each row stands in the file
    for where, values, number in read_good_rows(path):
        aspect = member(values, "aspect", str, where)
        if aspect in skip:
            continue
        name = UNNAMED if values.get("target", UNNAMED) is None else member(values, "target", str, where)
        group = str(values.get("id")), name
        place = places.get((*group, aspect))
        if place is None:
            known = ", ".join(one[2] for one in places if one[:2] == group)
            message = f"{where}: there is no target {name!r} under the id {values.get('id')!r:.60} in {named}"
            if known:
                raise DataError(f"{where}: unknown aspect {aspect!r}; expected one of {known}")
            raise DataError(message, code="id_unknown")
        if lines[place]:
            raise DataError(f"{where} repeats the row of line {lines[place]}; expected each row once")
        lines[place] = number
        given = member(values, "probabilities", dict, where)
        shares: list[Any] = [given.get(label) for label in dataset.labels]
        right = given.keys() == set(dataset.labels) and all(type(share) in (int, float) for share in shares)
        # The slack is for rounding errors; NaN compares as false.
        if not (right and min(shares) >= 0 and abs(sum(shares) - 1) <= _TOLERANCE + 1e-9):
            expected = f"expected {', '.join(dataset.labels)} with the sum 1 (give or take {_TOLERANCE})"
            raise DataError(f"{where}: the probabilities are {given!r:.100}; {expected}")
        probabilities[place] = shares
    if not lines.all():
        text, name, aspect = list(places)[lines.argmin()]
        raise DataError(
            f"{path} lacks {(lines == 0).sum()} of the {lines.size} rows of {named}, one for each target and aspect; "
            f"the first is id {text}, target {name!r}, aspect {aspect!r}"
        )
    return probabilities
