"""Requests to every endpoint of the service: wrong types, odd heads, broken forms; each is answered or refused.

They come as ASGI messages, past all that a client library would refuse to send.
"""

import asyncio
import json
import random
from pathlib import Path
from typing import Any, Final

from fastapi.testclient import TestClient

from fuzz.cases import ANSWERED, REFUSED, Broken, Case, check_line
from fuzz.making import (
    NAMES,
    changed_json,
    edited,
    some_edits,
    some_names,
    some_of,
    some_text,
    some_value,
    some_word,
    spelled,
)
from fuzz.spreadsheets import content_of
from tabsa.serve.app import create_app
from tabsa.serve.settings import Settings

_BOUNDARY: Final = "5e2d"
_JSON: Final = "application/json"
_ASPECTS: Final = ("price", "safety", "general")
ENDPOINTS: Final = (
    "POST /v1/predict", "POST /v1/evidence", "POST /v1/suggest", "POST /v1/score", "POST /v1/corrections",
    "POST /v1/columns", "POST /v1/report", "GET /v1/models", "GET /healthz", "GET /readyz", "GET /metrics",
)  # fmt: skip
_FORMS: Final = ("/v1/score", "/v1/columns", "/v1/report")
_WEIGHTS: Final = (30, 12, 10, 20, 8, 8, 8, *[1] * 4)
_HEADS: Final = (
    ["x-api-key", "a"], ["authorization", "Bearer \xff"], ["cookie", "a=b;" * 200], ["accept-encoding", "gzip, *;q=0"],
    ["content-encoding", "gzip"], ["transfer-encoding", "chunked"], ["expect", "100-continue"], ["range", "bytes=0-1"],
    ["if-none-match", "*"], ["if-modified-since", "never"], ["origin", "http://localhost"], ["origin", "null"],
    ["sec-fetch-site", "same-site"], ["content-length", "-1"], ["content-length", "9" * 30], ["host", "evil.example"],
    ["host", ""], ["x-forwarded-for", "127.0.0.1"], ["upgrade", "websocket"], ["content-type", "text/plain"],
    ["content-type", "application/json; charset=utf-16"], ["content-type", "multipart/form-data"], ["", ""],
)  # fmt: skip


def make(chance: random.Random) -> Case:
    """A request that is right but for what chance changed."""
    endpoint = chance.choices(ENDPOINTS, _WEIGHTS)[0]
    method, path = endpoint.split(" ")
    case: Case = {"app": "reader" if chance.random() < 0.02 else chance.choice(("tiny", "tiny-reader")), "query": ""}
    case |= {"method": method, "path": path, "heads": []}
    if path in _FORMS:
        _add_form(chance, case, path)
    elif method == "POST":
        wanted = _wanted(chance, path)
        wanted = _readable(wanted) if chance.random() < 0.8 else wanted
        text = changed_json(chance, wanted, chance.choice((0, 0, 0, 1, 1, 2)))
        content = edited(text.encode("utf-8", "surrogatepass"), some_edits(chance) if chance.random() < 0.1 else [])
        case |= {"type": _JSON, "body": content.decode("latin-1")}
    if chance.random() < 0.15:
        case["heads"] = some_of(chance, _HEADS, 3)
    if chance.random() < 0.04:
        case["path"] = chance.choice(
            ("/", "/static/../app.py", "//", "/v1/" + some_word(chance), "/static/page.js\0", "*")
        )
    if chance.random() < 0.04:
        case["method"] = chance.choice(("HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "CONNECT", "get", "\xff", ""))
    if chance.random() < 0.03:
        case["ends"] = round(chance.random(), 2)  # the client is gone after this share of its body
    return case


def _readable(value: Any) -> Any:
    """The same without what no text may hold, and no empty name."""
    if isinstance(value, dict):
        return {name: _readable(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_readable(one) for one in value]
    if not isinstance(value, str):
        return value
    return value.encode("utf-8", "ignore").decode().replace("\0", "").strip()[:9000] or "Camden"


def _wanted(chance: random.Random, path: str) -> dict[str, Any]:
    text = spelled(some_text(chance))
    if path == "/v1/suggest":
        return {"text": text} if chance.random() < 0.7 else {"texts": [text, "Camden is dear."]}
    if path == "/v1/corrections":
        time_of = chance.choice(("2026-01-31T12:00:00Z", "2026-02-30T12:00:00Z", "0000-00-00T00:00:00Z", None))
        return {"text": text, "target": chance.choice((*NAMES, None)), "aspect": "price", "polarity": "negative",
                "said": "none", "probability": 0.5, "aliases": ["NW1"], "model": "x", "time": time_of}  # fmt: skip
    names: list[Any] = list(dict.fromkeys(_readable(some_names(chance, text)))) or ["Camden"]
    if path != "/v1/evidence" and chance.random() < 0.2:
        names[0] = {"name": names[0], "aliases": some_names(chance, text)}
    asked: dict[str, Any] = {"text": text, "targets": names, "implied": chance.choice((None, True, False))}
    if path == "/v1/evidence":
        return asked | {
            "of": {
                "target": _readable(chance.choice((names[0], names[0], names[0], None, "nobody"))),
                "aspect": "price",
            }
        }
    if chance.random() < 0.3:
        asked = asked | {"text": None, "texts": [text, *(spelled(some_text(chance, 80)) for _ in range(3))]}
    elif chance.random() < 0.3:
        asked["explain"] = True
    if chance.random() < 0.3:
        asked["aspects"] = some_of(chance, _ASPECTS, 3)
    elif chance.random() < 0.2:
        asked["aspect_list"] = chance.choice(("places", "phones", "", some_word(chance)))
    return asked


def _add_form(chance: random.Random, case: Case, path: str) -> None:
    """A form with a file, whole or nearly so."""
    end = chance.choice((".csv", ".csv", ".tsv", ".jsonl", ".csv.gz", ".xlsx", ".pdf"))
    rows = [[n, spelled(some_text(chance, 100)), some_value(chance, 1)] for n in range(chance.randint(0, 5))]
    form = {"encoding": "utf-8", "separator": "\t" if "tsv" in end else ",", "ragged": False, "quotes": "right"}
    inner = some_edits(chance) if chance.random() < 0.15 else []
    content = edited(
        content_of(end, ("id", "text", "more"), rows, form, inner), some_edits(chance) if chance.random() < 0.2 else []
    )
    name = chance.choice(("table", "table", "table", "../../etc/x", "a" * 300, "\xff", 'x"y')) + end
    fields = [("targets", chance.choice(NAMES[:6]))] if path == "/v1/score" else []
    for field, value in (
        ("layout", "long"), ("format", "jsonl"), ("evidence", "true"), ("probabilities", "1"), ("prefix", "=x"),
        ("prefix", "a" * 40_000), ("target_column", "more"), ("implied", "yes"), ("text_column", "nobody"),
        ("aspect", "price"),
        ("aspect", some_word(chance)), ("targets", "A=B,C"), ("targets", "="), ("date_column", "more"),
        ("layout", "high"),
        (some_word(chance), "1"), ("file", "x"),
    ):  # fmt: skip
        if chance.random() < (0.06 if path == "/v1/score" else 0.01):
            fields.append((field, value))
    parts = [
        f'Content-Disposition: form-data; name="{one}"\r\n\r\n{other}'.encode("utf-8", "replace")
        for one, other in fields
    ]
    head = f'Content-Disposition: form-data; name="file"; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'
    parts.append(head.encode("latin-1") + content)
    chance.shuffle(parts)
    body = b"".join(f"--{_BOUNDARY}\r\n".encode() + part + b"\r\n" for part in parts) + f"--{_BOUNDARY}--\r\n".encode()
    case |= {"type": f"multipart/form-data; boundary={_BOUNDARY}"}
    case["body"] = edited(body, some_edits(chance) if chance.random() < 0.15 else []).decode("latin-1")


class Requests:
    """Sends requests to a service in this process."""

    def __init__(self, models: Path, scratch: Path) -> None:
        self._models, self._scratch = models, scratch
        self._clients: dict[str, TestClient] = {}
        documented = self._client("tiny").get("/openapi.json", headers={"host": "localhost"}).json()["paths"]
        there = {f"{method.upper()} {path}" for path, methods in documented.items() for method in methods}
        if there != set(ENDPOINTS):
            raise Broken(f"the document has other endpoints than are tried: {sorted(there ^ set(ENDPOINTS))}")

    def _client(self, name: str) -> TestClient:
        if name not in self._clients:
            model = str(self._models / name) if name.startswith("tiny") else name
            corrections = str(self._scratch / f"{name}.jsonl")
            app = create_app(Settings(model=model, threads=1, corrections=corrections))
            self._clients[name] = TestClient(app, "http://localhost", raise_server_exceptions=False).__enter__()
        return self._clients[name]

    def run(self, case: Case) -> str:
        """Send it."""
        return _checked(*_sent(self._client(case["app"]), case), gone="ends" in case)


def _sent(client: TestClient, case: Case) -> tuple[int, dict[str, str], bytes]:
    """What the app answers; status 0 where a client that was gone got nothing."""
    body = case.get("body", "").encode("latin-1")
    heads = {"host": "localhost", "content-length": str(len(body))} | dict(case["heads"])
    heads |= {"content-type": case["type"]} if case.get("type") and "content-type" not in heads else {}
    raw = case["path"].encode("utf-8", "replace")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": case["method"], "scheme": "http",
        "path": raw.decode("utf-8"), "raw_path": raw, "query_string": case["query"].encode(), "root_path": "",
        "headers": [(one.encode("latin-1"), other.encode("latin-1")) for one, other in heads.items()],
        "client": ("127.0.0.1", 50000), "server": ("localhost", 80),
    }  # fmt: skip
    sent: list[dict[str, Any]] = []
    cut = len(body) if "ends" not in case else int(case["ends"] * len(body))
    left = [{"type": "http.request", "body": body[:cut], "more_body": "ends" in case}]

    async def receive() -> dict[str, Any]:
        if not left and "ends" not in case:
            await asyncio.sleep(60)  # the client waits for its answer
        return left.pop() if left else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    assert client.portal is not None
    client.portal.call(client.app, scope, receive, send)
    if not sent:
        return 0, {}, b""
    answer = b"".join(message.get("body", b"") for message in sent[1:])
    got = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    return sent[0]["status"], got, answer


def _checked(status: int, heads: dict[str, str], body: bytes, *, gone: bool = False) -> str:
    """An answer is what its type says, a refusal has the one form."""
    if status == 0 and gone:
        return REFUSED
    if not 200 <= status < 500:
        raise Broken(f"status {status}: {body[:200]!r}")
    kind = heads.get("content-type", "")
    if status < 400:
        if kind.startswith(_JSON) and body:
            json.loads(body, parse_constant=_no_constant)
        return ANSWERED
    if body or kind:
        error = json.loads(body)["error"] if body else {"message": "bare"}
        if body and (set(error) - {"count", "errors"} != {"code", "message", "field"} or not kind.startswith(_JSON)):
            raise Broken(f"a refusal of another form: {body[:200]!r}")
        check_line(error["message"])
    return REFUSED


def _no_constant(name: str) -> None:
    raise Broken(f"{name} is in an answer")
