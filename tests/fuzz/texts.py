"""Texts of all kinds through all that reads them: predictions, evidence, suggestions, sentences, names."""

import json
import math
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

from fuzz.cases import ANSWERED, Broken, Case
from fuzz.making import some_names, some_of, some_text, some_word, spelled
from fuzz.models import BOX, SMALL, loaded
from tabsa.inference.results import Prediction
from tabsa.inference.suggesting import suggest as suggest_texts
from tabsa.schema import Span, Target
from tabsa.text.sentences import split_sentences
from tabsa.text.suggestions import suggest, suggest_common
from tabsa.text.targets import TargetFinder

_ASPECTS = ("price", "safety", "general", "transit-location", "battery life", "food")
_CLOSED = ("tiny", "places")  # models that know the first four only
_NEAR = 2e-3  # batches of other lengths add up in another order; int8 rounds


def make(chance: random.Random) -> Case:
    """One text with what is asked of it."""
    model = chance.choices((*SMALL, *BOX), (55, 37, 5, 3))[0]
    text = some_text(chance, 600 if model in BOX else 0)
    names = some_names(chance, spelled(text), 2 if model in BOX else 4)
    case: Case = {"model": model, "text": text, "targets": names, "implied": chance.choice((None, True, False))}
    if chance.random() < 0.15:
        case["aliases"] = {name: [some_word(chance, 8) for _ in range(2)] for name in names}
    if chance.random() < 0.1:
        case["marked"] = [[chance.randint(-3, 40), chance.randint(-3, 60)] for _ in range(2)]
    if chance.random() < 0.4:
        strange = [some_word(chance), "", "a" * 200, "price, safety"]
        case["aspects"] = (
            some_of(chance, _ASPECTS[: 4 if model in _CLOSED else None], 3)
            + some_of(chance, strange, 1)[: chance.random() < 0.2]
        )
    case["also"] = chance.choices(("", "many", "evidence", "suggest"), (60, 20, 15, 5))[0]
    return case


class Texts:
    """Runs texts."""

    def __init__(self, models: Path, scratch: Path) -> None:
        self._models = models

    def run(self, case: Case) -> str:
        """What reads texts without a model, then a prediction and what comes of it."""
        text = spelled(case["text"])
        _check_sentences(text)
        _check_suggestions(text)
        model = loaded(self._models, case["model"])
        asked: dict[str, Any] = {"targets": _targets(case), "aspects": case.get("aspects"), "implied": case["implied"]}
        if not case.get("marked"):
            _check_mentions(text, TargetFinder(asked["targets"]).find(text))
        found = model.predict(text, **asked)
        check_prediction(found, text)
        if case["also"] == "many":
            others = list(model.predict_many([text, "Camden is dear.", text], **asked))
            for other in (others[0], others[2]):
                _check_same(found, other)
        elif case["also"] == "evidence":
            _check_evidence(found)
        elif case["also"] == "suggest":
            suggest_texts(model, [text, "Camden is dear.", text + " Camden"], n=2, **asked)
        return ANSWERED


def _targets(case: Case) -> Any:
    if case.get("marked"):
        spans = [Span(*pair) for pair in case["marked"]]
        return [Target(name, (span,)) for name, span in zip(case["targets"], spans, strict=False)]
    return case["targets"] if "aliases" not in case else {name: case["aliases"][name] for name in case["targets"]}


def _check_sentences(text: str) -> None:
    spans = split_sentences(text)
    for span in spans:
        if not (0 <= span.start < span.end <= len(text)) or text[span.start : span.end].strip() == "":
            raise Broken(f"a sentence is at {span} of {len(text)} characters")
    if any(one.end > other.start for one, other in pairwise(spans)):
        raise Broken("sentences overlap")


def _check_suggestions(text: str) -> None:
    for name, spans in suggest(text):
        if any(text[span.start : span.end] != name for span in spans):
            raise Broken("a suggested name is not in the text where it is said to be")
    suggest_common([text, "Camden is dear.", text])


def _check_mentions(text: str, found: tuple[Target, ...]) -> None:
    for target in found:
        for span in target.mentions:
            if not (0 <= span.start < span.end <= len(text)):
                raise Broken(f"a mention is at {span} of {len(text)} characters")


def check_prediction(found: Prediction, text: str) -> None:
    """What every answer promises."""
    if found.text != text:
        raise Broken("the answer is of another text")
    for opinion in found.opinions:
        shares = opinion.probabilities
        if not all(math.isfinite(share) and -1e-6 <= share <= 1 + 1e-6 for share in shares.values()):
            raise Broken("a probability is none")
        if abs(sum(shares.values()) - 1) > 1e-3:
            raise Broken("probabilities do not add up to 1")
        if shares[opinion.polarity] < max(shares.values()) - 1e-6:
            raise Broken("the polarity is not the likeliest")
    json.dumps(found.to_dict(), allow_nan=False)
    _check_mentions(text, found.mentions())
    for name in found.targets():
        found.unread(name)


def _check_same(one: Prediction, other: Prediction) -> None:
    if len(one.opinions) != len(other.opinions):
        raise Broken("a text among others has other answers")
    for mine, yours in zip(one.opinions, other.opinions, strict=True):
        far = max(abs(mine.probabilities[label] - yours.probabilities[label]) for label in mine.probabilities)
        if (mine.target, mine.aspect) != (yours.target, yours.aspect) or far > _NEAR:
            raise Broken("a text among others has other answers")


def _check_evidence(found: Prediction) -> None:
    if not found.opinions:
        return
    opinion = max(found.opinions, key=lambda one: 1 - one.probabilities.get("none", 0.0))
    evidence = found.evidence(opinion.target, opinion.aspect)
    json.dumps(evidence.to_dict(), allow_nan=False)
    for word in (*evidence.words, *evidence.phrases()):
        if not (0 <= word.span.start < word.span.end <= len(found.text)) or not math.isfinite(word.weight):
            raise Broken("a weighed word is not in the text")
