"""A request, checked against the limits and the model, as questions to the model."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tabsa.errors import DataError
from tabsa.serve.batching import Question
from tabsa.serve.problems import Problem
from tabsa.serve.schema import PredictRequest, TargetWithAliases
from tabsa.serve.settings import Settings
from tabsa.text import TargetFinder


class Asked(NamedTuple):
    """One question a text, and the places among the model's aspects of those asked for."""

    questions: list[Question]
    aspects: tuple[int, ...]


def check_predict(request: PredictRequest, known: Sequence[str], settings: Settings) -> Asked:
    """The questions of a request; `known` are the model's aspects."""
    texts = [request.text] if request.text is not None else request.texts or []
    _refuse_more("texts", len(texts), settings.max_texts, "texts")
    for place, text in enumerate(texts):
        check_text(text, settings, "text" if request.texts is None else f"texts.{place}")
    aspects = check_aspects(request.aspects, known, settings)
    names = {target.name: target.aliases for target in _with_aliases(request.targets)}
    if len(names) < len(request.targets):
        raise Problem(422, "invalid", "'targets': a name is given twice; give it once, with all its aliases", "targets")
    finder = check_targets(names, settings)
    opinions = len(texts) * len(names) * len(aspects)
    if opinions > settings.max_opinions:
        message = f"texts x targets x aspects are {opinions:,}; at most {settings.max_opinions:,} go in one request"
        raise Problem(422, "limit", message)
    places = tuple(known.index(aspect) for aspect in aspects)
    return Asked([Question(text, finder, request.explain) for text in texts], places)


def check_text(text: str, settings: Settings, field: str = "text") -> None:
    """Refuse a text that is too long."""
    _refuse_more(field, len(text), settings.max_text_characters, "characters")


def check_targets(names: dict[str, list[str]], settings: Settings, field: str = "targets") -> TargetFinder:
    """What finds these targets, each given with its aliases."""
    _refuse_more(field, len(names), settings.max_targets, "targets")
    for name, aliases in names.items():
        _refuse_more(field, len(aliases), settings.max_aliases, "aliases of one target")
        for spelling in (name, *aliases):
            _refuse_more(field, len(spelling), settings.max_name_characters, "characters of a name")
    try:
        return TargetFinder(names)
    except DataError as e:
        raise Problem(422, "invalid", f"'{field}': {e}", field) from e


def check_aspects(
    aspects: Sequence[str] | None, known: Sequence[str], settings: Settings, field: str = "aspects"
) -> tuple[str, ...]:
    """The aspects asked for, each once; all where none is named."""
    if aspects is None:
        return tuple(known)
    _refuse_more(field, len(aspects), settings.max_aspects, "aspects")
    for aspect in aspects:
        _refuse_more(field, len(aspect), settings.max_name_characters, "characters of a name")
        if aspect not in known:
            message = f"'{field}': the model does not know '{aspect}'; it knows: {', '.join(known)}"
            raise Problem(422, "invalid", message, field)
    return tuple(dict.fromkeys(aspects))


def _with_aliases(targets: Iterable[str | TargetWithAliases]) -> list[TargetWithAliases]:
    return [TargetWithAliases(name=target) if isinstance(target, str) else target for target in targets]


def _refuse_more(field: str, count: int, most: int, what: str) -> None:
    if count > most:
        raise Problem(422, "limit", f"'{field}': {count:,} {what}; at most {most:,} are allowed", field)
