"""Who is connected, and who has to go where there are too many.

Connections that wait for a request give way to new ones, the oldest of the busiest client first; so silent ones,
however many, keep nobody out. Where all are at work, a few more are let in, so that health is always answered.
"""

import ipaddress
from collections import Counter
from typing import Final, Protocol

from tabsa.serve.settings import Settings

_SPARE: Final = 32  # connections beyond the limit, that are told so


class Guest(Protocol):
    """A connection."""

    client_name: str

    def dismiss(self) -> None:
        """Close it; it is waiting."""


class Crowd:
    """The connections of one worker."""

    def __init__(self, settings: Settings) -> None:
        self._most, self._each = settings.max_connections, settings.max_client_connections
        self._here: dict[Guest, None] = {}
        self._waiting: dict[Guest, None] = {}  # who has waited longest is first
        self._counts: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._here)

    def join(self, guest: Guest) -> bool:
        """Let a connection in; False where it has to be closed at once."""
        self._here[guest] = self._waiting[guest] = None
        self._counts[guest.client_name] += 1
        if self.is_too_many(guest) and len(self._here) > self._most + _SPARE:
            self.leave(guest)
            return False
        return True

    def leave(self, guest: Guest) -> None:
        """A connection is closed, or about to be."""
        self._waiting.pop(guest, None)
        if guest in self._here:
            del self._here[guest]
            self._counts[guest.client_name] -= 1
            if not self._counts[guest.client_name]:
                del self._counts[guest.client_name]

    def wait(self, guest: Guest) -> None:
        """A connection waits for a request."""
        if guest in self._here:
            self._waiting.pop(guest, None)
            self._waiting[guest] = None

    def work(self, guest: Guest) -> None:
        """A connection has a request."""
        self._waiting.pop(guest, None)

    def is_too_many(self, guest: Guest) -> bool:
        """Whether there is no room for a connection, even after closing one that waits."""
        if self._counts[guest.client_name] > self._each:
            self._dismiss([other for other in self._waiting if other.client_name == guest.client_name], guest)
        if len(self._here) > self._most:
            self._dismiss(list(self._waiting), guest)
        return self._counts[guest.client_name] > self._each or len(self._here) > self._most

    def _dismiss(self, waiting: list[Guest], spared: Guest) -> None:
        others = [guest for guest in waiting if guest is not spared]
        if others:
            goes = max(others, key=lambda guest: self._counts[guest.client_name])  # of equals the first
            self.leave(goes)
            goes.dismiss()


def client_name(host: str | None) -> str:
    """What tells clients apart: the address, or of IPv6 the network, in which a client has as many as it likes."""
    try:
        address = ipaddress.ip_address((host or "").partition("%")[0])
    except ValueError:
        return host or ""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    return str(address)
