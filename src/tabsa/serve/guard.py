"""What stands before every request: the host it names, the key, the size of its body; headers and counts after it."""

import logging
import secrets
import time
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tabsa.serve.metrics import Metrics
from tabsa.serve.problems import Problem
from tabsa.serve.settings import Settings

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
_UPLOAD: Final = "/v1/score"
_FORM_BYTES: Final = 262_144  # of an upload, beside the file: field names, targets
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})


class Guard:
    """ASGI middleware around the whole app."""

    def __init__(self, app: ASGIApp, settings: Settings, metrics: Metrics) -> None:
        self._app, self._settings, self._metrics = app, settings, metrics
        self._hosts = frozenset(host.lower() for host in settings.allowed_hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        reply = _Reply(send, private=scope["path"].startswith("/v1/"))
        try:
            await self._answer(scope, receive, reply)
        finally:
            route = _route(scope)
            self._metrics.requests.labels(_method(scope), route, str(reply.status)).inc()
            self._metrics.seconds.labels(route).observe(time.perf_counter() - started)

    async def _answer(self, scope: Scope, receive: Receive, reply: "_Reply") -> None:
        try:
            limit = self._check(scope, Headers(scope=scope))
            await self._app(scope, _limited(receive, limit), reply.send)
        except Problem as problem:
            await problem.response()(scope, receive, reply.send)
        except Exception as error:
            if reply.status:  # the answer has begun: only breaking it off says that it is not whole
                raise
            _log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            unforeseen = Problem(500, "internal", "something went wrong in the service; its log says more")
            await unforeseen.response()(scope, receive, reply.send)

    def _check(self, scope: Scope, headers: Headers) -> int:
        """Raise a Problem, or say how many bytes the body may have."""
        settings = self._settings
        host = _host(headers.get("host", ""))
        if self._hosts and host not in self._hosts:
            raise Problem(400, "bad_host", "the service does not go by that name; allow it with --allow-host")
        self._refuse_other_sites(scope, headers)
        path: str = scope["path"]
        if settings.api_key is not None and (path.startswith("/v1/") or path == "/metrics"):
            self._check_key(headers, settings.api_key)
        limit = settings.max_upload_bytes + _FORM_BYTES if path == _UPLOAD else settings.max_body_bytes
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > limit):
            raise _too_large(limit)
        return limit

    def _refuse_other_sites(self, scope: Scope, headers: Headers) -> None:
        """A page of another site may send a form without asking; browsers say so, and it is not wanted."""
        if scope["method"] in _SAFE or headers.get("sec-fetch-site") != "cross-site":
            return
        allowed = self._settings.cors_origins
        if "*" not in allowed and headers.get("origin") not in allowed:
            raise Problem(403, "other_site", "pages of other sites may not use the service; allow one with --cors")

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

    def __init__(self, send: Send, *, private: bool) -> None:
        self._send, self._private = send, private
        self.status = 0

    async def send(self, message: Message) -> None:
        """See ASGI."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), *_HEADERS, *(_PRIVATE if self._private else ())]
        await self._send(message)


def _limited(receive: Receive, limit: int) -> Receive:
    """Stops reading a body that grows beyond its limit, whatever its Content-Length says."""
    read = 0

    async def receive_some() -> Message:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > limit:
                raise _too_large(limit)
        return message

    return receive_some


def _too_large(limit: int) -> Problem:
    return Problem(413, "too_large", f"the body is larger than {limit:,} bytes; send less at a time")


def _host(header: str) -> str:
    """The name of a Host header, without the port."""
    name = header.lower()
    return name.partition("]")[0] + "]" if name.startswith("[") else name.partition(":")[0]


def _method(scope: Scope) -> str:
    """The method, of those there are: what a client makes up must not make up a label."""
    known = ("GET", "POST", "DELETE", "HEAD", "OPTIONS", "PUT", "PATCH")
    return scope["method"] if scope["method"] in known else "other"


def _route(scope: Scope) -> str:
    """The address as the app knows it (`/v1/jobs/{id}`)."""
    route = getattr(scope.get("route"), "path", None)
    if route is None and scope["path"].startswith("/static/"):
        return "/static"
    return route or "other"
