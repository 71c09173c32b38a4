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


def test_who_asks_little_goes_before_those_who_ask_much() -> None:
    line: FairLine[tuple[str, int]] = FairLine(lambda item: item[1])
    line.add("much", 1, [("much", 100)] * 4)
    line.add("some", 2, [("some", 30)] * 9)
    taken = []
    for _ in range(6):
        line.add("little", object(), [("little", 1)])  # always one at a time, as soon as the last is done
        while (item := line.take()) != ("little", 1):
            taken.append(item)
    assert len(taken) <= 7  # at most one of each stands before it
    assert taken.count(("some", 30)) >= 2 * taken.count(("much", 100)) - 2
    left = [line.take() for _ in range(len(line))]
    assert sorted([*taken, *left]) == sorted([("much", 100)] * 4 + [("some", 30)] * 9)
    assert line.take() is None


def test_shares_of_work_are_equal_whatever_the_pieces() -> None:
    costs = {"a": 1, "b": 7, "c": 40}
    line: FairLine[str] = FairLine(lambda client: costs[client])
    for client in costs:
        line.add(client, client, [client] * 2000)
    done = dict.fromkeys(costs, 0)
    for _ in range(2000):
        done[line.take() or ""] += 1
    work = [done[client] * cost for client, cost in costs.items()]
    assert max(work) - min(work) <= 2 * max(costs.values())


def test_waiting_saves_up_nothing_and_leaving_pays_no_debt() -> None:
    line: FairLine[str] = FairLine(lambda _: 10)
    line.add("a", 1, ["a"] * 100)
    for _ in range(50):
        line.take()
    line.add("late", 2, ["late"] * 50)  # it has had nothing so far, and still gets every second turn only
    assert [line.take() for _ in range(10)].count("late") == 5
    # One that comes with a piece at a time stays behind what it has had done.
    line.drop("late", 2)
    line.add("again", 3, ["again"])
    taken = []
    for _ in range(10):
        taken.append(line.take())
        if taken[-1] == "again":
            line.add("again", object(), ["again"])
    assert taken.count("again") == 5


def test_dropping_and_coming_again_leaves_one_place() -> None:
    line: FairLine[int] = FairLine()
    for number in range(100):
        line.add("a", number, [number])
        line.drop("a", number)
    line.add("a", 100, [100, 101])
    assert (len(line), line.take(), line.take(), line.take()) == (2, 100, 101, None)
