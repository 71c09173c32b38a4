"""Text in, opinions out; and how the service is."""

import math
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from tabsa.inference.predictor import Predictor
from tabsa.serve import answers
from tabsa.serve.asking import check_evidence, check_predict, check_text, check_texts, only_json
from tabsa.serve.batching import BatchAnswer
from tabsa.serve.crowd import client_name
from tabsa.serve.metrics import CONTENT_TYPE
from tabsa.serve.problems import busy
from tabsa.serve.schema import (
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
from tabsa.serve.service import Service, TheService, problems
from tabsa.text.aspects import LISTS
from tabsa.text.suggestions import suggest, suggest_common

router = APIRouter(prefix="/v1")
health = APIRouter()
_JSON = [Depends(only_json)]
_FEW_NAMES, _FEW_OPINIONS = 100, 100  # that are looked over, or written, in the event loop itself


@router.post(
    "/predict", dependencies=_JSON, response_model=PredictOne | PredictMany, responses=problems(403, 408, 413, 415, 422)
)
async def predict(request: PredictRequest, service: TheService, http: Request) -> Response:
    """Say who is judged, on what, and how.

    With `text`, one result; with `texts`, `{"results": [...]}`, one a text. Every target-aspect pair is answered; the
    polarity `none` means that the text is silent. Offsets count Unicode code points.
    """
    names = sum(1 if isinstance(target, str) else 1 + len(target.aliases) for target in request.targets)
    if names > _FEW_NAMES:  # the event loop is not kept for long
        questions = await run_in_threadpool(check_predict, request, service.predictor, service.settings)
    else:
        questions = check_predict(request, service.predictor, service.settings)
    found = await service.batcher.ask(questions, _client(http))
    if request.explain or len(found) * len(found[0].prediction.opinions) > _FEW_OPINIONS:
        return await run_in_threadpool(_written, request, found, service)
    return _written(request, found, service)


def _client(request: Request) -> str:
    """Who asks: an address. What comes through a proxy is one client, whose requests take turns all the same."""
    return client_name(request.client.host if request.client else None)


def _written(request: PredictRequest, found: list[BatchAnswer], service: Service) -> Response:
    results = [answers.result(answer, service.predictor, explain=request.explain) for answer in found]
    return answers.results_to_json(results) if request.texts is not None else answers.result_to_json(results[0])


@router.post("/evidence", dependencies=_JSON, response_model=EvidenceOut, responses=problems(403, 408, 413, 415, 422))
async def evidence(request: EvidenceRequest, service: TheService, http: Request) -> Response:
    """Say what carries one answer of `/v1/predict`: its words, phrases and sentences, and what was not read.

    A weight is measured on the model: how many points of the answer's probability are lost without the words.
    """
    question = check_evidence(request, service.predictor, service.settings)
    (answer,) = await service.batcher.ask([question], _client(http))
    return answers.to_json(None if answer.evidence is None else answer.evidence.to_dict())


@router.post("/suggest", dependencies=_JSON, responses=problems(403, 408, 413, 415, 422))
async def suggest_targets(request: SuggestRequest, service: TheService) -> SuggestResponse:
    """Find names that may be targets: capitalised phrases that are not merely the starts of sentences."""
    if request.texts is not None:
        check_texts(request.texts, service.settings)
        common = await run_in_threadpool(suggest_common, request.texts)
        return SuggestResponse(targets=[SuggestedName(name=name, texts=texts, spans=[]) for name, texts in common])
    text = request.text or ""
    check_text(text, service.settings)
    names = await run_in_threadpool(suggest, text)
    return SuggestResponse(targets=[SuggestedName(name=name, spans=list(spans)) for name, spans in names])


@router.get("/models", responses=problems())
async def models(service: TheService) -> ModelsResponse:
    """Tell what the model knows and how well it does."""
    predictor = service.predictor
    config, attention = predictor.folder.config, predictor.engine.attention
    model = ModelOut(
        name=service.name,
        kind=config.kind,
        open_aspects=predictor.open_aspects,
        aspects=list(config.aspects),
        aspect_lists=_aspect_lists(predictor, service.settings.max_aspects),
        labels=list(config.labels),
        chains=None if attention is None else attention.shape[-1],
        tied=predictor.tied,
        targets_at_once=min(predictor.engine.at_once, service.settings.max_targets),
        implied=predictor.implied,
        metrics=_metrics(predictor.folder.metrics),
    )
    corrections = None if service.corrections is None else service.corrections.path.name
    return ModelsResponse(models=[model], default=service.name, corrections=corrections)


def _aspect_lists(predictor: Predictor, most: int) -> dict[str, list[str]]:
    """The named lists that the model can be asked for: of a model without open aspects those that it knows all of."""
    return {
        name: list(aspects)
        for name, aspects in LISTS.items()
        if len(aspects) <= most and (predictor.open_aspects or set(aspects) <= set(predictor.aspects))
    }


def _metrics(metrics: dict[str, Any]) -> dict[str, Any] | None:
    """Of what training wrote down, how well the model did on what."""
    families = metrics.get("dev")
    if not isinstance(families, dict):
        return None
    figures = {
        family: {name: value for name, value in values.items() if isinstance(value, float) and math.isfinite(value)}
        for family, values in families.items()
        if isinstance(values, dict)
    }
    return {"data": metrics.get("data"), "split": metrics.get("split"), **figures}


@health.get("/healthz")
async def healthz() -> StatusResponse:
    """Tell that the process is there."""
    return StatusResponse(status="ok")


@health.get("/readyz", responses=problems())
async def readyz(service: TheService) -> StatusResponse:
    """Tell whether a request would be taken now."""
    if service.batcher.full or not service.batcher.alive:
        raise busy("too much is waiting")
    return StatusResponse(status="ready")


@health.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **problems()})
async def metrics(service: TheService) -> Response:
    """Give the counts of all workers to Prometheus."""
    return Response(await run_in_threadpool(service.metrics.text), media_type=CONTENT_TYPE)
