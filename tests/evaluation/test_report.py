import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from numpy.typing import NDArray
from rich.console import Console

from scored_data import DATA, GOLD, many, one_hot, own_aspects
from tabsa.encoding.arrays import gold_labels
from tabsa.errors import DataError
from tabsa.evaluation import metrics
from tabsa.evaluation.metrics import question_metrics
from tabsa.evaluation.report import Report, evaluate
from tabsa.schema import Dataset, Example, Target

# ---- gold labels


def test_gold_labels_are_indices_in_the_order_of_groups_aspects_and_labels() -> None:
    assert gold_labels(DATA).tolist() == GOLD
    turned = replace(DATA, aspects=("safety", "price"), labels=("none", "negative", "positive"))
    assert gold_labels(turned).tolist() == [[0, 2], [0, 1], [0, 0], [2, 1]]


def test_a_dataset_without_targets_has_no_rows() -> None:
    assert gold_labels(replace(DATA, examples=(Example("1", "", ()),))).shape == (0, 2)


def test_a_polarity_outside_the_labels_is_a_data_error() -> None:
    with pytest.raises(DataError, match="towns test has the polarity 'negative'; expected one of none, positive"):
        gold_labels(replace(DATA, labels=("none", "positive")))


# ---- the report


def test_a_report_has_the_figures_of_the_metrics() -> None:
    dataset, probabilities = many([1, 2, 2, 1, 3, 1, 1, 2])
    report = evaluate(dataset, probabilities)
    expected = metrics.all_metrics(gold_labels(dataset), probabilities)
    assert report.sun == expected["sun"]
    assert report.ma == expected["ma"]
    assert (report.data, report.split) == ("towns", "test")


def test_counts() -> None:
    report = evaluate(DATA, one_hot(GOLD))
    assert report.counts == {"examples": 3, "groups": 4, "groups_without_opinion": 1, "rows": 8, "opinions": 4}


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
        *("confusion", "labels", "tags", "reliability", "notes", "model"),
    ]


def test_wrong_shapes_and_values_are_refused() -> None:
    with pytest.raises(ValueError, match=r"probabilities have shape \(3, 2, 3\); towns needs \(4, 2, 3\)"):
        evaluate(DATA, one_hot(GOLD[:3]))
    probabilities = one_hot(GOLD)
    probabilities[0, 0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        evaluate(DATA, probabilities)


@pytest.mark.parametrize("change", [{"examples": ()}, {"examples": DATA.examples[1:2], "labels": ("none",)}])
def test_data_without_opinions_cannot_be_scored(change: dict[str, Any]) -> None:
    dataset = replace(DATA, **change)
    with pytest.raises(DataError, match="towns test has no opinions"):
        evaluate(dataset, np.ones((len(gold_labels(dataset)), 2, len(dataset.labels))))


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


def test_resampling_is_of_examples_with_all_their_groups() -> None:
    """One example, however many groups it has, has nothing to vary; as many examples of one group each do."""
    together, probabilities = many([30])
    assert all(low == high for low, high in intervals(evaluate(together, probabilities, bootstrap=50)).values())
    apart, probabilities = many([1] * 30)
    assert all(low < high for low, high in intervals(evaluate(apart, probabilities, bootstrap=50)).values())


def test_intervals_are_those_of_resampling_one_by_one() -> None:
    dataset, probabilities = many([1, 2, 0, 3, 1, 2, 1])
    gold, resamples = gold_labels(dataset), 40
    starts = np.cumsum([0, *(len(example.targets) for example in dataset.examples)])
    drawn = np.random.default_rng(3).integers(0, 7, (resamples, 7))
    scores = []
    for sample in drawn:
        groups = np.concatenate([np.arange(starts[i], starts[i + 1]) for i in sample])
        scores.append(float(metrics.strict_accuracy(gold[groups], probabilities[groups].argmax(-1), "sun")))
    found = intervals(evaluate(dataset, probabilities, bootstrap=resamples, seed=3))["sun strict_accuracy"]
    assert_allclose(found, np.percentile(scores, [2.5, 97.5]))


def test_intervals_do_not_depend_on_how_many_resamples_are_held_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, probabilities = many([1, 2, 2, 1])
    whole = intervals(evaluate(dataset, probabilities, bootstrap=50))
    monkeypatch.setattr("tabsa.evaluation.bootstrap._WEIGHTS_AT_ONCE", 7 * 6)
    assert intervals(evaluate(dataset, probabilities, bootstrap=50)) == whole


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    """Many draws of a coin that is right 70% of the time: about 95 in 100 intervals should hold 0.7."""
    rng = np.random.default_rng(0)
    dataset = replace(DATA, aspects=("price",), examples=tuple(Example(str(i), "", (Target("t"),)) for i in range(200)))
    covered = 0
    for _ in range(100):
        wrong = rng.random((200, 1)) > 0.7
        low, high = intervals(evaluate(dataset, one_hot(wrong.astype(int)), bootstrap=200))["sun strict_accuracy"]
        covered += low <= 0.7 <= high
    assert 88 <= covered <= 100


def test_intervals_can_be_left_out() -> None:
    report = evaluate(DATA, one_hot(GOLD), bootstrap=0)
    assert report.intervals is None
    assert report.to_dict()["intervals"] is None


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
    strict = next(line for line in lines if "strict accuracy" in line)
    assert strict.split() == ["strict", "accuracy", "50.0", "75.0"]
    safety = next(line for line in lines if "safety" in line)
    assert safety.split() == ["safety", "1", "0", "–", "0.0", "0.0", "50.0", "100.0", "–"]


def test_the_table_shows_intervals() -> None:
    lines = shown(evaluate(DATA, one_hot(GOLD))).splitlines()
    assert next(line for line in lines if "strict accuracy" in line).count("100.0  [100.0, 100.0]") == 2


def test_names_in_the_table_are_not_markup() -> None:
    dataset = replace(DATA, name="[red]towns", aspects=("[bold]price", "safety"))
    text = shown(evaluate(dataset, one_hot(GOLD), bootstrap=0))
    assert "[red]towns" in text
    assert "[bold]price" in text


def test_more_than_two_polarities_fit_a_terminal() -> None:
    aspects = ("anecdotes/miscellaneous", "price")
    dataset = replace(DATA, aspects=aspects, labels=("none", "positive", "negative", "neutral", "conflict"))
    text = shown(evaluate(dataset, np.full((4, 2, 5), 0.2)))
    price = next(line for line in text.splitlines() if "price" in line)
    assert price.split()[1] == "3"
    assert "anecdotes/miscellaneous" in text


# ---- texts that ask their own aspects


def of_questions(dataset: Dataset, probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of (groups, aspects, labels), what was asked."""
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


def test_intervals_of_questions_are_those_of_the_whole_array() -> None:
    dataset, probabilities = own_aspects(5)
    whole = replace(
        dataset, examples=tuple(replace(e, aspects=e.aspects or dataset.aspects[:1]) for e in dataset.examples)
    )
    report = evaluate(whole, of_questions(whole, probabilities), bootstrap=50, seed=3)
    chance = np.random.default_rng(3)
    examples = len(whole.examples)
    of_group = np.repeat(np.arange(examples), [len(example.targets) for example in whole.examples])
    times = np.stack([np.bincount(s, minlength=examples) for s in chance.integers(0, examples, (50, examples))])
    found = metrics.all_metrics(gold_labels(whole), probabilities, times[:, of_group].astype(float))
    assert report.intervals is not None
    for family in metrics.FAMILIES:
        for name, score in found[family].items():
            assert report.intervals[family][name] == pytest.approx(tuple(np.nanpercentile(score, [2.5, 97.5])))


def test_questions_of_a_dataset_that_asks_everything() -> None:
    probabilities = np.random.default_rng(1).dirichlet((1, 1, 1), (4, 2))
    flat = evaluate(DATA, probabilities.reshape(-1, 3), bootstrap=10)
    assert flat.to_dict() == evaluate(DATA, probabilities, bootstrap=10).to_dict()


def test_data_that_asks_nothing_cannot_be_scored() -> None:
    examples = tuple(replace(example, aspects=()) for example in DATA.examples)
    with pytest.raises(DataError, match="towns test asks nothing"):
        evaluate(replace(DATA, examples=examples), np.zeros((0, 3)))


def test_of_many_aspects_the_table_shows_the_most_frequent() -> None:
    dataset, probabilities = own_aspects(6, examples=200, aspects=60)
    report = evaluate(dataset, of_questions(dataset, probabilities), bootstrap=0)
    lines = shown(report).splitlines()
    (caption,) = (line for line in lines if "aspects with most opinions" in line)
    assert caption.strip() == f"the 20 of {len(report.aspects)} aspects with most opinions"
    listed = [line.split()[0] for line in lines if line.split()[:1] and line.split()[0] in dataset.aspects]
    assert len(listed) == 20
    opinions = {aspect: sum(one.support.values()) for aspect, one in report.aspects.items()}
    assert sorted(opinions.values(), reverse=True)[:20] == [opinions[aspect] for aspect in listed]


# ---- the benchmark


@pytest.mark.data
def test_counts_of_sentihood(data_dir: Path) -> None:
    from tabsa import datasets as data

    dataset = data.load("sentihood", "test", data_dir=data_dir)
    gold = gold_labels(dataset)
    report = evaluate(dataset, one_hot(gold), bootstrap=0)
    assert report.counts == {
        "examples": 1491,
        "groups": 1879,
        "groups_without_opinion": 900,
        "rows": 7516,
        "opinions": 1216,
    }
    assert set(report.sun.values()) == set(report.ma.values()) == {1.0}
