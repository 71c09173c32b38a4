"""Fair turns: clients one after the other, and of each its requests one after the other, a piece of work at a time."""

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class FairLine(Generic[Item]):
    """Pieces of work that wait; a request of few never waits for all of one of many."""

    def __init__(self) -> None:
        self._clients: OrderedDict[str, OrderedDict[Hashable, deque[Item]]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, client: str, request: Hashable, items: Iterable[Item]) -> None:
        """Let more of a client's request wait, behind what waits of it."""
        more = list(items)
        if more:
            self._clients.setdefault(client, OrderedDict()).setdefault(request, deque()).extend(more)
            self._count += len(more)

    def take(self, fits: Callable[[Item], bool] = lambda _: True) -> Item | None:
        """The next piece, or None: of the client that has waited longest, the request that has.

        None, too, where the next piece does not fit: it keeps its place.
        """
        if not self._clients or not fits(next(iter(next(iter(self._clients.values())).values()))[0]):
            return None
        client, requests = self._clients.popitem(last=False)
        request, items = requests.popitem(last=False)
        item = items.popleft()
        self._count -= 1
        if items:
            requests[request] = items
        if requests:
            self._clients[client] = requests
        return item

    def drop(self, client: str, request: Hashable) -> None:
        """Forget what waits of a request."""
        requests = self._clients.get(client)
        if requests and request in requests:
            self._count -= len(requests.pop(request))
            if not requests:
                del self._clients[client]
