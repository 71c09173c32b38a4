"""Who goes where there are too many connections."""

import random
from collections import Counter

import pytest

from tabsa.serve.crowd import Crowd, client_name
from tabsa.serve.settings import Settings


class Guest:
    def __init__(self, client: str) -> None:
        self.client_name, self.gone = client, False

    def dismiss(self) -> None:
        self.gone = True


def crowd(most: int, each: int) -> Crowd:
    return Crowd(Settings(max_connections=most, max_client_connections=each))


def test_of_those_that_wait_the_oldest_of_the_busiest_client_goes() -> None:
    hall = crowd(4, 4)
    first, *many = [Guest("few"), Guest("many"), Guest("many"), Guest("many")]
    assert all(hall.join(guest) for guest in (first, *many))
    hall.work(many[0])
    late = Guest("new")
    assert hall.join(late)
    assert [guest.gone for guest in (first, *many, late)] == [False, False, True, False, False]
    assert not hall.is_too_many(late)


def test_a_client_that_has_its_share_gives_way_to_itself() -> None:
    hall = crowd(10, 2)
    guests = [Guest("a"), Guest("a"), Guest("b"), Guest("a")]
    assert all(hall.join(guest) for guest in guests)
    assert [guest.gone for guest in guests] == [True, False, False, False]
    for guest in guests[1:]:
        hall.work(guest)
    one_more = Guest("a")
    assert hall.join(one_more)  # to be told
    assert hall.is_too_many(one_more)
    assert not hall.is_too_many(guests[2])


def test_beyond_a_few_nobody_gets_in_while_all_work() -> None:
    hall = crowd(2, 2)
    guests = [Guest(str(number)) for number in range(100)]
    inside = []
    for guest in guests:
        if hall.join(guest):
            hall.work(guest)
            inside.append(guest)
    assert len(inside) == len(hall) == 34
    assert not any(guest.gone for guest in inside)


def test_counts_stay_right_whatever_happens() -> None:
    hall, draw = crowd(8, 3), random.Random(5)
    inside: list[Guest] = []
    for _ in range(3000):
        inside = [guest for guest in inside if not guest.gone]
        if draw.random() < 0.5:
            guest = Guest(draw.choice("abcdef"))
            if hall.join(guest):
                inside.append(guest)
        elif inside:
            guest = draw.choice(inside)
            act = draw.choice([hall.work, hall.wait, hall.leave, hall.leave])
            act(guest)
            if act == hall.leave:
                inside.remove(guest)
        inside = [guest for guest in inside if not guest.gone]
        assert len(hall) == len(inside) <= 8 + 32
        assert hall._counts == Counter(guest.client_name for guest in inside)


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.5", "10.0.0.5"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
        (None, ""),
    ],
)
def test_clients_are_told_apart_by_address_or_network(host: str | None, name: str) -> None:
    assert client_name(host) == name
