"""Figures of parts of the questions, against plain loops and scikit-learn."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from scored_data import DATA, many, own_aspects
from tabsa.evaluation.calibration import calibration_error
from tabsa.evaluation.metrics import question_metrics
from tabsa.evaluation.report import Report, evaluate
from tabsa.schema import Dataset, Example, Target


@pytest.fixture
def report() -> Report:
    dataset, probabilities = many([1, 2, 3, 1] * 20)
    return evaluate(dataset, probabilities, bootstrap=0)


def test_confusion_against_a_loop(report: Report) -> None:
    counts = {gold: dict.fromkeys(DATA.labels, 0) for gold in DATA.labels}
    for answer in report.answers:
        counts[answer.gold][answer.said] += 1
    assert report.confusion == counts
    assert sum(map(sum, (row.values() for row in counts.values()))) == report.counts["rows"]


def test_labels_are_scored_as_scikit_learn_does(report: Report) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    gold, said = ([getattr(answer, name) for answer in report.answers] for name in ("gold", "said"))
    found = sklearn.precision_recall_fscore_support(gold, said, labels=DATA.labels, zero_division=np.nan)
    for number, one in enumerate(report.labels.values()):
        assert_allclose([one.precision, one.recall, one.f1, one.gold], [values[number] for values in found])
        assert one.said == said.count(DATA.labels[number])


def test_a_label_that_is_nowhere_is_not_defined() -> None:
    report = evaluate(DATA, np.tile([1.0, 0, 0], (4, 2, 1)), bootstrap=0)
    positive = report.labels["positive"]
    assert (positive.gold, positive.said, positive.right, positive.recall, positive.f1) == (2, 0, 0, 0, 0)
    assert np.isnan(positive.precision)
    silent = replace(DATA, examples=DATA.examples[1:2])
    assert np.isnan(evaluate(silent, np.tile([1.0, 0, 0], (1, 2, 1)), bootstrap=0).labels["positive"].f1)


def tagged(seed: int) -> tuple[Dataset, np.ndarray]:
    dataset, probabilities = own_aspects(seed)
    marks = [{"kind": "plain"}, {"kind": "irony", "domain": "pubs"}, {}]
    examples = [replace(example, tags=marks[number % 3]) for number, example in enumerate(dataset.examples)]
    return replace(dataset, examples=tuple(examples)), probabilities


@pytest.mark.parametrize("seed", range(3))
def test_tags_are_scored_as_data_of_their_own(seed: int) -> None:
    dataset, probabilities = tagged(seed)
    report = evaluate(dataset, probabilities, bootstrap=0)
    assert list(report.tags) == ["kind", "domain"]
    assert set(report.tags["kind"]) == {"plain", "irony"}
    for tag, values in report.tags.items():
        for value, found in values.items():
            ours = [answer for answer in report.answers if answer.example.tags.get(tag) == value]
            gold = np.array([dataset.labels.index(answer.gold) for answer in ours])
            rows = np.array([list(answer.probabilities.values()) for answer in ours])
            assert found.questions == len(ours)
            assert found.opinions == (gold > 0).sum()
            assert found.texts == sum(example.tags.get(tag) == value for example in dataset.examples)
            expected = question_metrics(gold, rows)
            assert {name: getattr(found, name) for name in expected} == pytest.approx(expected, nan_ok=True)
    assert [one.questions for one in report.tags["kind"].values()] == sorted(
        (one.questions for one in report.tags["kind"].values()), reverse=True
    )


def test_data_without_tags_has_no_such_part(report: Report) -> None:
    assert report.tags == {}
    assert report.to_dict()["tags"] == {}


def test_how_sure_against_how_often_right(report: Report) -> None:
    answers = report.answers
    # Bins of one width cannot be compared with fifteen; one of ours against a plain loop, and the error by its own.
    sure = answers.probabilities.max(-1)
    right = answers.said == answers.gold
    for one in report.reliability["answer"].bins:
        ours = np.floor(sure * 10) == np.floor(one.confidence * 10)
        assert (one.count, one.confidence, one.accuracy) == pytest.approx(
            (ours.sum(), sure[ours].mean(), right[ours].mean())
        )
    expected = calibration_error(answers.gold, answers.probabilities, bins=10)
    assert report.reliability["answer"].error == pytest.approx(expected)
    assert sum(one.count for one in report.reliability["presence"].bins) == len(answers)
    assert sum(one.count for one in report.reliability["polarity"].bins) == report.counts["opinions"]


def test_reliability_without_any_opinion_is_not_defined() -> None:
    report = evaluate(replace(DATA, examples=DATA.examples[1:2]), np.tile([0.8, 0.1, 0.1], (1, 2, 1)), bootstrap=0)
    assert report.reliability["polarity"].bins == ()
    assert np.isnan(report.reliability["polarity"].error)
    assert report.to_dict()["reliability"]["polarity"] == {"error": None, "bins": []}


# ---- few


def texts(opinions: int) -> Dataset:
    examples = [Example(str(n), "", (Target("t"),), ()) for n in range(opinions + 5)]
    from tabsa.schema import Opinion

    judged = [replace(e, opinions=(Opinion("t", "price", "positive"),)) for e in examples[:opinions]]
    return replace(DATA, aspects=("price",), examples=(*judged, *examples[opinions:]))


@pytest.mark.parametrize(
    ("opinions", "words"), [(1, "1 opinion: too few"), (12, "12 opinions: too few to tell models apart"), (100, "")]
)
def test_a_report_on_few_opinions_says_so(opinions: int, words: str) -> None:
    dataset = texts(opinions)
    report = evaluate(dataset, np.tile([0.5, 0.3, 0.2], (opinions + 5, 1, 1)), bootstrap=0)
    assert len(report.notes) == bool(words)
    assert words in "".join(report.notes)
