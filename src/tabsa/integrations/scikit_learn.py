"""A classifier for scikit-learn: which polarity a text has for a target's aspect, learnt from labels of your own."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

import tabsa
from tabsa.integrations.questions import AskedRow, RowsError, asked_rows, labelled_rows, marked
from tabsa.schema import Dataset

__all__ = ["RowsError", "TabsaClassifier"]
_RUN = "run"  # what a training leaves behind beside the model


class TabsaClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Which polarity a text has, for a target and an aspect; `fit` fine-tunes a reader on labels.

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
        minutes: be done with a training in about this time.
        full: train the encoder too, not only what answers.
        device: cpu, cuda, or auto: cuda where there is one.
    """

    def __init__(
        self,
        base: str | Path = "reader",
        *,
        target: str = "",
        aspect: str = "overall",
        epochs: int | None = None,
        minutes: float | None = None,
        full: bool = False,
        device: str = "auto",
    ) -> None:
        self.base = base
        self.target = target
        self.aspect = aspect
        self.epochs = epochs
        self.minutes = minutes
        self.full = full
        self.device = device

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
        self.classes_, places = np.unique(given, return_inverse=True)
        names = _names(self.classes_)
        if self.epochs == 0:
            base = tabsa.load(self.base)
            unknown = [name for name in names if name not in base.labels]
            if unknown:
                known = ", ".join(base.labels)
                raise RowsError(f"without training, the base knows no label {unknown[0]!r}; it knows {known}")
            self._take(base, None)
        else:
            self._train(labelled_rows(rows, [names[place] for place in places]))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """The probability of each class, (rows, classes), among the labels that `fit` saw."""
        check_is_fitted(self, "predictor_")
        validate_data(self, X, reset=False, skip_check_array=True)
        rows = self._rows(X)
        groups: dict[tuple[str, str], dict[str, None]] = {}
        for text, target, aspect in rows:
            groups.setdefault((text, target), {})[aspect] = None
        predictions = self.predictor_.predict_many(
            (text for text, _ in groups),
            targets_of_each=(marked(self.predictor_, text, target) for text, target in groups),
            aspects_of_each=map(tuple, groups.values()),
        )
        names = _names(self.classes_)
        found: dict[AskedRow, list[float]] = {}
        for (text, target), prediction in zip(groups, predictions, strict=True):
            asked = groups[text, target]
            for aspect, opinion in zip(asked, prediction.opinions, strict=True):
                found[AskedRow(text, target, aspect)] = [opinion.probabilities[name] for name in names]
        table = np.array([found[row] for row in rows], np.float64).reshape(len(rows), len(names))
        return _shares(table)

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The likeliest class of each row."""
        check_is_fitted(self, "predictor_")
        likeliest: NDArray[Any] = np.asarray(self.classes_)[self.predict_proba(X).argmax(1)]
        return likeliest

    def _rows(self, X: Any) -> list[AskedRow]:  # noqa: N803
        return asked_rows(X, self.target, self.aspect)

    def _train(self, data: Dataset) -> None:
        place = TemporaryDirectory(prefix="tabsa-")
        options: dict[str, Any] = {
            "epochs": self.epochs,
            "minutes": self.minutes,
            "full": self.full,
            "device": self.device,
        }
        self._take(tabsa.train(data, Path(place.name) / "model", base=self.base, **options), place)

    def _take(self, predictor: Any, place: TemporaryDirectory[str] | None) -> None:
        self.predictor_, self.folder_ = predictor, predictor.folder.path
        self._place = place  # goes, and the folder in it, with the classifier

    def __getstate__(self) -> dict[str, Any]:
        """A fitted classifier takes its model's files along, not the session that runs them."""
        state = dict(super().__getstate__())
        if "predictor_" in state:
            del state["predictor_"], state["folder_"]
            state["_place"] = None if self._place is None else _read(self.folder_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_place" not in state:
            return
        if state["_place"] is None:
            self._take(tabsa.load(self.base), None)
            return
        place = TemporaryDirectory(prefix="tabsa-")
        folder = Path(place.name) / "model"
        for name, content in state["_place"].items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._take(tabsa.load(folder), place)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False  # of numbers, which scikit-learn's checks would give
        return tags


def _names(classes: Iterable[Any]) -> list[str]:
    """What a model calls the classes."""
    names = [str(label).strip() for label in classes]
    if len(set(names)) < len(names) or not all(names):
        raise RowsError(f"the labels {', '.join(map(repr, classes))} cannot be told apart by their names; name them")
    return names


def _shares(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities among these labels alone; where a text says nothing of any, all are as likely."""
    table = table + np.finfo(np.float64).tiny
    return np.asarray(table / table.sum(1, keepdims=True))


def _read(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = {path.relative_to(folder): path for path in files}
    return {name.as_posix(): path.read_bytes() for name, path in names.items() if name.parts[0] != _RUN}
