import io
import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from rich.console import Console

from scored_data import DATA, GOLD, many, one_hot, own_aspects
from table_rows import text_rows
from tabsa.encoding.arrays import gold_labels
from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.answers import AnsweredQuestion, worst_of_each
from tabsa.evaluation.metrics import question_metrics
from tabsa.evaluation.report import Report, evaluate
from tabsa.schema import Dataset, Example, Target

# ---- gold labels


def test_gold_labels_are_indices_in_the_order_of_groups_aspects_and_labels() -> None:
    assert gold_labels(DATA).tolist() == GOLD
    turned = replace(DATA, aspects=("safety", "price"), labels=("none", "negative", "positive"))
    assert gold_labels(turned).tolist() == [[0, 2], [0, 1], [0, 0], [2, 1]]


def test_a_polarity_outside_the_labels_is_a_data_error() -> None:
    with pytest.raises(DataError, match="towns test has the polarity 'negative'; expected one of none, positive"):
        gold_labels(replace(DATA, labels=("none", "positive")))


# ---- the report


def test_figures_for_each_aspect_by_hand() -> None:
    # Price: found A and D, missed B, invented C; polarity right for A and B only. Safety: found D, which alone has it.
    none = [[0.1, 0.9], [0.8, 0.9], [0.2, 0.9], [0.1, 0.3]]
    negative = [[0.2, 0.0], [0.2, 0.0], [0.4, 0.0], [0.1, 0.1]]
    probabilities = np.stack([none, 1 - np.array(none) - negative, negative], axis=-1)
    report = evaluate(DATA, probabilities, bootstrap=0)
    price, safety = report.aspects["price"], report.aspects["safety"]
    assert price.support == {"positive": 1, "negative": 2}
    assert_allclose([price.precision, price.recall, price.f1], 2 / 3)
    assert_allclose(price.aspect_auc, 2 / 3)  # C's .2 is above A's and D's .1, below B's .8
    assert_allclose(price.sentiment_accuracy, 2 / 3)
    assert_allclose(price.sentiment_auc, 1 / 2)  # A's share .2/.9 is below B's 1, above D's .1/.9
    assert safety.support == {"positive": 1, "negative": 0}
    assert (safety.precision, safety.recall, safety.f1, safety.aspect_auc) == (1, 1, 1, 1)
    assert safety.sentiment_accuracy == 1
    assert np.isnan(safety.sentiment_auc)
    assert report.row_accuracy == 5 / 8


def test_to_dict_is_json_and_undefined_figures_are_null() -> None:
    only_none = replace(DATA, examples=DATA.examples[1:2])
    report = evaluate(only_none, one_hot([[0, 0]]), bootstrap=10)
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    undefined = dict.fromkeys(("aspect_auc", "sentiment_accuracy", "sentiment_auc"))
    assert plain["sun"] == {"strict_accuracy": 1.0, "macro_f1": None, **undefined}
    assert plain["ma"] == {"strict_accuracy": 1.0, "macro_f1": 1.0, **undefined}
    assert plain["intervals"]["sun"]["macro_f1"] == [None, None]
    assert plain["intervals"]["ma"]["macro_f1"] == [1.0, 1.0]
    assert plain["aspects"]["price"]["precision"] is None
    assert list(plain) == [
        *("sun", "ma", "data", "split", "row_accuracy", "questions", "counts", "aspects", "intervals"),
        *("confusion", "labels", "reliability", "notes", "model"),
    ]


def test_wrong_shapes_and_values_are_refused() -> None:
    with pytest.raises(ValueError, match=r"probabilities have shape \(3, 2, 3\); towns needs \(4, 2, 3\)"):
        evaluate(DATA, one_hot(GOLD[:3]))
    probabilities = one_hot(GOLD)
    probabilities[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        evaluate(DATA, probabilities)


# ---- intervals


def intervals(report: Report) -> dict[str, tuple[float, float]]:
    assert report.intervals is not None
    return {f"{family} {name}": pair for family, pairs in report.intervals.items() for name, pair in pairs.items()}


def test_intervals_hold_the_figure_and_come_back_with_the_same_seed() -> None:
    dataset, probabilities = many([1, 2, 2, 1, 3, 1, 1, 2] * 10)
    report = evaluate(dataset, probabilities, bootstrap=300)
    assert len(intervals(report)) == 14
    for name, (low, high) in intervals(report).items():
        family, metric = name.split()
        assert low < getattr(report, family)[metric] < high
    assert report == evaluate(dataset, probabilities, bootstrap=300)
    assert report != evaluate(dataset, probabilities, bootstrap=300, seed=1)


# ---- the table


def shown(report: Report) -> str:
    console = Console(width=80, file=io.StringIO())
    with console.capture() as capture:
        console.print(report)
    return capture.get()


def test_the_table_shows_both_families_in_percent() -> None:
    predicted = [[2, 0], [2, 0], [0, 0], [2, 0]]
    lines = shown(evaluate(DATA, one_hot(predicted), bootstrap=0)).splitlines()
    assert "towns test: 4 targets in 3 texts" in lines[0]
    assert any("8 questions, 6 answered right; 4 opinions" in line for line in lines)
    strict = next(line for line in lines if "strict accuracy" in line)
    assert strict.split() == ["strict", "accuracy", "50.0", "75.0"]
    safety = next(line for line in lines if "safety" in line)
    assert safety.split() == ["safety", "1", "0", "–", "0.0", "0.0", "50.0", "100.0", "–"]


# ---- texts that ask their own aspects


def of_questions(dataset: Dataset, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows of (groups, aspects, labels) that are questions, in order."""
    groups = {(example.id, target.name): number for number, (example, target) in enumerate(dataset.groups())}
    return np.array(
        [
            probabilities[groups[example.id, target.name], dataset.aspects.index(aspect)]
            for example, target, aspect, _ in dataset.questions()
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_questions_alone_give_the_figures_of_the_whole_array(seed: int) -> None:
    dataset, probabilities = own_aspects(seed)
    report = evaluate(dataset, of_questions(dataset, probabilities), bootstrap=0)
    expected = metrics.all_metrics(gold_labels(dataset), probabilities)
    for family, figures in (("sun", report.sun), ("ma", report.ma)):
        assert figures == pytest.approx({name: float(score) for name, score in expected[family].items()}, nan_ok=True)
    gold = gold_labels(dataset)
    assert report.counts["rows"] == (gold >= 0).sum() == sum(1 for _ in dataset.questions())
    assert report.questions == pytest.approx(question_metrics(gold.ravel(), probabilities.reshape(-1, 3)))
    assert report.to_dict() == evaluate(dataset, probabilities, bootstrap=0).to_dict()


# ---- questions and mistakes


def test_mistakes_are_the_wrong_answers_the_most_wrong_first():
    probabilities = np.random.default_rng(3).dirichlet((1, 1, 1), (4, 2))
    report = evaluate(DATA, probabilities, bootstrap=0)
    wrong = [answer for answer in report.answers if answer.predicted != answer.gold]
    by_hand = sorted((a.probabilities[a.predicted] - a.probabilities[a.gold] for a in wrong), reverse=True)
    assert [error.wrongness for error in report.errors] == pytest.approx(by_hand)
    assert {(e.example.id, e.target.name, e.aspect, e.gold, e.predicted) for e in report.errors} == {
        (a.example.id, a.target.name, a.aspect, a.gold, a.predicted) for a in wrong
    }
    assert all(error.probability == error.probabilities[error.predicted] for error in report.errors)
    assert all(error.evidence == () for error in report.errors)


def mistake(gold: str, predicted: str, sure: float) -> AnsweredQuestion:
    rest = dict.fromkeys({"none", "positive", "negative"} - {predicted}, (1 - sure) / 2)
    return AnsweredQuestion(Example("1", "x", ()), Target("x"), "price", gold, predicted, {predicted: sure, **rest})


def test_the_worst_of_each_way_to_be_wrong():
    missed = [mistake("positive", "none", 0.99 - number / 100) for number in range(10)]
    invented = [mistake("none", "negative", 0.7 - number / 100) for number in range(2)]
    turned = [mistake("positive", "negative", 0.6 - number / 100) for number in range(10)]
    every = sorted([*missed, *invented, *turned], key=lambda one: -one.wrongness)
    assert [one.way for one in (missed[0], invented[0], turned[0])] == ["missed", "invented", "turned"]
    assert worst_of_each(every, 3) == [missed[0], invented[0], turned[0]]
    assert worst_of_each(every, 8) == [*missed[:3], *invented, *turned[:3]]
    assert worst_of_each(every, 50) == every
    assert worst_of_each([], 50) == []
    assert replace(missed[0], gold="negative").way == "missed"


# ---- parts of the questions


@pytest.fixture
def report() -> Report:
    dataset, probabilities = many([1, 2, 3, 1] * 20)
    return evaluate(dataset, probabilities, bootstrap=0)


def test_confusion_against_a_loop(report: Report) -> None:
    counts = {gold: dict.fromkeys(DATA.labels, 0) for gold in DATA.labels}
    for answer in report.answers:
        counts[answer.gold][answer.predicted] += 1
    assert report.confusion == counts
    assert sum(map(sum, (row.values() for row in counts.values()))) == report.counts["rows"]


def test_labels_are_scored_as_scikit_learn_does(report: Report) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    gold, predicted = ([getattr(answer, name) for answer in report.answers] for name in ("gold", "predicted"))
    found = sklearn.precision_recall_fscore_support(gold, predicted, labels=DATA.labels, zero_division=np.nan)
    for number, one in enumerate(report.labels.values()):
        assert_allclose([one.precision, one.recall, one.f1, one.gold], [values[number] for values in found])
        assert one.predicted == predicted.count(DATA.labels[number])


# ---- mistakes as a table


COLUMNS = ["id", "text", "target", "aspect", "gold", "predicted", "probability", "none", "positive", "negative"]


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_every_wrong_answer_is_a_row(tmp_path, name):
    report = evaluate(*many([1, 2, 3] * 5), bootstrap=0)
    path = report.write_errors(tmp_path / name)
    rows = list(text_rows(path))
    assert len(rows) == len(report.errors)
    for row, error in zip(rows, report.errors, strict=True):
        assert list(row) == COLUMNS
        names = [row[column] for column in COLUMNS[:6]]
        assert names == [error.example.id, error.text, error.target.name, error.aspect, error.gold, error.predicted]
        assert float(row["probability"]) == pytest.approx(error.probability, abs=1e-6)
        shares = [float(row[label]) for label in COLUMNS[7:]]
        assert shares == pytest.approx(list(error.probabilities.values()), abs=1e-6)
    assert [p.name for p in tmp_path.iterdir()] == [name]
