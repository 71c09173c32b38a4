"""The metrics once more, as slowly and plainly as docs/evaluation.md states them: dicts, sets and loops.

A group is `(gold, probabilities)`: gold is `{aspect: label}`, probabilities `{aspect: {label: probability}}`
with the labels in order, `none` first. An undefined figure is None.
"""

from typing import TypeAlias

Gold: TypeAlias = dict[str, str]
Probabilities: TypeAlias = dict[str, dict[str, float]]
Groups: TypeAlias = list[tuple[Gold, Probabilities]]


def likeliest(row: dict[str, float]) -> str:
    best = None
    for label in row:
        if best is None or row[label] > row[best]:
            best = label
    assert best is not None
    return best


def present(labels: dict[str, str]) -> set[str]:
    return {aspect for aspect, label in labels.items() if label != "none"}


def predict(probabilities: Probabilities) -> dict[str, str]:
    return {aspect: likeliest(row) for aspect, row in probabilities.items()}


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def mean_of_defined(values: list[float | None]) -> float | None:
    return mean([value for value in values if value is not None])


def auc(scores: list[float], positive: list[bool]) -> float | None:
    """Compare every positive with every negative."""
    wins = []
    for score, is_positive in zip(scores, positive, strict=True):
        for other, other_is_positive in zip(scores, positive, strict=True):
            if is_positive and not other_is_positive:
                wins.append(1.0 if score > other else 0.5 if score == other else 0.0)
    return mean(wins)


def strict_accuracy(groups: Groups, family: str) -> float | None:
    right = []
    for gold, probabilities in groups:
        predicted = predict(probabilities)
        if family == "sun":
            right.append(float(all(predicted[aspect] == gold[aspect] for aspect in gold)))
        else:
            right.append(float(present(predicted) == present(gold)))
    return mean(right)


def macro_f1(groups: Groups, family: str) -> float | None:
    precisions, recalls = [], []
    for gold, probabilities in groups:
        expected, found = present(gold), present(predict(probabilities))
        if family == "sun":
            if not expected:
                continue
        else:
            expected, found = expected or {"OTHER"}, found or {"OTHER"}
        hits = len(expected & found)
        precisions.append(hits / len(found) if hits else 0.0)
        recalls.append(hits / len(expected) if hits else 0.0)
    precision, recall = mean(precisions), mean(recalls)
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def aspect_auc(groups: Groups) -> float | None:
    values = []
    for aspect in groups[0][0]:
        scores = [probabilities[aspect]["none"] for _, probabilities in groups]
        values.append(auc(scores, [gold[aspect] == "none" for gold, _ in groups]))
    return mean_of_defined(values)


def share(row: dict[str, float], polarity: str) -> float:
    polarities = [label for label in row if label != "none"]
    total = sum(row[label] for label in polarities)
    return row[polarity] / total if total else 1 / len(polarities)


def sentiment_accuracy(groups: Groups) -> float | None:
    right = []
    for gold, probabilities in groups:
        for aspect in present(gold):
            row = probabilities[aspect]
            if set(row) == {"none", "positive", "negative"}:
                answer = "negative" if share(row, "negative") > 0.5 else "positive"
            else:
                answer = likeliest({label: share(row, label) for label in row if label != "none"})
            right.append(float(answer == gold[aspect]))
    return mean(right)


def sentiment_auc(groups: Groups) -> float | None:
    values = []
    for aspect, row in groups[0][1].items():
        polarities = [label for label in row if label != "none"]
        if polarities == ["positive", "negative"]:
            polarities = ["negative"]
        rows = [(gold[aspect], p[aspect]) for gold, p in groups if gold[aspect] != "none"]
        one_against_rest = []
        for polarity in polarities:
            scores = [share(row, polarity) for _, row in rows]
            one_against_rest.append(auc(scores, [label == polarity for label, _ in rows]))
        values.append(mean_of_defined(one_against_rest))
    return mean_of_defined(values)


def all_metrics(groups: Groups) -> dict[str, dict[str, float | None]]:
    return {
        family: {
            "strict_accuracy": strict_accuracy(groups, family),
            "macro_f1": macro_f1(groups, family),
            "aspect_auc": aspect_auc(groups),
            "sentiment_accuracy": sentiment_accuracy(groups),
            "sentiment_auc": sentiment_auc(groups),
        }
        for family in ("sun", "ma")
    }
