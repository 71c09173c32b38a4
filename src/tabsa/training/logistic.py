"""Logistic regressions over the same sparse rows, all of them fitted at once by Newton's method.

For an aspect with the labels y, the weights W (F, L) and the intercepts b (L,) are those with the least

    |W|^2 / 2  +  sum over rows n of  s_n * -log softmax(x_n W + b)[y_n]

where s_n is C times the weight of the row's class. Of two labels only the second has numbers, as in scikit-learn.

There are far more features than rows, and the best W is a sum of rows, X'A: so what is looked for is A (N, L), a number
for each row and label, and all that is needed of the features is the rows' products with each other, K = XX'. A feature
that only one row has is a number on K's diagonal. Each step solves Newton's equations by conjugate gradients, with the
products |W|^2 = A'KA of the weights themselves; the weights found are within `_CLOSE` of the best ones.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.arrays import UNLABELLED
from tabsa.errors import TabsaError
from tabsa.evaluation.metrics import IntArray
from tabsa.models.linear.linear_features import SparseRows

_CLOSE: Final = 1e-6  # how far the weights of an aspect may be from the best ones, at most; logits then are, too
_ROUNDING: Final = 1e-13  # and what of the rows' weight a gradient cannot fall below
_STEPS: Final = 100  # of Newton's; ten or so are taken
_INNER: Final = 500  # of conjugate gradients in each
_ENOUGH: Final = 1e-4  # of the fall that a step's slope promises (Armijo)
_HALVINGS: Final = 40

Array = NDArray[np.float64]


class Dual(NamedTuple):
    """Regressions as sums of rows: N rows, A aspects, L labels."""

    rows: Array  # (N, A, L)
    intercepts: Array  # (A, L)


@dataclass(frozen=True)
class Regressions:
    """What is fitted: the rows, and what each aspect's labels are."""

    matrix: Any  # SciPy's, (N, F)
    gold: IntArray  # (N, A), UNLABELLED where a row says nothing of an aspect
    labels: int

    @classmethod
    def of(cls, rows: SparseRows, gold: IntArray, features: int, labels: int) -> "Regressions":
        """One regression for each column of `gold` (N, A)."""
        try:
            from scipy.sparse import csr_matrix
        except ImportError as e:
            raise TabsaError("fitting 'lr' needs SciPy: pip install 'tabsa[train]'") from e
        matrix = csr_matrix((rows.values, rows.columns, rows.starts), shape=(len(gold), features))
        return cls(matrix, gold, labels)

    @cached_property
    def _products(self) -> "_Products":
        return _Products(self.matrix)

    def fit(
        self,
        c: float,
        class_power: float,
        start: Dual | None = None,
        on_share: Callable[[float], None] = lambda _: None,
    ) -> Dual:
        """The best ones; `start` is where to begin, and `on_share` is told how far it is, from 0 to 1."""
        task = _Task.of(self.gold, self.labels, c, class_power)
        return _Newton(self._products, task, on_share).solve(start)

    def weights(self, dual: Dual, never: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Weights (F, A, L) and intercepts (A, L); that of a label which an aspect never has is `never`."""
        sums = self.matrix.T @ dual.rows.reshape(len(self.gold), -1)
        weights = np.asarray(sums, np.float32).reshape(-1, *dual.intercepts.shape)
        present = _present(self.gold, self.labels)
        return weights, np.where(present, dual.intercepts, never).astype(np.float32)


def _present(gold: IntArray, labels: int) -> NDArray[np.bool_]:
    """Which labels each aspect has, (A, L)."""
    return np.stack([(gold == label).any(axis=0) for label in range(labels)], axis=1)


class _Products:
    """Times K: what rows have in common."""

    def __init__(self, matrix: Any) -> None:
        shared = np.flatnonzero(np.bincount(matrix.indices, minlength=matrix.shape[1]) > 1)
        self.shared = matrix[:, shared]
        self.transposed = self.shared.T.tocsr()
        self.own = _squares(matrix) - _squares(self.shared)

    def times(self, vectors: Array) -> Array:
        flat = vectors.reshape(len(vectors), -1)
        product = self.shared @ (self.transposed @ flat) + self.own[:, None] * flat
        return np.asarray(product, np.float64).reshape(vectors.shape)


def _squares(matrix: Any) -> Array:
    return np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64).ravel()


class _Task(NamedTuple):
    """What is to be right of some aspects, and what each row weighs."""

    truth: Array  # 1 at the gold label, (N, A, L)
    weight: Array  # 0 where nothing is asked, (N, A, 1)
    free: Array  # 1 where a label of an aspect has numbers of its own, (A, L)
    shift: Array  # keeps labels that an aspect does not have from being likely, (A, L)

    @classmethod
    def of(cls, gold: IntArray, labels: int, c: float, class_power: float) -> "_Task":
        truth = (gold[..., None] == np.arange(labels)).astype(np.float64)
        counts = truth.sum(axis=0)
        present = counts > 0
        importance = np.where(present, np.maximum(counts, 1) ** -class_power, 0)
        asked = (gold != UNLABELLED).sum(axis=0)[:, None]
        # So that C means the same whatever the power.
        importance *= asked / np.maximum((importance * counts).sum(axis=1, keepdims=True), 1e-300)
        weight = c * (truth * importance).sum(axis=-1, keepdims=True)
        free = present.copy()
        two = present.sum(axis=1) == 2
        free[two, present[two].argmax(axis=1)] = False
        return cls(truth, weight, free.astype(np.float64), np.where(present, 0, -np.inf))

    def of_aspects(self, aspects: NDArray[np.intp]) -> "_Task":
        return _Task(self.truth[:, aspects], self.weight[:, aspects], self.free[aspects], self.shift[aspects])

    def shares(self, logits: Array) -> Array:
        shifted = logits + self.shift
        powers = np.exp(shifted - shifted.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))

    def loss(self, at: "_Point") -> Array:
        """Of each aspect, (A,)."""
        logits = at.common + at.intercepts
        shifted = logits + self.shift
        highest = shifted.max(axis=-1, keepdims=True)
        total = highest[..., 0] + np.log(np.exp(shifted - highest).sum(axis=-1))
        right = (logits * self.truth).sum(axis=-1)
        penalty = (at.rows * at.common).sum(axis=(0, 2)) / 2
        return np.asarray(penalty + (self.weight[..., 0] * (total - right)).sum(axis=0))


class _Point(NamedTuple):
    """Weights, a gradient or a direction: as sums of rows, with K times these, and intercepts."""

    rows: Array  # (N, A, L)
    common: Array  # K times `rows`
    intercepts: Array  # (A, L)

    def moved(self, by: Array, way: "_Point") -> "_Point":
        """As far along a way as `by` says for each aspect, (A,)."""
        far = by[:, None]
        return _Point(*(own + far * other for own, other in zip(self, way, strict=True)))

    def scaled(self, by: float) -> "_Point":
        return _Point(*(by * own for own in self))

    def times(self, other: "_Point") -> Array:
        """The inner product of the weights and intercepts of each aspect, (A,)."""
        return np.asarray((self.rows * other.common).sum(axis=(0, 2)) + (self.intercepts * other.intercepts).sum(1))

    def of_aspects(self, aspects: NDArray[np.intp]) -> "_Point":
        return _Point(self.rows[:, aspects], self.common[:, aspects], self.intercepts[aspects])


class _Newton:
    """Newton's method for some aspects at once; those that are done are left alone."""

    def __init__(self, products: _Products, task: _Task, on_share: Callable[[float], None]) -> None:
        self.products, self.task, self.on_share = products, task, on_share
        self.close = np.maximum(_CLOSE, _ROUNDING * task.weight.sum(axis=(0, 2)))

    def solve(self, start: Dual | None) -> Dual:
        shape = self.task.truth.shape
        rows, intercepts = start or Dual(np.zeros(shape), np.zeros(shape[1:]))
        rows, intercepts = rows.copy(), intercepts.copy()
        left, first = np.arange(shape[1]), np.zeros(shape[1])
        for step in range(_STEPS):
            task = self.task.of_aspects(left)
            point = self._point(rows[:, left], intercepts[left])
            gradient, shares = self._gradient(task, point)
            length = np.sqrt(np.maximum(gradient.times(gradient), 0))
            first = length if step == 0 else first
            far = length > self.close[left]
            self._tell(length, first, done=shape[1] - len(left))
            left, first, length = left[far], first[far], length[far]
            if not len(left):
                break
            kept = np.flatnonzero(far)
            task, point, gradient = task.of_aspects(kept), point.of_aspects(kept), gradient.of_aspects(kept)
            way = self._way(task, shares[:, kept], gradient, np.minimum(0.25, np.sqrt(length / first)))
            point = _searched(task, point, gradient, way)
            rows[:, left], intercepts[left] = point.rows, point.intercepts
        return Dual(rows, intercepts)

    def _tell(self, length: Array, first: Array, *, done: int) -> None:
        """How far it is, by the orders of magnitude that gradients have fallen by."""
        close = self.close.min()
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.log(first / length) / np.log(first / close)
        self.on_share(float(done + np.clip(np.nan_to_num(part, nan=1.0), 0, 1).sum()) / len(self.close))

    def _point(self, rows: Array, intercepts: Array) -> _Point:
        return _Point(rows, self.products.times(rows), intercepts)

    def _gradient(self, task: _Task, at: _Point) -> tuple[_Point, Array]:
        shares = task.shares(at.common + at.intercepts)
        wrong = task.weight * (shares - task.truth) * task.free
        return self._point(at.rows + wrong, wrong.sum(axis=0)), shares

    def _way(self, task: _Task, shares: Array, gradient: _Point, loose: Array) -> _Point:
        """The step of Newton's method, by conjugate gradients, until `loose` of the gradient is left."""
        own = shares * task.free
        # The scale of the intercepts' curvature, so that they do not keep the weights waiting.
        curvature = (task.weight * own * (1 - shares)).sum(axis=(0, 2)) / np.maximum(task.free.sum(axis=1), 1)
        scale = np.maximum(curvature, 1e-9)[:, None]
        way, rest = gradient.scaled(0), gradient.scaled(-1)
        ahead = rest._replace(intercepts=rest.intercepts / scale)
        size = rest.times(ahead)
        enough = loose**2 * size
        for _ in range(_INNER):
            change = ahead.common + ahead.intercepts
            bent = task.weight * own * (change - (own * change).sum(axis=-1, keepdims=True))
            curved = Dual(ahead.rows + bent, bent.sum(axis=0))
            along = (curved.rows * ahead.common).sum(axis=(0, 2)) + (curved.intercepts * ahead.intercepts).sum(axis=1)
            far = np.where(size > enough, size, 0) / np.where(along > 0, along, np.inf)
            if not far.any():
                break
            way = way.moved(far, ahead)
            less = far[:, None]
            rest = self._point(rest.rows - less * curved.rows, rest.intercepts - less * curved.intercepts)
            scaled = rest._replace(intercepts=rest.intercepts / scale)
            before, size = size, rest.times(scaled)
            ahead = scaled.moved(size / np.where(before > 0, before, np.inf), ahead)
        return way


def _searched(task: _Task, point: _Point, gradient: _Point, way: _Point) -> _Point:
    """The whole step, or the first half of a half of it that makes an aspect's loss fall as its slope promises."""
    before, slope = task.loss(point), gradient.times(way)
    far = np.ones(len(slope))
    for _ in range(_HALVINGS):
        moved = point.moved(far, way)
        short = task.loss(moved) > before + _ENOUGH * far * slope + 1e-12 * np.abs(before)
        if not short.any():
            break
        far[short] /= 2
    return moved
