"""ASGI middleware before every request: its host, origin, key, and the size and pace of its body; headers after it.

A web page can give this machine any name that its owner likes (DNS rebinding), and can send a form to any address
(cross-site request forgery). Browsers tell of both: by the name that they address, and by where the page came from.
"""

import asyncio
import ipaddress
import logging
import secrets
import time
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tabsa.serve.problems import Problem, busy
from tabsa.serve.schema import MAX_BODY_BYTES
from tabsa.serve.settings import Settings

_POLICY: Final = (
    b"default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
    b"frame-src 'self'; form-action 'self'"
)
_HEADERS: Final = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_HEALTH: Final = frozenset({"/healthz", "/readyz"})
_OPEN: Final = frozenset({"/", "/healthz", "/readyz", "/openapi.json"})  # without a key, as are the page's own files
_FILES: Final = frozenset({"/v1/columns", "/v1/score", "/v1/report"})  # whose bodies are read piece by piece
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_CLOSE: Final = {"Connection": "close"}
_LEAST_PACE: Final = 1024  # bytes of a body a second
_MOST_BUFFERED: Final = 64 * MAX_BODY_BYTES  # of bodies that are not whole yet, all together
_log = logging.getLogger("uvicorn.error")


class Guard:
    """Checks a request, reads its body, and cancels its work where the client leaves."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._names = frozenset(name.lower() for name in settings.allowed_hosts)
        self._origins = frozenset(settings.cors_origins)
        self._buffered = 0  # bytes of bodies that are not whole yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        reply = _Reply(send, private=path.startswith("/v1/"))
        limit = MAX_BODY_BYTES + (self._settings.max_upload_bytes if path in _FILES else 0)
        body = _Body(receive, reply, limit, self._settings.read_timeout)
        try:
            await self._answer(path, scope, body, reply)
        finally:
            body.close()

    async def _answer(self, path: str, scope: Scope, body: "_Body", reply: "_Reply") -> None:
        try:
            self._check(path, scope["method"], Headers(scope=scope), body.limit)
            if path not in _FILES:
                await self._read_whole(body)
            if not body.gone:
                await self._app(scope, body.receive, reply.send)
        except asyncio.CancelledError:  # the client left, or the service stops
            if not body.gone and not reply.status:
                await busy("the service is stopping").response()(scope, body.receive, reply.send)
        except Exception as error:
            if body.gone:
                return
            if reply.status:  # the answer has begun: only breaking it off says that it is not whole
                _log.error("%s %s broke off: %s", scope["method"], quote(path), error.__cause__ or error)
                return
            if not isinstance(error, Problem):
                _log.error("%s %s failed", scope["method"], quote(path), exc_info=error)
                error = Problem(500, "internal", "something went wrong in the service; its log says more")
            await error.response()(scope, body.receive, reply.send)

    async def _read_whole(self, body: "_Body") -> None:
        """Read a body of JSON before the app is called: what still arrives holds nothing but its bytes."""
        pieces: list[bytes] = []
        try:
            while not (body.whole or body.gone):
                pieces.append((await body.receive()).get("body", b""))
                self._buffered += len(pieces[-1])
                if self._buffered > _MOST_BUFFERED:
                    raise Problem(503, "busy", "too much is being sent; come again in a moment", headers=_CLOSE)
        finally:
            self._buffered -= sum(map(len, pieces))
        body.first = {"type": "http.request", "body": b"".join(pieces), "more_body": False}

    def _check(self, path: str, method: str, headers: Headers, limit: int) -> None:
        """Raise a Problem where a request may not come in."""
        hosts, key = headers.getlist("host"), self._settings.api_key
        if not (path in _HEALTH and not hosts) and (len(hosts) != 1 or not self._is_own(hosts[0])):
            raise Problem(400, "bad_host", "the service does not go by that name; its operator can allow it")
        if method not in _SAFE and not self._may_send(hosts[0] if hosts else "", headers):
            raise Problem(403, "other_site", "pages of other sites may not use the service; its operator can allow one")
        if key is not None and path not in _OPEN and not path.startswith("/static/"):
            scheme, _, given = headers.get("authorization", "").partition(" ")
            given = given if scheme.lower() == "bearer" else headers.get("x-api-key", "")
            if not secrets.compare_digest(given.strip().encode("latin-1"), key.encode()):
                message = "the API key is missing or wrong; send it as 'Authorization: Bearer KEY'"
                raise Problem(401, "unauthorised", message, headers={"WWW-Authenticate": "Bearer"})
        length = headers.get("content-length", "")
        if length.isdecimal() and (len(length) > 18 or int(length) > limit):
            raise _too_large(limit)

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name == "localhost" or name in self._names or "*" in self._names:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True  # an address, which nobody can make point elsewhere

    def _may_send(self, host: str, headers: Headers) -> bool:
        """Whether the service's own page sends it, or a page that is allowed to, or no page at all."""
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if "*" in self._origins or origin in self._origins:
            return True
        if site is not None:
            return site in ("same-origin", "none")
        # A proxy may have taken the TLS off, so the scheme says nothing; browsers leave a usual port out of both.
        return origin is None or origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


class _Reply:
    """Adds the headers to an answer and remembers its status, 0 while there is none."""

    def __init__(self, send: Send, *, private: bool) -> None:
        self._send, self.status, self.done = send, 0, False
        # Files of the page are revalidated each time, by their ETags: no browser mixes those of two versions.
        self._headers = (*_HEADERS, (b"cache-control", b"no-store" if private else b"no-cache"))

    async def send(self, message: Message) -> None:
        """See ASGI."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own = list(message.get("headers", ()))
            there = {name.lower() for name, _ in own}
            message["headers"] = [*own, *(header for header in self._headers if header[0] not in there)]
        else:
            self.done = not message.get("more_body", False)
        await self._send(message)


class _Body:
    """A body as it arrives, bounded in size and pace; once it is whole, watches whether the client leaves."""

    def __init__(self, receive: Receive, reply: _Reply, limit: int, seconds: float) -> None:
        self._receive, self._reply, self.limit = receive, reply, limit
        self._received, self._end = 0, time.monotonic() + seconds
        self._task = asyncio.current_task()
        self._watcher: asyncio.Task[None] | None = None
        self.first: Message | None = None  # what the app gets first, where the body has been read
        self.whole = self.gone = False

    async def receive(self) -> Message:
        """See ASGI."""
        if self.first is not None:
            message, self.first = self.first, None
            return message
        if self._watcher is not None:
            await asyncio.wait([self._watcher])
            return {"type": "http.disconnect"}
        try:
            async with asyncio.timeout(self._end + self._received / _LEAST_PACE - time.monotonic()):
                message = await self._receive()
        except TimeoutError:
            why = f"the body does not come, or comes at less than {_LEAST_PACE:,} bytes a second; send it faster"
            raise Problem(408, "too_slow", why, headers=_CLOSE) from None
        if message["type"] == "http.disconnect":
            self.gone = True
            return message
        self._received += len(message.get("body", b""))
        if self._received > self.limit:
            raise _too_large(self.limit)
        if not message.get("more_body", False):
            self.whole = True
            self._watcher = asyncio.create_task(self._watch())
        return message

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._reply.done and self._task is not None:
            self.gone = True
            self._task.cancel()

    def close(self) -> None:
        """Watch no more."""
        if self._watcher is not None:
            self._watcher.cancel()


def _too_large(limit: int) -> Problem:
    return Problem(413, "too_large", f"the body is larger than {limit:,} bytes; send less at a time", headers=_CLOSE)
