"""Fair turns: whoever has had the least work done is next (start-time fair queueing: Goyal, Vin and Cheng, 1997)."""

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

Item = TypeVar("Item")
_REMEMBERED: Final = 1024  # clients that are gone, whose last work is not forgotten at once


@dataclass(slots=True)
class _Waiting(Generic[Item]):
    """What waits of one client: its requests, which take turns, too."""

    place: tuple[float, int] = (0.0, 0)  # the virtual time of its next turn, and the order among equals
    requests: OrderedDict[Hashable, deque[Item]] = field(default_factory=OrderedDict)


class FairLine(Generic[Item]):
    """Pieces of work that wait.

    Each client's next turn stands at a virtual time: that of its last turn, and the work which that was; or the
    present one, where it has waited for nothing since. So a client that asks little goes before those that ask much,
    and nobody can save up turns.

    Args:
        cost: the work of a piece.
    """

    def __init__(self, cost: Callable[[Item], float] = lambda _: 1.0) -> None:
        self._cost = cost
        self._clients: dict[str, _Waiting[Item]] = {}
        self._order: list[tuple[tuple[float, int], str]] = []  # a heap; of clients that are dropped, some are left
        self._ended: OrderedDict[str, float] = OrderedDict()  # the next turn of clients that do not wait
        self._now = 0.0
        self._turns = self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, client: str, request: Hashable, items: Iterable[Item]) -> None:
        """Let more of a client's request wait, behind what waits of it."""
        more = list(items)
        if not more:
            return
        if client not in self._clients:
            self._clients[client] = _Waiting()
            self._line_up(client, max(self._now, self._ended.pop(client, 0.0)))
        self._clients[client].requests.setdefault(request, deque()).extend(more)
        self._count += len(more)

    def take(self, fits: Callable[[Item], bool] = lambda _: True) -> Item | None:
        """The next piece, or None: of the client that is next, the request that has waited longest.

        None, too, where the next piece does not fit: it keeps its place.
        """
        while self._order and not self._is_waiting(*self._order[0]):
            heapq.heappop(self._order)
        if not self._order:
            return None
        (time, _), client = self._order[0]
        waiting = self._clients[client]
        if not fits(next(iter(waiting.requests.values()))[0]):
            return None
        heapq.heappop(self._order)
        request, items = waiting.requests.popitem(last=False)
        item = items.popleft()
        self._count -= 1
        self._now = time
        if items:
            waiting.requests[request] = items
        if waiting.requests:
            self._line_up(client, time + self._cost(item))
        else:
            self._leave(client, time + self._cost(item))
        return item

    def drop(self, client: str, request: Hashable) -> None:
        """Forget what waits of a request."""
        waiting = self._clients.get(client)
        if waiting and request in waiting.requests:
            self._count -= len(waiting.requests.pop(request))
            if not waiting.requests:
                self._leave(client, waiting.place[0])

    def _is_waiting(self, place: tuple[float, int], client: str) -> bool:
        return client in self._clients and self._clients[client].place == place

    def _line_up(self, client: str, time: float) -> None:
        self._turns += 1
        self._clients[client].place = (time, self._turns)
        heapq.heappush(self._order, (self._clients[client].place, client))

    def _leave(self, client: str, time: float) -> None:
        del self._clients[client]
        self._ended[client] = time
        while len(self._ended) > _REMEMBERED:
            self._ended.popitem(last=False)
