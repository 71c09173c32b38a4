"""By which names the service may be addressed, and pages of which sites may use it.

A web page can give this machine any name that its owner likes (DNS rebinding), and can send a form to any address
(cross-site request forgery). Browsers tell of both: by the name that they ask for, and by where the page came from.
"""

import ipaddress
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from tabsa.serve.problems import Problem
from tabsa.serve.settings import Settings

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN: Final = frozenset({"same-origin", "none"})  # of Sec-Fetch-Site: the page itself, or the person
_PORTS: Final = {"http": 80, "https": 443}


class Sites:
    """What a service goes by, and whom it lets in."""

    def __init__(self, settings: Settings) -> None:
        self._names = frozenset(name.lower() for name in settings.allowed_hosts)
        self._origins = frozenset(settings.cors_origins)

    def check(self, method: str, headers: Headers, *, health: bool) -> None:
        """Raise a Problem where a request is for another name, or from a page of another site."""
        hosts = headers.getlist("host")
        if not (health and not hosts) and (len(hosts) != 1 or not self._is_own(hosts[0])):
            raise Problem(400, "bad_host", "the service does not go by that name; its operator can allow it")
        if method not in _SAFE and not self._may_send(hosts[0] if hosts else "", headers):
            raise Problem(403, "other_site", "pages of other sites may not use the service; its operator can allow one")

    def _is_own(self, host: str) -> bool:
        name = _name(host)
        return name == "localhost" or name in self._names or "*" in self._names or _is_address(name)

    def _may_send(self, host: str, headers: Headers) -> bool:
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        if "*" in self._origins or origin in self._origins:
            return True
        if site is not None:
            return site in _OWN
        return origin is None or _is_same(origin, host)


def _name(host: str) -> str:
    """The name of a Host header, without the port."""
    lowered = host.lower()
    return lowered.partition("]")[0] + "]" if lowered.startswith("[") else lowered.partition(":")[0]


def _is_address(name: str) -> bool:
    """Whether a name is an address, which nobody can make point elsewhere."""
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _is_same(origin: str, host: str) -> bool:
    """Whether a page's origin is what was asked for; a proxy may have taken the TLS off."""
    try:
        page = urlsplit(origin)
        asked = urlsplit(f"{page.scheme}://{host}")
        port = _PORTS.get(page.scheme)
        return (
            port is not None
            and page.hostname is not None
            and (page.hostname, page.port or port) == (asked.hostname, asked.port or port)
        )
    except ValueError:  # not a port, not an address
        return False
