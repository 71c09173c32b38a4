"""Whose turn it is."""

from tabsa.serve.turns import FairLine


def test_clients_and_their_requests_take_turns() -> None:
    line: FairLine[str] = FairLine()
    line.add("a", 1, ["a1", "a2", "a3"])
    line.add("a", 2, ["A1"])
    line.add("b", 3, ["b1", "b2"])
    assert len(line) == 6
    taken = [line.take() for _ in range(7)]
    assert taken == ["a1", "b1", "A1", "b2", "a2", "a3", None]
    assert len(line) == 0


def test_what_does_not_fit_keeps_its_place_and_what_is_dropped_is_gone() -> None:
    line: FairLine[int] = FairLine()
    line.add("a", 1, [5, 6])
    line.add("b", 2, [7])
    assert line.take(lambda item: item < 5) is None
    line.drop("a", 1)
    line.drop("a", 1)
    assert (len(line), line.take(), line.take()) == (1, 7, None)
