"""Questions with their answers, and the wrong ones among them."""

from dataclasses import replace

import numpy as np
import pytest

from scored_data import DATA, own_aspects
from tabsa.evaluation.answers import Mistake, worst_of_each
from tabsa.evaluation.report import evaluate
from tabsa.schema import Example, Target


def test_a_report_knows_every_question_that_was_asked():
    probabilities = np.random.default_rng(0).dirichlet((1, 1, 1), (4, 2))
    report = evaluate(DATA, probabilities, bootstrap=0)
    assert len(report.answers) == 8
    asked = [(a.example.id, a.target.name, a.aspect, a.gold) for a in report.answers]
    assert asked == [(e.id, t.name, aspect, gold) for e, t, aspect, gold in DATA.questions()]
    for answer, row in zip(report.answers, probabilities.reshape(-1, 3), strict=True):
        assert list(answer.probabilities.values()) == pytest.approx(row)
        assert answer.said == DATA.labels[int(np.argmax(row))]


@pytest.mark.parametrize("seed", range(3))
def test_where_texts_ask_their_own_aspects_too(seed):
    dataset, probabilities = own_aspects(seed)
    report = evaluate(dataset, probabilities, bootstrap=0)
    groups = {(example.id, target.name): number for number, (example, target) in enumerate(dataset.groups())}
    for answer in report.answers:
        row = probabilities[groups[answer.example.id, answer.target.name], dataset.aspects.index(answer.aspect)]
        assert list(answer.probabilities.values()) == pytest.approx(row)
    numbers = [int(answer.example.id) for answer in report.answers]
    assert report.answers.texts.tolist() == numbers


def test_mistakes_are_the_wrong_answers_the_most_wrong_first():
    probabilities = np.random.default_rng(3).dirichlet((1, 1, 1), (4, 2))
    report = evaluate(DATA, probabilities, bootstrap=0)
    wrong = [answer for answer in report.answers if answer.said != answer.gold]
    by_hand = sorted((a.probabilities[a.said] - a.probabilities[a.gold] for a in wrong), reverse=True)
    assert [error.wrongness for error in report.errors] == pytest.approx(by_hand)
    assert {(e.id, e.target.name, e.aspect, e.gold, e.said) for e in report.errors} == {
        (a.example.id, a.target.name, a.aspect, a.gold, a.said) for a in wrong
    }
    assert all(error.probability == error.probabilities[error.said] for error in report.errors)
    assert all(error.evidence == () for error in report.errors)


def test_a_flawless_model_has_no_mistakes():
    report = evaluate(DATA, np.eye(3)[[[1, 0], [2, 0], [0, 0], [2, 1]]], bootstrap=0)
    assert report.errors == ()
    assert report.answers.said.tolist() == report.answers.gold.tolist()


def mistake(gold: str, said: str, sure: float) -> Mistake:
    rest = dict.fromkeys({"none", "positive", "negative"} - {said}, (1 - sure) / 2)
    return Mistake(Example("1", "x", ()), Target("x"), "price", gold, said, {said: sure, **rest})


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
