"""Text in, opinions out: the routes for one text or many, their evidence, names in them, and corrections."""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from tabsa.encoding.passages import Passage
from tabsa.errors import DataError, OutputError
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction
from tabsa.schema import UNNAMED
from tabsa.serve.batching import Answer, Question
from tabsa.serve.corrections import correction_line
from tabsa.serve.problems import Problem, busy, too_long
from tabsa.serve.schema import (
    MAX_ASPECTS,
    MAX_OPINIONS,
    MAX_TARGETS,
    CorrectionRequest,
    EvidenceOut,
    EvidenceRequest,
    ModelOut,
    ModelsResponse,
    PredictMany,
    PredictOne,
    PredictRequest,
    StatusResponse,
    SuggestedName,
    SuggestRequest,
    SuggestResponse,
)
from tabsa.serve.service import TheService, problems
from tabsa.text.aspects import LISTS, named_aspects
from tabsa.text.suggestions import suggest, suggest_common
from tabsa.text.targets import TargetFinder

_FEW: Final = 100  # names or opinions that are worked on in the event loop itself
_DIGITS: Final = 4  # of a gate or an attention: for the eye
_DIRECTIONS: Final = {"both": ["forward", "backward"], "forward": ["forward"], "backward": ["backward"]}


async def _only_json(request: Request) -> None:
    """Refuse a body that does not say that it is JSON: a page of another site can send anything else unasked."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(415, "not_json", "the body's type is not application/json; say so in Content-Type")


router = APIRouter(prefix="/v1")
_JSON: Final[dict[str, Any]] = {
    "dependencies": [Depends(_only_json)],
    "responses": problems(403, 408, 413, 415, 422),
}


@router.post("/predict", response_model=PredictOne | PredictMany, **_JSON)
async def predict(request: PredictRequest, service: TheService) -> Response:
    """Find out who is judged, on what, and how.

    With `text`, one result; with `texts`, `{"results": [...]}`, one a text. Every target-aspect pair is answered; the
    polarity `none` means that the text is silent. Offsets count Unicode code points.
    """
    names = sum(1 if isinstance(target, str) else 1 + len(target.aliases) for target in request.targets)
    if names > _FEW:  # the event loop is not blocked for long
        questions = await run_in_threadpool(_questions, request, service.predictor)
    else:
        questions = _questions(request, service.predictor)
    answers = await service.batcher.ask(questions)
    many = request.texts is not None
    if request.explain or len(answers) * len(answers[0].prediction.opinions) > _FEW:
        return await run_in_threadpool(_response, answers, service.predictor, many)
    return _response(answers, service.predictor, many)


@router.post("/evidence", response_model=EvidenceOut, **_JSON)
async def evidence(request: EvidenceRequest, service: TheService) -> Response:
    """Measure what carries one answer of `/v1/predict`: its words, phrases and sentences, and what was not read.

    A weight is measured on the model: how many points of the answer's probability are lost without the words.
    """
    target, aspect, question = _cell(request, service.predictor)
    if not service.evidence_places.acquire(blocking=False):
        raise busy("too many requests for evidence are waiting; come again in a moment")
    try:
        (answer,) = await service.batcher.ask([question])
        found = service.evidence.submit(answer.prediction.evidence, target, aspect)
        return _to_json((await asyncio.wrap_future(found)).to_dict())  # where its client leaves, it is not begun
    finally:
        service.evidence_places.release()


@router.post("/suggest", **_JSON)
async def suggest_targets(request: SuggestRequest) -> SuggestResponse:
    """Find names that may be targets: capitalised phrases that are not merely the starts of sentences."""
    if request.texts is not None:
        common = await run_in_threadpool(suggest_common, request.texts)
        return SuggestResponse(targets=[SuggestedName(name=name, texts=texts) for name, texts in common])
    names = await run_in_threadpool(suggest, request.text or "")
    return SuggestResponse(targets=[SuggestedName(name=name, spans=list(spans)) for name, spans in names])


@router.post("/corrections", status_code=201, **_JSON | {"responses": problems(403, 404, 408, 413, 415, 422)})
async def correct(request: CorrectionRequest, service: TheService) -> StatusResponse:
    """Save what a person says is right of one text, target and aspect.

    It goes to the file that the service's operator named; where there is none, the answer is 404. A `polarity` of null
    takes an earlier correction back.
    """
    if service.corrections is None:
        raise Problem(404, "no_corrections", "this service saves no corrections; its operator can name a file for them")
    if not request.text.strip():
        raise Problem(422, "invalid", "'text': it is empty; expected the text that is judged", "text")
    if request.target is not None:
        finder = find_targets([(request.target, request.aliases)], "target")
        if not finder.find(request.text):
            message = f"'target': the text does not name '{request.target}'; null is what it is about without a name"
            raise Problem(422, "invalid", message, "target")
    (aspect,) = choose_aspects([request.aspect], None, service.predictor, "aspect")
    labels = service.predictor.labels
    for field, given in (("polarity", request.polarity), ("said", request.said)):
        if given is not None and given not in labels:
            message = f"'{field}': '{given}' is no label of the model; expected {', '.join(labels)}"
            raise Problem(422, "invalid", message, field)
    try:
        await run_in_threadpool(service.corrections.add, correction_line(request, aspect))
    except OutputError as e:
        raise Problem(503, "not_saved", f"the correction was not saved: {e}", headers={"Retry-After": "30"}) from e
    return StatusResponse(status="saved")


@router.get("/models", responses=problems())
async def models(service: TheService) -> ModelsResponse:
    """Describe the model: what it knows and how well it does."""
    predictor = service.predictor
    config, attention = predictor.folder.config, predictor.engine.attention
    lists = {
        name: list(aspects)
        for name, aspects in LISTS.items()
        if len(aspects) <= MAX_ASPECTS and (predictor.open_aspects or set(aspects) <= set(predictor.aspects))
    }
    model = ModelOut(
        name=service.name,
        kind=config.kind,
        open_aspects=predictor.open_aspects,
        aspects=list(config.aspects),
        aspect_lists=lists,
        labels=list(config.labels),
        chains=None if attention is None else attention.shape[-1],
        tied=predictor.tied,
        targets_at_once=min(predictor.engine.at_once, MAX_TARGETS),
        implied=predictor.implied,
        metrics=_metrics(predictor.folder.metrics),
    )
    corrections = None if service.corrections is None else service.corrections.path.name
    return ModelsResponse(models=[model], default=service.name, corrections=corrections)


def _metrics(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    """How well the model did on what, of all that training wrote down."""
    families = metrics.get("dev")
    if not isinstance(families, dict):
        return None
    figures = {
        family: {name: value for name, value in values.items() if isinstance(value, float) and math.isfinite(value)}
        for family, values in families.items()
        if isinstance(values, dict)
    }
    return {"data": metrics.get("data"), "split": metrics.get("split"), **figures}


# ---- a request, checked against the model


def _questions(request: PredictRequest, predictor: Predictor) -> list[Question]:
    texts = [request.text] if request.text is not None else request.texts or []
    aspects = choose_aspects(request.aspects, request.aspect_list, predictor)
    implied = predictor.implied if request.implied is None else request.implied
    if not request.targets and not implied:
        message = "'targets': expected at least 1 name, or 'implied' for a text that does not name what it is about"
        raise Problem(422, "invalid", message, "targets")
    finder = find_targets([(t, []) if isinstance(t, str) else (t.name, t.aliases) for t in request.targets])
    opinions = len(texts) * max(1, len(finder.names)) * len(aspects)
    if opinions > MAX_OPINIONS:
        message = f"texts x targets x aspects are {opinions:,}; at most {MAX_OPINIONS:,} go in one request"
        raise Problem(422, "limit", message)
    return [Question(text, finder, aspects, implied, request.explain) for text in texts]


def _cell(request: EvidenceRequest, predictor: Predictor) -> tuple[str, str, Question]:
    """The target, the aspect and the question: the cell alone is asked for, of the text read as for all."""
    (question,), target = _questions(request, predictor), request.of.target
    (aspect,) = choose_aspects([request.of.aspect], None, predictor, "of.aspect")
    if target is None and question.finder.names:
        raise Problem(422, "invalid", "'of.target': null is for a question without targets; name one", "of.target")
    if target is not None and target not in question.finder.names:
        raise Problem(422, "invalid", f"'of.target': {target!r} is none of the question's targets", "of.target")
    if aspect not in question.aspects:
        raise Problem(422, "invalid", f"'of.aspect': {aspect!r} is none of the question's aspects", "of.aspect")
    return UNNAMED if target is None else target, aspect, question._replace(aspects=(aspect,), explain=True)


def find_targets(targets: Sequence[tuple[str, Sequence[str]]], field: str = "targets") -> TargetFinder:
    """Make a finder of targets, each given as a name and its aliases; raises a Problem where one is no name."""
    names = dict(targets)
    if len(names) < len(targets):
        raise Problem(422, "invalid", f"'{field}': a name is given twice; give it once, with all its aliases", field)
    try:
        return TargetFinder(names)
    except DataError as e:
        raise Problem(422, "invalid", f"'{field}': {e}", field) from e


def choose_aspects(
    aspects: Sequence[str] | None, name: str | None, predictor: Predictor, field: str = "aspects"
) -> tuple[str, ...]:
    """The requested aspects, each once: these, or those of the list `name`; the model's own where neither is given."""
    if name is not None:
        field = "aspect_list"
        if aspects is not None:
            raise Problem(422, "invalid", "give either aspects or 'aspect_list', the name of a list", field)
    try:
        wanted = aspects if name is None else named_aspects(name)
        if wanted is not None and len(wanted) > MAX_ASPECTS:
            raise too_long(field, len(wanted), MAX_ASPECTS)
        return predictor.choose_aspects(wanted)
    except DataError as e:
        raise Problem(422, "invalid", f"'{field}': {e}", field) from e


# ---- answers as JSON: plain dicts, because building pydantic models costs more than the model's own time


def _response(answers: Sequence[Answer], predictor: Predictor, many: bool) -> Response:
    written = [_dump(_result(answer, predictor)) for answer in answers]  # one by one, so that other threads get a turn
    body = b'{"results":[%b]}' % b",".join(written) if many else written[0]
    return Response(body, media_type="application/json")


def _to_json(content: object) -> Response:
    return Response(_dump(content), media_type="application/json")


def _dump(content: object) -> bytes:
    """JSON; a number that it has no word for (NaN, infinity) is an error, never sent."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _result(answer: Answer, predictor: Predictor) -> dict[str, Any]:
    prediction = answer.prediction
    return {
        **prediction.to_dict(),
        "mentions": [{"target": target.name, "spans": target.mentions} for target in answer.found],
        "explanation": _explanation(prediction, predictor) if prediction.explain is not None else None,
    }


def _shown(target: str | None) -> str | None:
    """The name of a target; null for what the text is about and does not name."""
    return None if target == UNNAMED else target


def _explanation(prediction: Prediction, predictor: Predictor) -> dict[str, Any]:
    gated = any(passage.gates is not None for passage in prediction.passages)
    directions = _DIRECTIONS.get(str(predictor.folder.config.model.get("directions")), [])
    attention = prediction.attention
    return {
        "passages": [_passage(passage) for passage in prediction.passages],
        "directions": directions if gated else [],
        "attention": None if attention is None else attention.astype(float).round(_DIGITS).tolist(),
        "aspects": prediction.aspects,
        "tied": prediction.tied,
        "unread": [
            {"target": _shown(name), "spans": spans}
            for name in prediction.targets()
            if (spans := prediction.unread(name))
        ],
    }


def _passage(passage: Passage) -> dict[str, Any]:
    return {
        "start": passage.start,
        "end": passage.end,
        "targets": [_shown(name) for name in passage.targets],
        "tokens": [{"text": t.text, "start": t.start, "end": t.end, "target": t.target} for t in passage.tokens],
        "gates": None if passage.gates is None else passage.gates.astype(float).round(_DIGITS).tolist(),
    }
