"""A prediction as JSON. Plain dicts, not pydantic models: building those costs more than the model's own time."""

import json
from typing import Any

from fastapi import Response

from tabsa.encoding import Passage
from tabsa.inference import Prediction, Predictor
from tabsa.schema import UNNAMED
from tabsa.serve.batching import BatchAnswer

_DIGITS = 4  # of a gate or an attention: for the eye
_DIRECTIONS = {"both": ["forward", "backward"], "forward": ["forward"], "backward": ["backward"]}


def to_json(content: object) -> Response:
    """A JSON answer; a number that JSON has no word for (NaN, infinity) is an error, never sent."""
    written = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Response(written.encode(), media_type="application/json")


def result(answer: BatchAnswer, predictor: Predictor, *, explain: bool = False) -> dict[str, Any]:
    """What is told of one text."""
    prediction = answer.prediction
    told = prediction.to_dict()
    for opinion in told["opinions"]:
        opinion["target"] = _shown(opinion["target"])
    return {
        **told,
        "mentions": [{"target": target.name, "spans": target.mentions} for target in answer.found],
        "explanation": _explanation(prediction, predictor) if explain else None,
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
