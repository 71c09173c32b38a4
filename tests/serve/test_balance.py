"""Workers that share the load, whoever accepted a connection."""

import asyncio
import functools
import multiprocessing
import random
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from browsing import until
from tabsa.serve.balance import Balance
from tabsa.serve.connection import Connection
from tabsa.serve.crowd import Crowd
from tabsa.serve.settings import Settings

SECONDS = 0.5  # over which requests under way are averaged


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def two_workers(clock: Clock) -> tuple[Balance, Balance]:
    """As two processes have it: the same memory, each its own place."""
    first = Balance(2, multiprocessing.get_context(), clock)
    second = Balance(2, None, clock)
    second._cells = first._cells
    for number, balance in enumerate((first, second)):
        balance.begin(number)
        balance.open()
    return first, second


def busy(balance: Balance, count: int) -> None:
    balance._count(count)


def test_a_worker_alone_keeps_every_client(clock):
    balance = Balance(clock=clock)
    busy(balance, 100)
    clock.now += 10
    assert not balance.lets_go()


def test_the_average_is_that_of_the_definition(clock):
    """Against small steps of d mean / dt = (count - mean) / SECONDS."""
    balance, _ = two_workers(clock)
    chance, mean, count, under_way = random.Random(1), 0.0, 0, []
    for _ in range(200):
        wait = chance.choice([0.001, 0.02, 0.3])
        step = wait / 1000
        for _ in range(1000):
            mean += step * (count - mean) / SECONDS
        clock.now += wait
        assert balance._mean(0) == pytest.approx(mean, rel=1e-2, abs=1e-3)
        if under_way and chance.random() < 0.5:
            under_way.pop().__exit__(None, None, None)
            count -= 1
        else:
            under_way.append(balance.under_way())
            under_way[-1].__enter__()
            count += 1


def test_the_busier_one_lets_clients_go_one_at_a_time(clock):
    first, second = two_workers(clock)
    busy(first, 4)
    busy(second, 1)
    assert not first.lets_go()  # a moment says little
    clock.now += 10
    assert first.lets_go()
    assert not second.lets_go()
    assert not first.lets_go()  # the one that goes has to be counted where it went
    clock.now += 0.11
    assert first.lets_go()


@pytest.mark.parametrize("counts", [(0, 0), (1, 0), (3, 2), (40, 39), (0, 7)])
def test_who_has_hardly_more_keeps_all(clock, counts):
    first, second = two_workers(clock)
    busy(first, counts[0])
    busy(second, counts[1])
    clock.now += 10
    assert not first.lets_go()


def test_nobody_is_sent_to_a_worker_that_is_not_there(clock):
    first, second = two_workers(clock)
    busy(first, 4)
    first.expect(1)  # as the parent does when it starts another one
    clock.now += 10
    assert not first.lets_go()
    second.open()
    assert first.lets_go()


def test_a_request_that_fails_is_over(clock):
    first, _ = two_workers(clock)
    with pytest.raises(RuntimeError), first.under_way():
        raise RuntimeError
    clock.now += 10
    assert first._mean(0) == pytest.approx(0)


class Eager(Balance):
    """Would let everybody go."""

    def lets_go(self) -> bool:
        return True


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """An app that takes a moment."""
    await asyncio.sleep(0.05)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def eager() -> Iterator[tuple[str, int]]:
    """The address of a service that lets every client go."""
    settings = Settings()
    kind: Any = functools.partial(Connection, settings, Crowd(settings), Eager())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = uvicorn.Server(uvicorn.Config(answer, http=kind, lifespan="off", log_level="error", ws="none"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: server.started)
        yield listener.getsockname()
        server.should_exit = True
        thread.join(10)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_client_is_told_with_the_last_answer_of_those_it_asked_for(eager, count):
    """Requests that were sent ahead are all answered, and only then is the connection closed."""
    with socket.create_connection(eager, timeout=10) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * count)
        told = b"".join(iter(lambda: wire.recv(10_000), b""))
    answers = told.lower().split(b"http/1.1 200 ok")[1:]
    assert len(answers) == count
    assert [b"connection: close" in one for one in answers] == [False] * (count - 1) + [True]


def test_who_asked_for_an_end_gets_it(eager):
    with socket.create_connection(eager, timeout=10) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" * 2)
        told = b"".join(iter(lambda: wire.recv(10_000), b""))
    assert told.count(b"200 OK") == 1
