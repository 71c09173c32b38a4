"""Text in, opinions out: the routes for one text or many, their evidence, names in them, and corrections."""

import asyncio
import json
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
from fastapi import APIRouter, Depends, Request, Response
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool

from tabsa.encoding.passages import Passage
from tabsa.errors import OutputError
from tabsa.inference.predictor import Predictor, load
from tabsa.inference.results import Prediction
from tabsa.schema import UNNAMED, Target
from tabsa.serve import schema
from tabsa.serve.batching import Answer, Batcher, Question
from tabsa.serve.corrections import CorrectionsFile
from tabsa.serve.problems import Problem, blaming, busy, invalid
from tabsa.serve.settings import Settings
from tabsa.text.aspects import LISTS
from tabsa.text.suggestions import suggest
from tabsa.text.targets import TargetFinder

_MOST_EVIDENCE: Final = 32  # requests for it that may wait
_DIGITS: Final = 4  # of a gate or an attention: for the eye


class Service:
    """The parts of a running service, where every route finds them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.predictor = load(settings.model, threads=settings.threads, precision=settings.precision)
        self.predictor.predict("Camden is dear.", ["Camden"])  # what it loads late is there before the first request
        self.name = self.predictor.folder.path.resolve().name
        self.batcher = Batcher(self.predictor, settings)
        self.corrections = CorrectionsFile(Path(settings.corrections).expanduser()) if settings.corrections else None
        self.evidence = ThreadPoolExecutor(1, "evidence")  # which costs several readings of a text
        self.evidence_places = threading.BoundedSemaphore(_MOST_EVIDENCE)
        self.tables = ThreadPoolExecutor(settings.max_tables, "tables")
        self.table_places = threading.BoundedSemaphore(settings.max_tables)

    def close(self) -> None:
        """Begin nothing more."""
        self.batcher.stop()
        for pool in (self.evidence, self.tables):
            pool.shutdown(wait=False, cancel_futures=True)


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


TheService = Annotated[Service, Depends(_service)]
router = APIRouter(prefix="/v1")


@router.post("/predict")
async def predict(request: schema.PredictRequest, service: TheService) -> Response:
    """Find out who is judged, on what, and how.

    With `text`, one result: `{"text", "opinions": [{"target", "aspect", "polarity", "probabilities"}], "mentions":
    [{"target", "spans"}], "explanation"}`; with `texts`, `{"results": [...]}`, one a text. Every target-aspect pair is
    answered; the polarity `none` means that the text is silent. Offsets count Unicode code points.
    """
    questions = _questions(request, service.predictor)
    answers = await service.batcher.ask(questions)
    return await run_in_threadpool(_response, answers, service.predictor, request.texts is not None)


@router.post("/evidence")
async def evidence(request: schema.EvidenceRequest, service: TheService) -> Response:
    """Measure what carries one answer of `/v1/predict`: its words, phrases and sentences, and what was not read.

    `{"target", "aspect", "polarity", "probability", "words", "phrases", "sentences", "unread"}`; a weight is measured:
    how many points of the probability the model gives are lost without the words.
    """
    (question,), target = _questions(request, service.predictor), request.of.target
    with blaming("of.aspect"):
        (aspect,) = service.predictor.choose_aspects([request.of.aspect])
    if aspect not in question.aspects:
        raise invalid("of.aspect", f"{aspect!r} is none of the question's aspects")
    if target not in (question.finder.names or (None,)):
        raise invalid("of.target", f"{target!r} is none of the question's targets")
    if not service.evidence_places.acquire(blocking=False):
        raise busy("too many requests for evidence are waiting")
    try:
        # The cell alone, of the text read as for all; where the client leaves, evidence is not begun.
        (answer,) = await service.batcher.ask([question._replace(aspects=(aspect,), explain=True)])
        found = service.evidence.submit(answer.prediction(service.predictor).evidence, target or UNNAMED, aspect)
        return Response(_dump((await asyncio.wrap_future(found)).to_dict()), media_type="application/json")
    finally:
        service.evidence_places.release()


@router.post("/suggest")
async def suggest_targets(request: schema.SuggestRequest) -> dict[str, Any]:
    """Find names that may be targets: capitalised phrases that are not merely the starts of sentences."""
    names = await run_in_threadpool(suggest, request.text)
    return {"targets": [{"name": name, "spans": spans} for name, spans in names]}


@router.post("/corrections", status_code=201)
async def correct(request: schema.CorrectionRequest, service: TheService) -> dict[str, str]:
    """Save what a person says is right of one text, target and aspect.

    It goes to the file that the service's operator named; where there is none, the answer is 404. A `polarity` of null
    takes an earlier correction back.
    """
    if service.corrections is None:
        raise Problem(404, "no_corrections", "this service saves no corrections; its operator can name a file for them")
    if not request.text.strip():
        raise invalid("text", "it is empty; expected the text that is judged")
    with blaming("target"):
        named = request.target is None or TargetFinder({request.target: request.aliases}).find(request.text)
    if not named:
        raise invalid("target", f"the text does not name '{request.target}'; null is what it is about without a name")
    with blaming("aspect"):
        (aspect,) = service.predictor.choose_aspects([request.aspect])
    labels = service.predictor.labels
    for field, given in (("polarity", request.polarity), ("said", request.predicted)):
        if given is not None and given not in labels:
            raise invalid(field, f"'{given}' is no label of the model; expected {', '.join(labels)}")
    try:
        await run_in_threadpool(service.corrections.add, request, aspect)
    except OutputError as e:
        raise Problem(503, "not_saved", f"the correction was not saved: {e}", headers={"Retry-After": "30"}) from e
    return {"status": "saved"}


@router.get("/models")
async def models(service: TheService) -> dict[str, Any]:
    """Describe the model: its labels and aspects, whether these may be any words, and the file of corrections."""
    predictor = service.predictor
    known = set(predictor.aspects)
    model = {
        "name": service.name,
        "kind": predictor.folder.config.kind,
        "labels": predictor.labels,
        "open_aspects": predictor.open_aspects,
        "aspects": predictor.aspects,
        "aspect_lists": {name: one for name, one in LISTS.items() if predictor.open_aspects or set(one) <= known},
        "implied": predictor.implied,
    }
    corrections = None if service.corrections is None else service.corrections.path.name
    return {"models": [model], "default": service.name, "corrections": corrections}


# ---- a request, checked against the model


def _questions(request: schema.PredictRequest, predictor: Predictor) -> list[Question]:
    with blaming("aspects"):
        aspects = predictor.choose_aspects(request.aspects)
    implied = predictor.implied if request.implied is None else request.implied
    if not request.targets and not implied:
        why = "expected at least 1 name, or 'implied' for a text that does not name what it is about"
        raise invalid("targets", why)
    finder = find_targets([(target.name, target.aliases) for target in request.targets])
    texts = [request.text] if request.text is not None else request.texts or []
    opinions = len(texts) * max(1, len(finder.names)) * len(aspects)
    if opinions > schema.MAX_OPINIONS:
        message = f"texts x targets x aspects are {opinions:,}; at most {schema.MAX_OPINIONS:,} go in one request"
        raise Problem(422, "limit", message)
    return [Question(text, finder, aspects, implied, request.explain) for text in texts]


def find_targets(targets: Sequence[tuple[str, list[str]]]) -> TargetFinder:
    """Make a finder of names with aliases; raises a Problem where one is no name, or there twice."""
    if len(dict(targets)) < len(targets):
        raise invalid("targets", "a name is given twice; give it once, with all its aliases")
    with blaming("targets"):
        return TargetFinder(dict(targets))


# ---- answers as JSON: plain dicts, because building pydantic models costs more than the model's own time


def _response(answers: Sequence[Answer], predictor: Predictor, many: bool) -> Response:
    # One by one, so that other threads get a turn.
    written = [_dump(_result(answer.prediction(predictor), answer.found)) for answer in answers]
    body = b'{"results":[%b]}' % b",".join(written) if many else written[0]
    return Response(body, media_type="application/json")


def _dump(content: object) -> bytes:
    """JSON; a number that it has no word for (NaN, infinity) is an error, never sent."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _result(prediction: Prediction, found: Sequence[Target]) -> dict[str, Any]:
    explanation = None
    if prediction.explain is not None:
        unread = ((name, prediction.unread(name)) for name in prediction.targets())
        explanation = {
            "passages": [_passage(passage) for passage in prediction.passages],
            "attention": _rounded(prediction.attention),
            "aspects": prediction.aspects,
            "unread": [{"target": name or None, "spans": spans} for name, spans in unread if spans],
        }
    mentions = [{"target": target.name, "spans": target.mentions} for target in found]
    return {**prediction.to_dict(), "mentions": mentions, "explanation": explanation}


def _passage(passage: Passage) -> dict[str, Any]:
    return {
        "start": passage.start,
        "end": passage.end,
        "targets": [name or None for name in passage.targets],  # null: what the text is about and does not name
        "tokens": [{"text": t.text, "start": t.start, "end": t.end, "target": t.target} for t in passage.tokens],
        "gates": _rounded(passage.gates),
    }


def _rounded(shares: NDArray[np.float32] | None) -> Any:
    return None if shares is None else shares.astype(float).round(_DIGITS).tolist()
