"""Which words carry an answer, measured on the model: what its probability loses where a word is left out.

Occlusion (Zeiler and Fergus, 2014; for texts Li et al., 2016) asks any model, whatever it is made of: the text is read
again without each word, and the drop of the answer's probability is the word's weight. A negative weight is a word that
speaks against the answer. Names of targets stay: without them it would be another question.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from tabsa.errors import DataError
from tabsa.evaluation.answers import WordWeights, worst_of_each
from tabsa.evaluation.report import Report
from tabsa.inference import Predictor, predict_questions
from tabsa.schema import Dataset, Example, Polarity, Span, Target
from tabsa.text import TargetFinder, all_targets, tokenise_marked

MOST: Final = 50  # mistakes of a report that are looked into
_MOST_PARTS = 128  # a text of more words is left out in runs of words, so that a long one does not cost its square


@dataclass(frozen=True, slots=True)
class OccludedQuestion:
    """One answer to be looked into: `targets` are all that the text was read for, `target` the one it is about."""

    text: str
    targets: Sequence[Target]
    target: str
    aspect: str
    label: Polarity


def occlusion(
    predictor: Predictor,
    text: str,
    target: Target | str,
    aspect: str,
    label: Polarity,
    *,
    targets: Sequence[Target] | None = None,
) -> WordWeights:
    """How much of the probability of `label` is lost where each word is left out, in the order of the text.

    Args:
        predictor: any model.
        text: what is read.
        target: a name to find in the text (one that it does not mention is taken as what it is about), or a `Target`.
        aspect: what is asked.
        label: the answer that is looked into, one of the model's labels.
        targets: all targets that the text was read for, with `target` among them: other names change a reading.

    Raises:
        DataError: the model does not know the label, or the aspect.
    """
    if label not in predictor.labels:
        raise DataError(f"the model does not know the label '{label}'; expected one of {', '.join(predictor.labels)}")
    if isinstance(target, str):
        named = {one.name: one for one in targets or ()}
        found = TargetFinder([target]).find(text)
        target = named.get(target) or all_targets((target,), found, implied=True)[0]
    question = OccludedQuestion(text, targets or (target,), target.name, aspect, label)
    (weights,) = occlusions(predictor, [question], predictor.labels)
    return weights


def occlusions(
    predictor: Predictor, questions: Sequence[OccludedQuestion], labels: tuple[Polarity, ...]
) -> list[WordWeights]:
    """The same of many answers, whose readings go to the model together; `labels` are the data's, `none` first."""
    parts = [list(_parts(question)) for question in questions]
    readings = [
        Example("", text, tuple(targets), aspects=(question.aspect,))
        for question, spans in zip(questions, parts, strict=True)
        for text, targets in (
            (question.text, question.targets),
            *(_without(question.text, question.targets, span) for span in spans),
        )
    ]
    aspects = tuple(dict.fromkeys(question.aspect for question in questions))
    answers = iter(predict_questions(predictor, Dataset("occlusion", "all", aspects, labels, readings)))
    weights = []
    for question, spans in zip(questions, parts, strict=True):
        place = [target.name for target in question.targets].index(question.target)
        column = labels.index(question.label)
        rows = [list(islice(answers, len(question.targets)))[place] for _ in range(len(spans) + 1)]
        whole, *left = (float(row[column]) for row in rows)
        weights.append(tuple((span, whole - share) for span, share in zip(spans, left, strict=True)))
    return weights


def with_evidence(report: Report, predictor: Predictor, most: int = MOST) -> Report:
    """The report with the words that carry the answer, for the `most` worst of its mistakes (`worst_of_each`)."""
    worst = worst_of_each(report.errors, most)
    questions = [
        OccludedQuestion(one.text, one.example.targets, one.target.name, one.aspect, one.said) for one in worst
    ]
    found = occlusions(predictor, questions, report.answers.dataset.labels) if questions else []
    explained = {id(one): replace(one, evidence=weights) for one, weights in zip(worst, found, strict=True)}
    return replace(report, errors=tuple(explained.get(id(one), one) for one in report.errors))


def _parts(question: OccludedQuestion) -> Iterator[Span]:
    """The words that are left out, each by itself; in a long text in runs."""
    words = [
        Span(token.start, token.end)
        for token in tokenise_marked(question.text, question.targets)
        if token.target is None and not all(unicodedata.category(character)[0] in "PZC" for character in token.text)
    ]
    run = -(-len(words) // _MOST_PARTS)
    start = 0
    while start < len(words):
        end = start + 1
        while end < min(start + run, len(words)) and not _mention_between(question, words[start], words[end]):
            end += 1
        yield Span(words[start].start, words[end - 1].end)
        start = end


def _mention_between(question: OccludedQuestion, first: Span, last: Span) -> bool:
    mentions = (mention for target in question.targets for mention in target.mentions)
    return any(first.end <= mention.start and mention.end <= last.start for mention in mentions)


def _without(text: str, targets: Sequence[Target], span: Span) -> tuple[str, list[Target]]:
    """The text less these characters and one of the spaces around them, and the targets where they are then."""
    start, end = span
    if end < len(text) and text[end].isspace() and (start == 0 or text[start - 1].isspace()):
        end += 1
    gone = end - start

    def moved(mention: Span) -> Span:
        return Span(mention.start - gone, mention.end - gone) if mention.start >= end else mention

    shifted = [replace(target, mentions=tuple(moved(Span(*one)) for one in target.mentions)) for target in targets]
    return text[:start] + text[end:], shifted
