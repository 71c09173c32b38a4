"""Logistic regressions fitted together: against their equations, computed plainly, and against scikit-learn."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.sparse import csr_matrix

from tabsa.models.linear.linear_features import SparseRows
from tabsa.training.logistic import Dual, Regressions

LABELS = 4
NEVER = -100.0


def made(rows: int, features: int, classes: list[list[int]], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Sparse rows of length 1, many features of one row alone or of the same rows, and labels that depend on them."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.random((rows, features)) < 0.05, rng.random((rows, features)) + 0.5, 0)
    values[:, : features // 4] = 0
    values[np.arange(features // 4) % rows, np.arange(features // 4)] = 1.0  # each in one row
    values[:, -1] = values[:, -2]
    values[:, -3] = 1.0
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    columns = [
        np.array(own)[(values @ rng.normal(size=(features, len(own))) + rng.normal(size=len(own))).argmax(1)]
        for own in classes
    ]
    gold = np.stack(columns, axis=1)
    for aspect, own in enumerate(classes):
        gold[: len(own), aspect] = own
    return values, gold


def sparse(values: np.ndarray) -> SparseRows:
    matrix = csr_matrix(values)
    return SparseRows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data)


def fitted(values, gold, c=3.0, power=1.0, start=None, **options) -> tuple[np.ndarray, np.ndarray, Dual]:
    regressions = Regressions.of(sparse(values), gold, values.shape[1], LABELS)
    dual = regressions.fit(c, power, start, **options)
    return *regressions.weights(dual, NEVER), dual


def importance(column: np.ndarray, power: float) -> dict[int, float]:
    """What a row of each class weighs, as its docstring has it: 1 / frequency ** power, and 1 on average."""
    classes, counts = np.unique(column[column >= 0], return_counts=True)
    plain = {int(one): float(count) ** -power for one, count in zip(classes, counts, strict=True)}
    total = sum(plain[int(one)] * count for one, count in zip(classes, counts, strict=True))
    return {one: weight * counts.sum() / total for one, weight in plain.items()}


def slopes(values, column, weights, intercepts, c, power) -> tuple[np.ndarray, np.ndarray]:
    """The gradient of one aspect's objective, row by row and label by label."""
    classes = sorted(importance(column, power))
    weighs = importance(column, power)
    of_weights, of_intercepts = weights[:, classes].astype(np.float64).copy(), np.zeros(len(classes))
    for row, label in zip(values, column, strict=True):
        if label < 0:
            continue
        logits = [row @ weights[:, one].astype(np.float64) + intercepts[one] for one in classes]
        shares = np.exp(np.array(logits) - max(logits))
        shares /= shares.sum()
        for place, one in enumerate(classes):
            wrong = c * weighs[int(label)] * (shares[place] - (one == label))
            of_weights[:, place] += wrong * row
            of_intercepts[place] += wrong
    if len(classes) == 2:  # the first has no numbers of its own
        return of_weights[:, 1:], of_intercepts[1:]
    return of_weights, of_intercepts


CLASSES = [[0, 1, 2, 3], [0, 1, 2], [0, 2], [1, 3], [0]]


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("c", [0.1, 3.0, 100.0])
def test_no_weight_can_be_bettered(c, power):
    values, gold = made(60, 200, CLASSES)
    gold[40:50, 1] = -1  # not asked
    weights, intercepts, dual = fitted(values, gold, c, power)
    # Weights are given in float32; of the numbers that were found the slope is far smaller.
    assert weights.dtype == intercepts.dtype == np.float32
    exact = (values.T @ dual.rows.reshape(60, -1)).reshape(weights.shape)
    for aspect in range(len(CLASSES)):
        of_weights, of_intercepts = slopes(values, gold[:, aspect], exact[:, aspect], dual.intercepts[aspect], c, power)
        if aspect < 4:
            assert np.sqrt((of_weights**2).sum() + (of_intercepts**2).sum()) < 2e-6
    np.testing.assert_allclose(weights, exact, atol=1e-6)


def test_labels_that_an_aspect_never_has():
    values, gold = made(60, 200, CLASSES)
    weights, intercepts, _ = fitted(values, gold)
    for aspect, own in enumerate(CLASSES):
        absent = [label for label in range(LABELS) if label not in own]
        assert (weights[:, aspect, absent] == 0).all()
        assert (intercepts[aspect, absent] == NEVER).all()
        if len(own) > 2:
            assert intercepts[aspect, own].sum() == pytest.approx(0, abs=1e-5)
        if len(own) == 2:
            assert (weights[:, aspect, own[0]] == 0).all()
    assert (weights[:, 4] == 0).all()
    assert intercepts[4].tolist() == [0, NEVER, NEVER, NEVER]


@pytest.mark.parametrize("c", [0.3, 30.0])
def test_scikit_learn_finds_the_same(c):
    sklearn = pytest.importorskip("sklearn.linear_model")
    values, gold = made(80, 300, [[0, 1, 2, 3], [0, 2]], seed=1)
    weights, intercepts, _ = fitted(values, gold, c)
    for aspect, own in enumerate([[0, 1, 2, 3], [0, 2]]):
        theirs = sklearn.LogisticRegression(
            C=c, class_weight="balanced", tol=1e-12, max_iter=20_000, solver="newton-cg"
        )
        theirs.fit(values, gold[:, aspect])
        ours = weights[:, aspect, own] if len(own) > 2 else weights[:, aspect, own[1:]]
        np.testing.assert_allclose(ours, theirs.coef_.T, atol=2e-5)
        shown = intercepts[aspect, own] if len(own) > 2 else intercepts[aspect, own[1:]]
        np.testing.assert_allclose(shown, theirs.intercept_, atol=2e-5)


def test_where_it_begins_does_not_matter():
    values, gold = made(60, 200, CLASSES)
    _, _, first = fitted(values, gold, 1.0)
    cold, warm = fitted(values, gold, 10.0), fitted(values, gold, 10.0, start=first)
    np.testing.assert_allclose(cold[0], warm[0], atol=3e-6)
    np.testing.assert_allclose(cold[1], warm[1], atol=3e-6)
    before = dataclasses.replace(Regressions.of(sparse(values), gold, 200, LABELS)).fit(1.0, 1.0)
    np.testing.assert_array_equal(before.rows, first.rows)  # which was left as it was


def test_aspects_do_not_touch_each_other():
    values, gold = made(60, 200, CLASSES)
    together, _, _ = fitted(values, gold)
    for aspect in range(len(CLASSES)):
        alone, _, _ = fitted(values, gold[:, [aspect]])
        np.testing.assert_allclose(together[:, aspect], alone[:, 0], atol=3e-6)


def test_it_tells_how_far_it_is():
    values, gold = made(60, 200, CLASSES)
    told: list[float] = []
    fitted(values, gold, 10.0, on_share=told.append)
    assert len(told) > 3
    assert told == sorted(told)
    assert told[0] < 0.5
    assert told[-1] == 1


def test_rows_without_features():
    values, gold = made(60, 200, [[0, 1, 2]])
    values[5] = 0
    weights, _, _ = fitted(values, gold)
    assert np.isfinite(weights).all()
    weights, intercepts, _ = fitted(np.zeros_like(values), gold)
    assert (weights == 0).all()
    np.testing.assert_allclose(intercepts[0, :3], 0, atol=1e-6)  # classes weigh the same
