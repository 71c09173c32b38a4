"""A request, checked against the limits and the model, as questions to the model."""

from collections.abc import Sequence

from fastapi import Request

from tabsa.errors import DataError
from tabsa.inference.predictor import Predictor
from tabsa.schema import UNNAMED
from tabsa.serve.batching import Question
from tabsa.serve.problems import Problem
from tabsa.serve.schema import EvidenceRequest, PredictRequest, TargetWithAliases
from tabsa.serve.settings import Settings
from tabsa.text import TargetFinder, parse_target
from tabsa.text.aspects import named_aspects


async def only_json(request: Request) -> None:
    """Refuse a body that does not say that it is JSON: a page of another site can send anything else unasked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not_json", "the body's type is not application/json; say so in Content-Type")


def check_predict(request: PredictRequest, predictor: Predictor, settings: Settings) -> list[Question]:
    """The questions of a request, one a text."""
    texts = [request.text] if request.text is not None else request.texts or []
    refuse_more("texts", len(texts), settings.max_texts, "texts")
    for place, text in enumerate(texts):
        check_text(text, settings, "text" if request.texts is None else f"texts.{place}")
    aspects = check_aspects(request.aspects, request.aspect_list, predictor, settings)
    implied = predictor.implied if request.implied is None else request.implied
    if not request.targets and not implied:
        message = "'targets': expected at least 1 name, or 'implied' for a text that does not name what it is about"
        raise Problem(422, "invalid", message, "targets")
    finder = check_targets([_with_aliases(target) for target in request.targets], settings)
    opinions = len(texts) * max(1, len(finder.names)) * len(aspects)
    if opinions > settings.max_opinions:
        message = f"texts x targets x aspects are {opinions:,}; at most {settings.max_opinions:,} go in one request"
        raise Problem(422, "limit", message)
    return [Question(text, finder, request.explain, aspects, implied) for text in texts]


def check_evidence(request: EvidenceRequest, predictor: Predictor, settings: Settings) -> Question:
    """The question of a request for evidence: the cell alone is asked, of the text read as for all."""
    (question,) = check_predict(request, predictor, settings)
    refuse_more("of.target", len(request.of.target or ""), settings.max_name_characters, "characters of a name")
    target, (aspect,) = request.of.target, check_aspects([request.of.aspect], None, predictor, settings, "of.aspect")
    if target is None and question.finder.names:
        raise Problem(422, "invalid", "'of.target': null is for a question without targets; name one", "of.target")
    if target is not None and target not in question.finder.names:
        raise Problem(422, "invalid", f"'of.target': {target!r} is none of the targets asked about", "of.target")
    if question.aspects is not None and aspect not in question.aspects:
        raise Problem(422, "invalid", f"'of.aspect': {aspect!r} is none of the aspects asked about", "of.aspect")
    return question._replace(aspects=(aspect,), of=(UNNAMED if target is None else target, aspect))


def check_text(text: str, settings: Settings, field: str = "text") -> None:
    """Refuse a text that is too long."""
    refuse_more(field, len(text), settings.max_text_characters, "characters")


def check_texts(texts: Sequence[str], settings: Settings, field: str = "texts") -> None:
    """Refuse too many texts, and those that are too long."""
    refuse_more(field, len(texts), settings.max_texts, "texts")
    for text in texts:
        check_text(text, settings, field)


def check_targets(
    targets: Sequence[tuple[str, Sequence[str]]], settings: Settings, field: str = "targets"
) -> TargetFinder:
    """What finds these targets, each given as a name and its aliases."""
    refuse_more(field, len(targets), settings.max_targets, "targets")
    for name, aliases in targets:
        refuse_more(field, len(aliases), settings.max_aliases, "aliases of one target")
        for spelling in (name, *aliases):
            refuse_more(field, len(spelling), settings.max_name_characters, "characters of a name")
    names = dict(targets)
    if len(names) < len(targets):
        raise Problem(422, "invalid", f"'{field}': a name is given twice; give it once, with all its aliases", field)
    try:
        return TargetFinder(names)
    except DataError as e:
        raise Problem(422, "invalid", f"'{field}': {e}", field) from e


def parse_targets(written: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Names with their aliases, each written as `NAME` or `NAME=ALIAS,ALIAS`."""
    try:
        return [parse_target(one) for one in written]
    except DataError as e:
        raise Problem(422, "invalid", f"'targets': {e}", "targets") from e


def check_aspects(
    aspects: Sequence[str] | None,
    name: str | None,
    predictor: Predictor,
    settings: Settings,
    field: str = "aspects",
) -> tuple[str, ...]:
    """The aspects asked for, each once: these, or those of the list `name`; the model's own where neither is given."""
    if name is not None:
        field = "aspect_list"
        if aspects is not None:
            raise Problem(422, "invalid", "give either aspects or 'aspect_list', the name of a list", field)
        refuse_more(field, len(name), settings.max_name_characters, "characters of a name")
    try:
        wanted = aspects if name is None else named_aspects(name)
        if wanted is not None:
            refuse_more(field, len(wanted), settings.max_aspects, "aspects")
            for aspect in wanted:
                refuse_more(field, len(aspect), settings.max_aspect_characters, "characters of an aspect")
        return predictor.choose_aspects(wanted)
    except DataError as e:
        raise Problem(422, "invalid", f"'{field}': {e}", field) from e


def _with_aliases(target: str | TargetWithAliases) -> tuple[str, list[str]]:
    return (target, []) if isinstance(target, str) else (target.name, target.aliases)


def refuse_more(field: str, count: int, most: int, what: str) -> None:
    """Raise a Problem where there is more of something than is allowed."""
    if count > most:
        raise Problem(422, "limit", f"'{field}': {count:,} {what}; at most {most:,} are allowed", field)
