"""The benchmark's figures as pure functions on arrays, in both families of definitions (docs/evaluation.md).

Shapes, the same in every function (a group is one target of one text, with one row for each aspect):

    gold           (groups, aspects) int            label indices: 0 is `none`, then the polarities; -1: no question
    predicted      (groups, aspects) int            label indices
    probabilities  (groups, aspects, labels) float  in the same order of labels
    weights        (..., groups), optional          how often each group counts

A thousand resamples of a bootstrap are a thousand weightings, and one call gives all their figures. A figure that is
not defined (no group to average over, one class only in an AUC) is NaN; a mean over aspects leaves undefined ones out.
Figures of single questions (`question_metrics`) take `gold` (questions,) and `probabilities` (questions, labels).
"""

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

Family: TypeAlias = Literal["sun", "ma"]
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
METRICS: Final = ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")

IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.floating[Any]]
# One figure, or an array of them where there are several weightings.
Score: TypeAlias = np.float64 | NDArray[np.float64]


def predicted_labels(probabilities: FloatArray) -> IntArray:
    """Return the likeliest label of each row; of equally likely ones the first, so `none` before any polarity."""
    return np.asarray(probabilities.argmax(axis=-1))


class AspectRows(NamedTuple):
    """The rows on one aspect, as arrays with a single column."""

    gold: IntArray  # (rows, 1)
    probabilities: FloatArray  # (rows, 1, labels)
    groups: IntArray  # (rows,)


def all_metrics(
    gold: IntArray,
    probabilities: FloatArray,
    weights: FloatArray | None = None,
    aspects: Sequence[AspectRows] | None = None,
) -> dict[Family, dict[str, Score]]:
    """Return the five metrics in both families; `aspects` gives the rows on each, where the columns are not these."""
    if gold.shape != probabilities.shape[:-1]:
        raise ValueError(f"gold has shape {gold.shape}, probabilities {probabilities.shape}")
    predicted = predicted_labels(probabilities)
    if aspects is None:
        every = np.arange(len(gold))
        aspects = [AspectRows(gold[:, [n]], probabilities[:, [n]], every) for n in range(gold.shape[1])]
    own = [(*one[:2], None if weights is None else weights[..., one.groups]) for one in aspects]
    shared = {
        "aspect_auc": mean_of_defined([aspect_auc(*rows) for rows in own]),
        "sentiment_accuracy": sentiment_accuracy(gold, probabilities, weights),
        "sentiment_auc": mean_of_defined([sentiment_auc(*rows) for rows in own]),
    }
    return {
        family: {
            "strict_accuracy": strict_accuracy(gold, predicted, family, weights),
            "macro_f1": macro_f1(gold, predicted, family, weights),
            **shared,
        }
        for family in FAMILIES
    }


def strict_accuracy(gold: IntArray, predicted: IntArray, family: Family, weights: FloatArray | None = None) -> Score:
    """Return the share of groups that are right as a whole.

    `sun`: the labels of all aspects are right. `ma`: the set of aspects with an opinion is.
    """
    same = gold == predicted if family == "sun" else (gold > 0) == (predicted > 0)
    right = np.asarray((same | (gold < 0)).all(axis=1))
    return _ratio(right, np.ones_like(right), weights)


def macro_f1(gold: IntArray, predicted: IntArray, family: Family, weights: FloatArray | None = None) -> Score:
    """Return the F1 of the precision and the recall of the set of aspects with an opinion, each averaged over groups.

    `sun`: groups without a gold opinion are skipped. `ma`: an empty set counts as the set {OTHER}.
    A group without a hit has precision and recall 0.
    """
    expected, found = _present(gold, predicted)
    if family == "ma":
        expected, found = (np.concatenate([one, ~one.any(axis=1, keepdims=True)], axis=1) for one in (expected, found))
    counted = np.asarray(expected.any(axis=1))
    hits = (expected & found).sum(axis=1)
    precision = _ratio(hits / np.maximum(found.sum(axis=1), 1), counted, weights)
    recall = _ratio(hits / np.maximum(expected.sum(axis=1), 1), counted, weights)
    f1: Score = np.where((precision == 0) & (recall == 0), 0.0, divide(2 * precision * recall, precision + recall))[()]
    return f1


def aspect_auc(gold: IntArray, probabilities: FloatArray, weights: FloatArray | None = None) -> Score:
    """Return the ROC-AUC of P(none) against "gold is none" over the rows of one aspect; both families."""
    rows = gold[:, 0] >= 0
    row_weights = None if weights is None else weights[..., rows]
    return roc_auc(probabilities[rows, 0, 0], gold[rows, 0] == 0, row_weights)


def sentiment_accuracy(gold: IntArray, probabilities: FloatArray, weights: FloatArray | None = None) -> Score:
    """Return the share of rows with a gold opinion whose polarity is right, whatever P(none); both families."""
    opinion = gold > 0
    right = opinion & (sentiment_labels(probabilities) == gold)
    return _ratio(right.sum(axis=1), opinion.sum(axis=1), weights)


def sentiment_auc(gold: IntArray, probabilities: FloatArray, weights: FloatArray | None = None) -> Score:
    """Return the ROC-AUC of the polarity over the rows of one aspect with a gold opinion; both families.

    Two polarities: the second (negative) one's share against "gold is negative". More: the mean over the
    polarities of each one's share against "gold is this one". Shares are those of `polarity_shares`.
    """
    rows = gold[:, 0] > 0
    shares = polarity_shares(probabilities[rows, 0])
    row_weights = None if weights is None else weights[..., rows]
    polarities = [1] if shares.shape[-1] == 2 else range(shares.shape[-1])
    return mean_of_defined([roc_auc(shares[:, one], gold[rows, 0] == one + 1, row_weights) for one in polarities])


def polarity_shares(probabilities: FloatArray) -> NDArray[np.float64]:
    """Return each polarity's share of the probability of all polarities; equal ones where all have probability 0."""
    values = np.asarray(probabilities[..., 1:], dtype=np.float64)
    totals = values.sum(axis=-1, keepdims=True)
    equal = np.full_like(values, 1 / values.shape[-1])
    return np.asarray(np.divide(values, totals, out=equal, where=totals > 0))


def sentiment_labels(probabilities: FloatArray) -> IntArray:
    """Return the label of each row if it must be a polarity: the likeliest, the first of those equally likely."""
    shares = polarity_shares(probabilities)
    if shares.shape[-1] == 2:  # by the share of the second, as both families define it
        return np.where(shares[..., 1] > 0.5, 2, 1)
    return np.asarray(1 + shares.argmax(axis=-1))


def row_accuracy(gold: IntArray, predicted: IntArray) -> float:
    """Return the share of rows whose label is right, `none` included; high for any predictor, as most are `none`."""
    return float(_ratio((gold == predicted) & (gold >= 0), gold >= 0, None))


def detection(gold: IntArray, predicted: IntArray) -> tuple[float, float, float]:
    """Return precision, recall and F1 over rows of "there is an opinion"."""
    expected, found = _present(gold, predicted)
    hits, there, claimed = (np.float64(rows.sum()) for rows in (expected & found, expected, found))
    return float(divide(hits, claimed)), float(divide(hits, there)), float(divide(2 * hits, there + claimed))


def roc_auc(scores: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> Score:
    """Return the chance that a positive row scores above a negative one, equal scores counting half."""
    if weights is None:
        weights = np.ones(len(scores))
    if not len(scores):
        return divide(weights.sum(axis=-1), np.float64(0))
    order = np.argsort(scores)
    ranked = scores[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))  # of each run of equal scores
    weights = weights[..., order]
    ours = np.add.reduceat(weights * positive[order], starts, axis=-1)  # (..., runs): weight of positive rows
    others = np.add.reduceat(weights * ~positive[order], starts, axis=-1)
    beaten = others.cumsum(axis=-1) - others / 2
    return divide((ours * beaten).sum(axis=-1), ours.sum(axis=-1) * others.sum(axis=-1))


def divide(part: Score, whole: Score) -> Score:
    """Return `part / whole`, NaN where the whole is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient: Score = np.where(whole == 0, np.nan, np.divide(part, whole))[()]
    return quotient


def mean_of_defined(values: Sequence[Score]) -> Score:
    """Return the mean of the figures that are defined, NaN where none is."""
    stacked = np.stack(values)
    defined = ~np.isnan(stacked)
    return divide(np.where(defined, stacked, 0.0).sum(axis=0), defined.sum(axis=0))


def _present(gold: IntArray, predicted: IntArray) -> tuple[BoolArray, BoolArray]:
    """Return which rows have an opinion, and which are predicted to have one."""
    return gold > 0, (predicted > 0) & (gold >= 0)


def _ratio(part: NDArray[Any], whole: NDArray[Any], weights: FloatArray | None) -> Score:
    """Return the (weighted) total of `part` over that of `whole`; both have one value a group."""
    if weights is None:
        return divide(np.float64(part.sum()), np.float64(whole.sum()))
    return divide(weights @ part, weights @ whole)


def question_counts(gold: IntArray, probabilities: FloatArray) -> dict[str, tuple[IntArray, IntArray]]:
    """Return the two counts of each question whose sums' quotient is a figure of `question_metrics`; none is -1."""
    predicted = probabilities.argmax(-1)
    there, found = gold > 0, predicted > 0
    both = there.astype(np.int64) + found
    polarity = 1 + probabilities[:, 1:].argmax(-1)
    return {
        "opinion_f1": (2 * (there & (predicted == gold)), both),
        "presence_f1": (2 * (there & found), both),
        "polarity_accuracy": (1 * (there & (polarity == gold)), 1 * there),
        "false_opinions": (1 * (found & ~there), 1 * ~there),
    }


def question_metrics(gold: IntArray, probabilities: FloatArray) -> dict[str, float]:
    """Return the F1 of opinions with their polarity and of their presence, and two shares.

    `polarity_accuracy` is of all questions with a gold opinion, whatever the probability of `none`; `false_opinions` is
    the share of the others that get one.
    """
    counts = question_counts(gold[gold >= 0], probabilities[gold >= 0])
    return {name: float(_ratio(part, whole, None)) for name, (part, whole) in counts.items()}
