"""Predictions as a page: the opinions found, the words, phrases and sentences that carry them, and the gates."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tabsa.encoding.passages import Passage
from tabsa.inference.results import Prediction
from tabsa.pages.rendering import check_page_name, cut, render, write_page
from tabsa.schema import Span
from tabsa.text.sentences import split_sentences

_LEAST: Final = 0.01  # a word of less is not shaded


def write_explanation(predictions: Prediction | Iterable[Prediction], path: str | Path, *, title: str = "") -> Path:
    """Write what explains one or more predictions as a page (.html) that needs nothing else.

    Predictions of `Predictor.predict` have what it takes; those of `predict_many` have with `explain=True`.
    """
    path = check_page_name(path)
    several = [predictions] if isinstance(predictions, Prediction) else predictions
    return write_page(evidence_page([prediction.for_people() for prediction in several], title), path)


def evidence_page(predictions: Sequence[Prediction], title: str = "") -> str:
    """Return the page as text, in the order of the predictions."""
    articles = [_article(prediction) for prediction in predictions]
    return render("evidence.html", title=title or "Who is judged, on what, and how", articles=articles)


def _article(prediction: Prediction) -> dict[str, Any]:
    found = prediction.found()
    judged = {opinion.aspect for opinion in found}
    aspects = dict.fromkeys(opinion.aspect for opinion in prediction.opinions)
    mentions = {span: target.name for target in prediction.mentions() for span in target.mentions}
    evidence = [prediction.evidence(one.target, one.aspect) for one in found] if prediction.explain else []
    return {
        "text": cut(prediction.text, mentions),
        "opinions": {(opinion.target, opinion.aspect): opinion for opinion in prediction.opinions},
        "targets": prediction.targets(),
        "unmentioned": prediction.unmentioned(),
        "aspects": [aspect for aspect in aspects if aspect in judged],
        "silent": [aspect for aspect in aspects if aspect not in judged],
        "evidence": [(one, cut(one.text, {s: w for s, w in one.words if abs(w) >= _LEAST})) for one in evidence],
        "has_sentences": len(split_sentences(prediction.text)) > 1,
        "gates": [reading for passage in prediction.passages if (reading := _gates(prediction, passage))],
        "was_read": bool(prediction.passages),
    }


def _gates(prediction: Prediction, passage: Passage) -> dict[str, Any]:
    """A passage shaded by its gates: their mean, as each opinion weighs the chains, and chain by chain."""
    gates = passage.gates  # (directions, tokens, chains)
    if gates is None or not gates.size:
        return {}
    whole = {"mean of all": gates.mean((0, 2))} | {
        label: gates.mean(0) @ shares for label, shares in _questions(prediction, passage)
    }
    signs = ("→ ", "← ") if len(gates) > 1 else ("",)
    chains = {
        f"{sign}{_chain(number, prediction.tied, passage.targets)}": values
        for sign, direction in zip(signs, gates, strict=True)
        for number, values in enumerate(direction.T)
    }
    text = prediction.text[: passage.end]
    spans = [Span(token.start, token.end) for token in passage.tokens]

    def shaded(values: NDArray[np.float32]) -> list[tuple[str, str | float | None]]:
        pieces = cut(text, dict(zip(spans, values.tolist(), strict=True)))
        return [(pieces[0][0][passage.start :], None), *pieces[1:]]

    return {
        "targets": passage.targets,
        "whole": [(label, shaded(values)) for label, values in whole.items()],
        "chains": [(label, shaded(values)) for label, values in chains.items()],
    }


def _questions(prediction: Prediction, passage: Passage) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Each opinion found about the passage's targets, with the share of each chain."""
    if prediction.attention is None:
        return
    for opinion in prediction.found():
        if opinion.target in passage.targets:
            slot, column = passage.targets.index(opinion.target), prediction.aspects.index(opinion.aspect)
            yield f"{opinion.aspect}: {opinion.target}", prediction.attention[slot, column]


def _chain(chain: int, tied: int, targets: Sequence[str]) -> str:
    """Name a chain by what it follows: a target, or whatever training made of it."""
    if chain < tied:
        return targets[chain] if chain < len(targets) else f"target {chain + 1}, unused"
    return f"free {chain - tied + 1}" if tied else f"chain {chain + 1}"
