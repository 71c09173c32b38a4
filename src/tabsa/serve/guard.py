"""What stands before every request: its host, key, and the size and pace of its body; headers and counts after it."""

import asyncio
import logging
import secrets
import time
from typing import Final
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tabsa.serve.metrics import Metrics
from tabsa.serve.problems import Problem
from tabsa.serve.settings import Settings
from tabsa.serve.sites import Sites

_log = logging.getLogger("uvicorn.error")

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'self'"
)
_HEADERS: Final = (
    (b"content-security-policy", CONTENT_SECURITY_POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_PRIVATE: Final = ((b"cache-control", b"no-store"),)
_HEALTH: Final = frozenset({"/healthz", "/readyz", "/metrics"})  # answered however many are connected
_UPLOADS: Final = frozenset({"/v1/score", "/v1/csv"})
_OPEN: Final = frozenset({"/", "/healthz", "/readyz", "/openapi.json"})  # without a key, as are the page's own files
_CLOSE: Final = {"Connection": "close"}
_LEAST_PACE: Final = 1024  # bytes of a body a second
CROWDED: Final = "crowded"  # what a request's state has where there are too many connections


class Guard:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._sites = Sites(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        path = _path(scope)
        # Who asks for the head of an answer gets that of the whole one.
        bare = scope["method"] == "HEAD"
        asked = {**scope, "method": "GET"} if bare else scope
        reply = _Reply(send, private=path.startswith("/v1/"), bare=bare)
        try:
            await self._answer(path, asked, receive, reply)
        finally:
            route = _route(path, asked)
            self._metrics.requests.labels(_method(scope), route, str(reply.status)).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)

    async def _answer(self, path: str, scope: Scope, receive: Receive, reply: "_Reply") -> None:
        try:
            limit = self._check(path, scope, Headers(scope=scope))
            body = _Body(receive, limit, self._settings.read_timeout)
            await self._app(scope, body.receive, reply.send)
        except ClientDisconnect:  # nobody is there to be answered
            return
        except Exception as error:
            if reply.status:  # the answer has begun: only breaking it off says that it is not whole
                raise
            if not isinstance(error, Problem):
                _log.error("%s %s failed", scope["method"], quote(scope["path"]), exc_info=error)
                error = Problem(500, "internal", "something went wrong in the service; its log says more")
            await error.response()(scope, receive, reply.send)

    def _check(self, path: str, scope: Scope, headers: Headers) -> int:
        """Raise a Problem, or say how many bytes the body may have."""
        settings = self._settings
        if scope.get("state", {}).get(CROWDED) and path not in _HEALTH:
            message = "there are too many connections; come again in a moment"
            raise Problem(503, "busy", message, headers={"Retry-After": "1", **_CLOSE})
        self._sites.check(scope["method"], headers, health=path in _HEALTH)
        if settings.api_key is not None and path not in _OPEN and not path.startswith("/static/"):
            self._check_key(headers, settings.api_key)
        limit = settings.max_body_bytes + (settings.max_upload_bytes if path in _UPLOADS else 0)
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > limit):
            raise _too_large(limit)
        return limit

    @staticmethod
    def _check_key(headers: Headers, key: str) -> None:
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            given = headers.get("x-api-key", "")
        if not secrets.compare_digest(given.strip().encode("latin-1"), key.encode()):
            message = "the API key is missing or wrong; send it as 'Authorization: Bearer KEY'"
            raise Problem(401, "unauthorised", message, headers={"WWW-Authenticate": "Bearer"})


class _Reply:
    """Adds the headers to an answer and remembers its status, 0 while there is none."""

    def __init__(self, send: Send, *, private: bool, bare: bool) -> None:
        self._send, self._private, self._bare = send, private, bare
        self.status = 0

    async def send(self, message: Message) -> None:
        """See ASGI."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = list(message.get("headers", ()))
            there = {name.lower() for name, _ in own}
            added = (*_HEADERS, *(_PRIVATE if self._private else ()))
            message["headers"] = [*own, *(header for header in added if header[0] not in there)]
        elif self._bare and "body" in message:
            message = {**message, "body": b""}
        await self._send(message)


class _Body:
    """Stops reading a body that grows beyond its limit, whatever its Content-Length says, or that hardly comes.

    There are some seconds of patience with a client: waiting for it uses them up, and what it sends gives them back.
    """

    def __init__(self, receive: Receive, limit: int, seconds: float) -> None:
        self._receive, self._limit, self._seconds = receive, limit, seconds
        self._left, self._patience = limit, seconds
        self._whole = False

    async def receive(self) -> Message:
        """See ASGI."""
        if self._whole:  # all that can come is that the client leaves, and it need not
            return await self._receive()
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._patience):
                message = await self._receive()
        except TimeoutError:
            why = f"the body does not come, or comes at less than {_LEAST_PACE:,} bytes a second; send it faster"
            raise Problem(408, "too_slow", why, headers=_CLOSE) from None
        if message["type"] == "http.request":
            self._whole = not message.get("more_body", False)
            self._count(len(message.get("body", b"")), time.monotonic() - started)
        return message

    def _count(self, size: int, waited: float) -> None:
        self._patience = min(self._patience - waited + size / _LEAST_PACE, self._seconds)
        self._left -= size
        if self._left < 0:
            raise _too_large(self._limit)


def _too_large(limit: int) -> Problem:
    return Problem(413, "too_large", f"the body is larger than {limit:,} bytes; send less at a time")


def _path(scope: Scope) -> str:
    """The address within the app, which may itself stand below another address."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if path.startswith(f"{root}/") else path


def _method(scope: Scope) -> str:
    """The method, of those there are: what a client makes up must not make up a label."""
    known = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")
    return scope["method"] if scope["method"] in known else "other"


def _route(path: str, scope: Scope) -> str:
    """The address as the app knows it (`/v1/jobs/{id}`)."""
    route = getattr(scope.get("route"), "path", None)
    if route is None and path.startswith("/static/"):
        return "/static"
    return route or "other"
