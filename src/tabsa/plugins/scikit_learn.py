"""A classifier for scikit-learn: the polarity of a text for a target's aspect, learnt from labels of your own."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

import tabsa
from tabsa.errors import DataError
from tabsa.inference.frames import is_missing
from tabsa.schema import NONE, UNNAMED, Example, Opinion, Target
from tabsa.text.aspects import clean_aspect
from tabsa.text.targets import TargetFinder, all_targets

_COLUMNS = ("text", "target", "aspect")


class RowsError(DataError, ValueError):
    """X or y is not what a classifier takes; scikit-learn expects a ValueError."""


class QuestionRow(NamedTuple):
    """One row of X; an empty target is the thing that the text is about and does not name."""

    text: str
    target: str
    aspect: str


class TabsaClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify the polarity of a text for a target and an aspect; `fit` fine-tunes a reader on labels.

    `X` is texts (a list, an array, a Series, one column), or up to three columns: text, target, aspect, in this order,
    or in a DataFrame by these names. What it lacks, the parameters say. An empty target is what a text is about and
    does not name. `y` is polarities: labels that the base knows (`none`, `positive`, `negative`, `neutral`, `mixed`)
    start from what it knows of them, any others are learnt from nothing.

    A fitted classifier has `classes_`, `predictor_` (the model, as `tabsa.load` gives it), and `folder_` (its folder).

    Args:
        base: the reader that is fine-tuned, by name or folder.
        target: who is judged, where `X` has no such column.
        aspect: on what, where `X` has no such column.
        epochs: how often the texts are read; None: by how many they are; 0: the base is taken as it is, which needs no
            PyTorch, and `fit` only learns which labels there are.
    """

    def __init__(
        self, base: str | Path = "reader", *, target: str = "", aspect: str = "overall", epochs: int | None = None
    ) -> None:
        self.base, self.target, self.aspect, self.epochs = base, target, aspect, epochs

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803
        """Learn from texts and their polarities.

        Raises:
            RowsError: X or y is not what is expected; it is a ValueError too.
            TabsaError: the base cannot be fine-tuned on them, or PyTorch is missing.
        """
        validate_data(self, X, y, skip_check_array=True)
        rows = self._rows(X)
        given = column_or_1d(y, warn=True)
        check_consistent_length(rows, given)
        check_classification_targets(given)
        self.classes_, numbers = np.unique(given, return_inverse=True)
        names = _names(self.classes_)
        if self.epochs == 0:
            base = tabsa.load(self.base)
            if unknown := [name for name in names if name not in base.labels]:
                known = ", ".join(base.labels)
                raise RowsError(f"without training, the base knows no label {unknown[0]!r}; it knows {known}")
            return self._take(base, None)
        place = TemporaryDirectory(prefix="tabsa-")
        data = labelled_rows(rows, [names[number] for number in numbers])
        out = Path(place.name) / "model"
        return self._take(tabsa.train(data, out, base=self.base, epochs=self.epochs, callbacks=()), place)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the probability of each class, (rows, classes), among the labels that `fit` saw."""
        check_is_fitted(self, "predictor_")
        validate_data(self, X, reset=False, skip_check_array=True)
        rows, model, names = self._rows(X), self.predictor_, _names(self.classes_)
        predictions = model.predict_many(
            [row.text for row in rows],
            targets_of_each=[model.implied_targets([row.target], _found(row.text, row.target)) for row in rows],
            aspects_of_each=[(row.aspect,) for row in rows],
        )
        table = np.array([[one.opinions[0].probabilities[name] for name in names] for one in predictions], np.float64)
        table += np.finfo(np.float64).tiny  # where a text says nothing of any label, all are as likely
        return np.asarray(table / table.sum(1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the likeliest class of each row."""
        likeliest = self.predict_proba(X).argmax(1)
        return np.asarray(np.asarray(self.classes_)[likeliest])

    def _rows(self, X: Any) -> list[QuestionRow]:  # noqa: N803
        return question_rows(X, self.target, self.aspect)

    def _take(self, predictor: Any, place: TemporaryDirectory[str] | None) -> Self:
        self.predictor_, self.folder_ = predictor, predictor.folder.path
        self._place = place  # goes, and the folder in it, with the classifier
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Take the model's files along, not the session that runs them."""
        state = dict(super().__getstate__())
        if "predictor_" in state:
            del state["predictor_"], state["folder_"]
            files = (path for path in self.folder_.iterdir() if path.is_file())
            state["_place"] = self._place and {path.name: path.read_bytes() for path in files}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        files, place = state.get("_place"), TemporaryDirectory(prefix="tabsa-")
        for name, content in (files or {}).items():
            (Path(place.name) / name).write_bytes(content)
        if "_place" in state:
            self._take(tabsa.load(self.base if files is None else place.name), None if files is None else place)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False  # of numbers, which scikit-learn's checks would give
        return tags


def question_rows(X: Any, target: str, aspect: str) -> list[QuestionRow]:  # noqa: N803
    """Return the questions of texts, or of up to three columns, with `target` and `aspect` where X has none."""
    cells = _cells(X)
    if not cells:
        raise RowsError("Found array with 0 sample(s): expected at least one text")
    rows = []
    for number, row in enumerate(cells):
        given = zip(_COLUMNS, [*row, *[None] * (3 - len(row))], ("", target, aspect), strict=True)
        text, name, words = (_word(number, column, value, default) for column, value, default in given)
        rows.append(QuestionRow(text, name.strip(), clean_aspect(words)))
    return rows


def _cells(X: Any) -> list[Sequence[object]]:  # noqa: N803
    """Return each row as text, target, aspect, or the first of these."""
    if hasattr(X, "columns") and hasattr(X, "__getitem__"):
        names = list(X.columns)
        if "text" in names:
            by_name = [list(X[name]) if name in names else [None] * len(X) for name in _COLUMNS]
            return list(zip(*by_name, strict=True))
        if len(names) > len(_COLUMNS):
            raise RowsError(f"X has no column 'text'; it has: {', '.join(map(str, names))}")
    table = np.asarray(X, dtype=object)
    if table.ndim == 0:
        raise RowsError(f"X is one {type(X).__name__}; expected a list of texts")
    if table.ndim == 1:
        return [(text,) for text in table]
    if table.ndim != 2 or not 1 <= table.shape[1] <= len(_COLUMNS):
        shape = " x ".join(map(str, table.shape))
        raise RowsError(f"X has the shape {shape}; expected texts, or up to three columns: text, target, aspect")
    return list(table)


def _word(number: int, column: str, value: object, default: str) -> str:
    if isinstance(value, str):
        return str(value)  # of NumPy's strings, too
    if is_missing(value):
        return default
    raise RowsError(f"row {number} of X has a {column} of type {type(value).__name__}; expected a string")


def labelled_rows(rows: Sequence[QuestionRow], labels: Sequence[str]) -> list[Example]:
    """Return rows and their labels as examples: of every text and target, only what its rows ask is known."""
    from tabsa.datasets.selection import Merger

    merger, groups = Merger(), dict[tuple[str, str], list[Opinion]]()
    for row, label in zip(rows, labels, strict=True):
        if not row.text.strip():
            raise RowsError("X has an empty text; leave it out, as it cannot be learnt from")
        groups.setdefault((row.text, row.target), []).append(Opinion(row.target, row.aspect, label))
    if len({text for text, _ in groups}) < 2:
        raise RowsError(f"n_samples = {len(rows)}, of 1 text; fine-tuning needs at least two texts, and more is better")
    examples: list[Example] = []
    for (text, target), opinions in groups.items():
        merged = merger.merge(opinions)
        found = tuple(opinion for opinion in merged if opinion.polarity != NONE)
        aspects = tuple(opinion.aspect for opinion in merged)
        examples.append(Example(str(len(examples)), text, _found(text, target), found, aspects))
    merger.warn("X")
    return examples


def _found(text: str, target: str) -> tuple[Target, ...]:
    """Return a target as the text has it: named, or implied."""
    if target == UNNAMED:
        return (Target(UNNAMED, implied=True),)
    return all_targets([target], TargetFinder([target]).find(text), implied=True)


def _names(classes: Iterable[Any]) -> list[str]:
    """Return the model's names of the classes."""
    names = [str(label).strip() for label in classes]
    if len(set(names)) < len(names) or not all(names):
        raise RowsError(f"the labels {', '.join(map(repr, classes))} cannot be told apart by their names; name them")
    return names
