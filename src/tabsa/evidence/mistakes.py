"""The words that carry a model's wrong answers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tabsa.evaluation.answers import Mistake, WordWeights, worst_of_each
from tabsa.evaluation.report import Report
from tabsa.inference.evaluating import label_names
from tabsa.inference.predictor import Predictor
from tabsa.schema import Polarity
from tabsa.text.aspects import clean_aspect

MOST: Final = 50  # mistakes of a report that are looked into


def with_evidence(report: Report, predictor: Predictor, most: int = MOST) -> Report:
    """The report with the words that carry the answer, for the `most` worst of its mistakes (`worst_of_each`)."""
    dataset = report.answers.dataset
    names = dict(zip(dataset.labels, label_names(predictor, dataset), strict=True))
    worst = worst_of_each(report.errors, most)
    explained = {id(one): replace(one, evidence=_carried(one, predictor, names)) for one in worst}
    return replace(report, errors=tuple(explained.get(id(one), one) for one in report.errors))


def _carried(mistake: Mistake, predictor: Predictor, names: Mapping[Polarity, Polarity]) -> WordWeights:
    """The words behind what was said; `names` are the model's for the data's labels."""
    aspect = clean_aspect(mistake.aspect) if predictor.open_aspects else mistake.aspect
    prediction = predictor.predict(mistake.text, mistake.example.targets, [aspect])
    return prediction.evidence(mistake.target.name, aspect, names[mistake.predicted], among=tuple(names.values())).words
