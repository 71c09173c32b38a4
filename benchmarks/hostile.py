"""Clients that nobody wants: slow ones, deaf ones, and such as ask for too much. `soak.py` mixes them in.

Each goes on until it is stopped, from an address of its own, and counts what it is answered: a status, or "cut". What
is sent again and again is made once: their cost should be the service's, not theirs.
"""

import asyncio
import json
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeAlias

Address: TypeAlias = tuple[str, int]
_HOST = "Host: localhost\r\n"
_NAMES = [f"Place{number}" for number in range(100)]


class Client:
    """One of them: where it asks, where from, and what it was told."""

    def __init__(self, address: Address, number: int) -> None:
        self.address, self.own, self.told = address, f"127.0.1.{number}", Counter[str]()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self.told["cut"] += 1

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection from its own address."""
        return await asyncio.open_connection(*self.address, local_addr=(self.own, 0), limit=1 << 20)

    async def ask(self, sent: bytes, seconds: float = 60, *, whole: bool = False) -> None:
        """Send something, and count the status that comes back; leave then, or take the whole answer."""
        with self._told():
            reader, writer = await self.open()
            try:
                writer.write(sent)
                line = await asyncio.wait_for(reader.readline(), seconds)
                while whole and await asyncio.wait_for(reader.read(1 << 16), seconds):
                    pass
                self.told[line.split(b" ")[1].decode() if line.count(b" ") else "cut"] += 1
            finally:
                writer.close()

    async def drip(self, head: bytes, piece: bytes, pause: float, most: int = 1000) -> None:
        """Send a head, and then a piece after each pause, as long as somebody listens."""
        with self._told():
            reader, writer = await self.open()
            try:
                writer.write(head)
                for _ in range(most):
                    writer.write(piece)
                    await asyncio.wait_for(writer.drain(), 30)
                    await asyncio.sleep(pause)
                    if reader.at_eof():
                        break
                line = await asyncio.wait_for(reader.readline(), 5)
                self.told[line.split(b" ")[1].decode() if line.count(b" ") else "cut"] += 1
            finally:
                writer.close()


def post(path: str, body: bytes, kind: str = "application/json") -> bytes:
    """A request as HTTP."""
    head = f"POST {path} HTTP/1.1\r\n{_HOST}Connection: close\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _predict(**asked: object) -> bytes:
    return post("/v1/predict", json.dumps(asked).encode())


@cache
def _table(rows: int, names: int = len(_NAMES), **fields: str) -> bytes:
    parts = [*(("targets", name) for name in _NAMES[:names]), *fields.items()]
    head = "".join(f'--x\r\nContent-Disposition: form-data; name="{one}"\r\n\r\n{two}\r\n' for one, two in parts)
    file = "text\n" + "Place1 is dear and Place2 is not.\n" * rows
    body = f'{head}--x\r\nContent-Disposition: form-data; name="file"; filename="t.csv"\r\n\r\n{file}\r\n--x--\r\n'
    return post("/v1/score", body.encode(), "multipart/form-data; boundary=x")


async def _many(do: Callable[[], Awaitable[None]], times: int) -> None:
    await asyncio.gather(*(do() for _ in range(times)))


async def idle(client: Client) -> None:
    """Holds a hundred connections, and says nothing."""
    await _many(lambda: client.drip(b"", b"", 1.0, 30), 100)


async def slow_heads(client: Client) -> None:
    """Sends a head a letter at a time."""
    await _many(lambda: client.drip(b"GET / HTTP/1.1\r\nX-A: ", b"a", 0.5), 20)


async def slow_uploads(client: Client) -> None:
    """Sends a table a byte at a time."""
    head = f"POST /v1/score HTTP/1.1\r\n{_HOST}Content-Type: multipart/form-data; boundary=x\r\n"
    head += (
        'Content-Length: 9000000\r\n\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n'
    )
    await _many(lambda: client.drip(head.encode(), b"a", 0.5), 4)


async def endless_head(client: Client) -> None:
    """Sends a head without end."""
    await client.drip(b"GET / HTTP/1.1\r\n", b"X-A: " + b"a" * 8000 + b"\r\n", 0.001, 100_000)


async def heavy(client: Client) -> None:
    """Asks for a hundred targets of a text that names them throughout."""
    await client.ask(random.choice(_heavy_requests()))


@cache
def _heavy_requests() -> list[bytes]:
    texts = [" ".join(random.choices(_NAMES, k=1400))[:9_900] for _ in range(10)]
    return [_predict(text=text, targets=_NAMES) for text in texts]


async def heaviest(client: Client) -> None:
    """The same of a hundred texts at once."""
    await client.ask(_heaviest_request())


@cache
def _heaviest_request() -> bytes:
    return _predict(texts=[" ".join(_NAMES * 14)[:9_900]] * 100, targets=_NAMES)


async def wide(client: Client) -> None:
    """Asks for columns with names of 32,000 letters."""
    await client.ask(_table(64, prefix="a" * 32_000, format="jsonl"))
    await client.ask(_table(64, layout="long", evidence="true"))


async def files(client: Client) -> None:
    """Has tables scored, one after another."""
    await client.ask(_table(500, names=3), whole=True)


async def deaf(client: Client) -> None:
    """Asks for much, and reads nothing of it."""
    with client._told():
        _, writer = await client.open()
        writer.write(_predict(texts=["Place1 is dear, Place2 is not."] * 250, targets=_NAMES[:10]))
        await asyncio.sleep(5)
        writer.close()
        client.told["left"] += 1


async def leaver(client: Client) -> None:
    """Asks, and is gone."""
    with client._told():
        _, writer = await client.open()
        writer.write(_predict(text="Place1 is dear.", targets=_NAMES[:2])[: random.randint(1, 200)])
        await asyncio.sleep(0.05)
        writer.close()
        client.told["left"] += 1


async def nonsense(client: Client) -> None:
    """Sends bytes that are hardly HTTP, and JSON that is hardly JSON."""
    await client.ask(os.urandom(500) + b"\r\n\r\n", 10)
    await client.ask(post("/v1/predict", b"[" * 100_000), 10)
    await client.ask(post("/v1/predict", b'{"text": ' + b"9" * 10_000), 10)
    await asyncio.sleep(0.1)


KINDS = (idle, slow_heads, slow_uploads, endless_head, heavy, heaviest, wide, files, deaf, leaver, nonsense)


async def go_on(kind: Callable[[Client], Awaitable[None]], client: Client) -> None:
    """Again and again; a client that is turned away at once does not come back at once."""
    while True:
        await kind(client)
        await asyncio.sleep(0.05)
