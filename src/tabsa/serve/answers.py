"""A prediction as JSON. Plain dicts, not pydantic models: building those costs more than the model's own time."""

import json
from collections.abc import Sequence
from typing import Any

from fastapi import Response

from tabsa.encoding.passages import Passage
from tabsa.inference.predictor import Predictor
from tabsa.inference.results import Prediction
from tabsa.schema import UNNAMED
from tabsa.serve.batching import BatchAnswer

_DIGITS = 4  # of a gate or an attention: for the eye
_DIRECTIONS = {"both": ["forward", "backward"], "forward": ["forward"], "backward": ["backward"]}


_AT_ONCE = 64  # opinions that are written in one go; meanwhile no other thread runs


def to_json(content: object) -> Response:
    """A JSON answer; a number that JSON has no word for (NaN, infinity) is an error, never sent."""
    return Response(_json(content), media_type="application/json")


def results_to_json(results: Sequence[dict[str, Any]]) -> Response:
    """`{"results": [...]}`."""
    written = b",".join(_result_json(one) for one in results)
    return Response(b'{"results":[%b]}' % written, media_type="application/json")


def result_to_json(one: dict[str, Any]) -> Response:
    """One result."""
    return Response(_result_json(one), media_type="application/json")


def _result_json(one: dict[str, Any]) -> bytes:
    opinions = one["opinions"]
    some = (_json(opinions[start : start + _AT_ONCE])[1:-1] for start in range(0, len(opinions), _AT_ONCE))
    written = {name: b"[%b]" % b",".join(some) if name == "opinions" else _json(value) for name, value in one.items()}
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), value) for name, value in written.items())


def _json(content: object) -> bytes:
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


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
