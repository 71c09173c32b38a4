"""Two models on the same questions: the paired bootstrap against a slow and plain one."""

import io
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from scored_data import DATA, many, own_aspects
from tabsa.errors import DataError
from tabsa.evaluation.report import evaluate
from tabsa.schema import Dataset

FIGURES = [
    *(("sun", name) for name in ("strict_accuracy", "macro_f1", "aspect_auc", "sentiment_accuracy", "sentiment_auc")),
    *(("ma", name) for name in ("strict_accuracy", "macro_f1")),
    *(("questions", name) for name in ("opinion_f1", "presence_f1", "polarity_accuracy", "false_opinions")),
]


def two(dataset: Dataset, probabilities: np.ndarray, seed: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """The answers, and some that are right more rarely."""
    noise = np.random.default_rng(seed).dirichlet((1, 1, 1), probabilities.shape[:-1])
    return probabilities, (probabilities + 2 * noise) / 3


def drawn(dataset: Dataset, probabilities: np.ndarray, sample: np.ndarray) -> tuple[Dataset, np.ndarray]:
    """A dataset whose texts are these, with the answers to them."""
    starts = np.cumsum([0, *(len(example.targets) for example in dataset.examples)])
    groups = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in sample])
    return replace(dataset, examples=tuple(dataset.examples[i] for i in sample)), probabilities[groups]


@pytest.mark.parametrize("own", [False, True])
def test_differences_and_intervals_are_those_of_scoring_each_resample_anew(own: bool) -> None:
    dataset, probabilities = own_aspects(4, 25, 3) if own else many([1, 2, 3, 1, 2, 1, 1] * 4)
    first, second = two(dataset, probabilities)
    comparison = evaluate(dataset, first, bootstrap=0).compare(
        evaluate(dataset, second, bootstrap=0), bootstrap=30, seed=5
    )
    texts = len(dataset.examples)
    slow: dict[tuple[str, str], list[float]] = {figure: [] for figure in FIGURES}
    for sample in np.random.default_rng(5).integers(0, texts, (30, texts)):
        scored = [evaluate(*drawn(dataset, answers, sample), bootstrap=0) for answers in (first, second)]
        for section, name in FIGURES:
            slow[section, name].append(getattr(scored[0], section)[name] - getattr(scored[1], section)[name])
    for (section, name), values in slow.items():
        found = comparison.figures[section][name]
        defined = [value for value in values if not math.isnan(value)]
        assert found.interval == pytest.approx(np.percentile(defined, [2.5, 97.5]), abs=1e-12), name
        way = -1 if name == "false_opinions" else 1
        wins = sum(1.0 if way * value > 1e-12 else 0.5 if abs(value) <= 1e-12 else 0.0 for value in defined)
        assert found.better == pytest.approx(wins / len(defined)), name
        below, above = (sum(sign * value <= 1e-12 for value in defined) for sign in (1, -1))
        assert found.p == pytest.approx(min(1, 2 * (1 + min(below, above)) / (len(defined) + 1))), name


def test_identical_models_do_not_differ() -> None:
    dataset, probabilities = many([1, 2, 2, 1, 3] * 6)
    report = evaluate(dataset, probabilities)
    for figures in report.compare(evaluate(dataset, probabilities)).figures.values():
        for one in figures.values():
            assert (one.difference, one.interval, one.better, one.p) == (0, (0, 0), 0.5, 1)


@pytest.mark.parametrize("change", ["aspects", "texts", "gold"])
def test_other_questions_cannot_be_compared(change: str) -> None:
    dataset, probabilities = many([1, 2, 2, 1])
    report = evaluate(dataset, probabilities, bootstrap=0)
    if change == "aspects":
        other = evaluate(replace(dataset, aspects=dataset.aspects[:1]), probabilities[:, :1], bootstrap=0)
    elif change == "texts":
        examples = (replace(dataset.examples[0], text="another"), *dataset.examples[1:])
        other = evaluate(replace(dataset, examples=examples), probabilities, bootstrap=0)
    else:
        examples = tuple(replace(example, opinions=()) for example in dataset.examples)
        other = evaluate(replace(dataset, examples=examples), probabilities, bootstrap=0)
    with pytest.raises(DataError, match="the two were"):
        report.compare(other)


def test_people_get_a_table() -> None:
    first = evaluate(DATA, np.eye(3)[[[1, 0], [2, 0], [0, 0], [2, 1]]], model="[b]mine")
    second = evaluate(DATA, np.tile([1.0, 0, 0], (4, 2, 1)), model="other")
    console = Console(width=80, file=io.StringIO())
    with console.capture() as capture:
        console.print(first.compare(second))
    shown = capture.get()
    assert "[b]mine against other on towns test" in shown
    strict = next(line for line in shown.splitlines() if "strict accuracy, sun" in line)
    assert strict.split()[3:6] == ["100.0", "25.0", "+75.0"]
    assert "4 opinions: too few to tell models apart" in shown
    assert max(map(len, shown.splitlines())) <= 80
