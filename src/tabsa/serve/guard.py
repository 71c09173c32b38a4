"""What stands before the app: the middleware that checks each request and its answer.

A web page can give this machine any name that its owner likes (DNS rebinding), and can send a form to any address
(cross-site request forgery). Browsers tell of both: by the name that they address, and by where the page came from.
"""

import asyncio
import ipaddress
import logging
import secrets
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tabsa.serve.problems import Problem, busy
from tabsa.serve.schema import MAX_BODY_BYTES
from tabsa.serve.settings import Settings

_HEADERS: Final = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "frame-ancestors 'none'; frame-src 'self'; form-action 'self'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_HEALTH: Final = "/healthz"
_OPEN: Final = frozenset({_HEALTH, "/", "/openapi.json"})  # without a key, as are the page's own files
_FILES: Final = frozenset({"/v1/columns", "/v1/score", "/v1/report"})  # whose bodies are read piece by piece
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_log = logging.getLogger("uvicorn.error")


class Guard:
    """Checks a request, bounds its body, and cancels its work where the client leaves."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._names = frozenset(name.lower() for name in settings.allowed_hosts)
        self._origins = frozenset(settings.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        limit = MAX_BODY_BYTES + (self._settings.max_upload_bytes if path in _FILES else 0)
        exchange = _Exchange(path, receive, send, limit)
        try:
            self._check(path, scope["method"], Headers(scope=scope), limit)
            await self._app(scope, exchange.receive, exchange.send)
        except asyncio.CancelledError:  # the client left, or the service stops
            if not (exchange.gone or exchange.status):
                await busy("the service is stopping").response()(scope, exchange.receive, exchange.send)
        except Exception as error:
            if exchange.gone:
                return
            if exchange.status:  # the answer has begun: only breaking it off says that it is not whole
                _log.error("%s %s broke off: %s", scope["method"], quote(path), error.__cause__ or error)
                return
            if not isinstance(error, Problem):
                _log.error("%s %s failed", scope["method"], quote(path), exc_info=error)
                error = Problem(500, "internal", "something went wrong in the service; its log says more")
            await error.response()(scope, exchange.receive, exchange.send)
        finally:
            exchange.close()

    def _check(self, path: str, method: str, headers: Headers, limit: int) -> None:
        """Raise a Problem where a request may not come in."""
        hosts, key = headers.getlist("host"), self._settings.api_key
        if not (path == _HEALTH and not hosts) and (len(hosts) != 1 or not self._is_own(hosts[0])):
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


class _Exchange:
    """One request and its answer: a body bounded in size, and an answer with our headers.

    Once the body is whole, it watches whether the client leaves.
    """

    def __init__(self, path: str, receive: Receive, send: Send, limit: int) -> None:
        self._path, self._receive, self._send, self._limit = path, receive, send, limit
        self._received = 0
        self._task = asyncio.current_task()
        self._watcher: asyncio.Task[None] | None = None
        self.status = 0  # of the answer; 0 while there is none
        self.gone = self._answered = False

    async def receive(self) -> Message:
        if self._watcher is not None:
            await asyncio.wait([self._watcher])
            return {"type": "http.disconnect"}
        message = await self._receive()
        self.gone = message["type"] == "http.disconnect"
        self._received += len(message.get("body", b""))
        if self._received > self._limit:
            raise _too_large(self._limit)
        if not (self.gone or message.get("more_body", False)):
            self._watcher = asyncio.create_task(self._watch())
        return message

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._answered and self._task is not None:
            self.gone = True
            self._task.cancel()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            # Files of the page are revalidated each time, by their ETags: no browser mixes those of two versions.
            headers.setdefault("cache-control", "no-store" if self._path.startswith("/v1/") else "no-cache")
        else:
            self._answered = not message.get("more_body", False)
        await self._send(message)

    def close(self) -> None:
        """Watch no more."""
        if self._watcher is not None:
            self._watcher.cancel()


def _too_large(limit: int) -> Problem:
    why = f"the body is larger than {limit:,} bytes; send less at a time"
    return Problem(413, "too_large", why, headers={"Connection": "close"})
