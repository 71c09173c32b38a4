"""Figures of parts of the questions: by label, by kind of text, by how sure the answers are."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np

from tabsa.evaluation.answers import Answers
from tabsa.evaluation.calibration import (
    ReliabilityBin,
    expected_error,
    polarity_reliability,
    presence_reliability,
    reliability,
)
from tabsa.evaluation.questions import question_metrics

TAGS: Final = ("kind", "domain")  # what a text may be marked with (`Example.tags`)


@dataclass(frozen=True, slots=True)
class LabelReport:
    """One label's figures, `none` and each polarity against all others."""

    gold: int
    """How many questions it is right for."""
    said: int
    right: int
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class TagReport:
    """The figures of single questions for texts that are marked alike (`tabsa.evaluation.questions`)."""

    texts: int
    questions: int
    opinions: int
    opinion_f1: float
    presence_f1: float
    polarity_accuracy: float
    false_opinions: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Whether answers are right as often as they are sure (Guo et al., 2017)."""

    error: float
    """How far confidence is from accuracy, on average over answers."""
    bins: tuple[ReliabilityBin, ...]


def confusion(answers: Answers) -> dict[str, dict[str, int]]:
    """How often each label was said for each that is right: gold, then said."""
    labels = answers.dataset.labels
    size = len(labels)
    counts = np.bincount(answers.gold * size + answers.said, minlength=size * size).reshape(size, size)
    return {gold: dict(zip(labels, row, strict=True)) for gold, row in zip(labels, counts.tolist(), strict=True)}


def by_label(counts: dict[str, dict[str, int]]) -> dict[str, LabelReport]:
    """Precision, recall and F1 of each label, of the counts that `confusion` gives."""
    reports = {}
    for label, row in counts.items():
        gold, said, right = sum(row.values()), sum(other[label] for other in counts.values()), row[label]
        reports[label] = LabelReport(
            gold=gold,
            said=said,
            right=right,
            precision=right / said if said else math.nan,
            recall=right / gold if gold else math.nan,
            f1=2 * right / (gold + said) if gold + said else math.nan,
        )
    return reports


def by_tag(answers: Answers) -> dict[str, dict[str, TagReport]]:
    """The figures for texts of each kind and each domain, those with most questions first; only tags there are."""
    reports = {tag: _of_tag(answers, tag) for tag in TAGS}
    return {tag: found for tag, found in reports.items() if found}


def _of_tag(answers: Answers, tag: str) -> dict[str, TagReport]:
    of_text = [example.tags.get(tag, "") for example in answers.dataset.examples]
    texts = Counter(of_text)
    number = {value: place for place, value in enumerate(texts)}
    of_question = np.array([number[value] for value in of_text], np.int64)[answers.texts]
    order = np.argsort(of_question, kind="stable")
    places = np.split(order, np.cumsum(np.bincount(of_question, minlength=len(number)))[:-1])
    gold, probabilities = answers.gold, answers.probabilities
    found = {
        value: TagReport(
            texts=texts[value],
            questions=len(ours),
            opinions=int((gold[ours] > 0).sum()),
            **question_metrics(gold[ours], probabilities[ours]),
        )
        for value, ours in zip(number, places, strict=True)
        if value and len(ours)
    }
    return dict(sorted(found.items(), key=lambda item: -item[1].questions))


def by_confidence(answers: Answers) -> dict[str, Reliability]:
    """Of the answers, of whether there is an opinion, and of the polarity of true opinions."""
    gold, probabilities = answers.gold, answers.probabilities
    found = {
        "answer": reliability(probabilities.max(-1), answers.said == gold),
        "presence": presence_reliability(gold, probabilities),
        "polarity": polarity_reliability(gold, probabilities),
    }
    return {name: Reliability(expected_error(bins) if bins else math.nan, bins) for name, bins in found.items()}
