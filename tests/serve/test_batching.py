"""Many clients, few model calls, and every answer the Predictor's own."""

import asyncio
import random
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import httpx2
import pytest
from fastapi import FastAPI

from service_client import error_of
from tabsa.encoding.passages import Passage
from tabsa.inference.predictor import Predictor
from tabsa.serve.app import create_app
from tabsa.serve.batching import BatchAnswer, Batcher, Question
from tabsa.serve.metrics import Metrics
from tabsa.serve.priority import Priority
from tabsa.serve.problems import Problem
from tabsa.serve.settings import Settings
from tabsa.text import TargetFinder

NAMES = ["Camden", "Brixton Hill", "Leeds"]
WORDS = ("the", "is", "not", "but", "cheap", "dear", "far", "zebra", ".", "Camden", "Leeds", ",", "Brixton Hill")


def texts(count: int, seed: int = 1) -> list[str]:
    chance = random.Random(seed)
    return [" ".join(chance.choices(WORDS, k=chance.randint(1, 60))) for _ in range(count)]


def asking(settings: Settings, ask: Callable[[httpx2.AsyncClient, FastAPI], Awaitable[Any]]) -> Any:
    """Run what asks a service, both in one event loop."""

    async def run() -> Any:
        app = create_app(settings)
        transport = httpx2.ASGITransport(app=app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            return await ask(client, app)

    return asyncio.run(run())


@pytest.mark.parametrize("batch_texts", [1, 3, 32])
def test_what_is_read_beside_a_text_changes_nothing(settings: Any, predictor: Predictor, batch_texts: int) -> None:
    read = texts(60)
    aspects = [None, ["price"], ["safety", "general"]]

    async def ask(client: httpx2.AsyncClient, app: FastAPI) -> list[Any]:
        posted = [
            {
                "text": text,
                "targets": NAMES[: 1 + n % 3],
                "aspects": aspects[n % 3],
                "explain": n % 7 == 0,
                "implied": n % 5 == 0,
            }
            for n, text in enumerate(read)
        ]
        return await asyncio.gather(*(client.post("/v1/predict", json=body) for body in posted))

    answers = asking(settings(batch_texts=batch_texts), ask)
    for n, (text, answer) in enumerate(zip(read, answers, strict=True)):
        expected = predictor.predict(text, NAMES[: 1 + n % 3], aspects[n % 3], implied=n % 5 == 0)
        assert answer.json()["opinions"] == expected.to_dict()["opinions"]  # to the last bit
        assert (answer.json()["explanation"] is not None) == (n % 7 == 0)
        if n % 7 == 0:
            gates = [passage["gates"] for passage in answer.json()["explanation"]["passages"]]
            assert gates == [p.gates.astype(float).round(4).tolist() for p in expected.passages if p.gates is not None]


def test_the_model_in_the_box_answers_as_if_asked_alone() -> None:
    """Its products are large enough for their rounding to depend on how many rows they have."""
    from tabsa.datasets import load as load_data
    from tabsa.inference.predictor import load

    examples = load_data("places", "test").examples[:40]
    questions = [(example.text, [target.name for target in example.targets]) for example in examples]

    async def ask(client: httpx2.AsyncClient, app: FastAPI) -> list[Any]:
        posts = (client.post("/v1/predict", json={"text": text, "targets": targets}) for text, targets in questions)
        return await asyncio.gather(*posts)

    answers = asking(Settings(threads=1, batch_texts=16), ask)
    model = load(threads=1)
    for answer, (text, targets) in zip(answers, questions, strict=True):
        assert answer.json()["opinions"] == model.predict(text, targets).to_dict()["opinions"]


def test_clients_share_model_calls_and_one_alone_does_not_wait(settings: Any) -> None:
    async def ask(client: httpx2.AsyncClient, app: FastAPI) -> tuple[str, float]:
        for round_number in range(5):
            posted = [{"text": text, "targets": NAMES} for text in texts(40, round_number)]
            await asyncio.gather(*(client.post("/v1/predict", json=body) for body in posted))
        metrics = (await client.get("/metrics")).text
        await client.post("/v1/predict", json={"text": "Camden", "targets": NAMES})  # the first after a crowd
        start = time.perf_counter()
        for _ in range(10):
            await client.post("/v1/predict", json={"text": "Camden", "targets": NAMES})
        return metrics, time.perf_counter() - start

    metrics, alone = asking(settings(batch_texts=20, batch_window_ms=300), ask)
    counts = {line.split()[0]: float(line.split()[1]) for line in metrics.splitlines() if not line.startswith("#")}
    assert counts["tabsa_texts_total"] == 200
    assert counts["tabsa_batch_texts_sum"] == 200
    assert counts["tabsa_batch_texts_count"] <= 40  # of 200, had each been asked alone
    assert counts["tabsa_waiting_texts"] == 0
    assert alone < 10 * 0.3 / 2  # ten windows would be three seconds


class SlowPredictor:
    """Takes its time, and refuses a word."""

    def __init__(self, predictor: Predictor, wait: Callable[[], object] = lambda: None) -> None:
        self._predictor, self._wait = predictor, wait
        self.calls: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def read(self, passages: list[Passage], aspects_of_each: Any, **options: Any) -> list[Any]:
        self.calls.append(len(passages))
        self._wait()
        if any("poison" in token.text for passage in passages for token in passage.tokens):
            raise RuntimeError("poisoned")
        return self._predictor.read(passages, aspects_of_each, **options)


def with_batcher(
    predictor: Any, settings: Settings, use: Callable[[Batcher], Awaitable[Any]], priority: Priority | None = None
) -> Any:
    async def run() -> Any:
        batcher = Batcher(predictor, settings, Metrics(), priority)
        batcher.start()
        try:
            return await use(batcher)
        finally:
            await batcher.stop()

    return asyncio.run(run())


def question(text: str) -> Question:
    return Question(text, TargetFinder(NAMES))


def test_too_much_is_refused_at_once_and_the_rest_is_answered(settings: Any, predictor: Predictor) -> None:
    most = 0

    async def use(batcher: Batcher) -> tuple[list[Any], int]:
        nonlocal most

        async def ask(text: str) -> Any:
            nonlocal most
            result = batcher.ask([question(text)])
            most = max(most, batcher.waiting)
            return await result

        results = await asyncio.gather(*(ask(text) for text in texts(500)), return_exceptions=True)
        return list(results), batcher.waiting

    slow = SlowPredictor(predictor, lambda: time.sleep(0.01))
    results, left = with_batcher(slow, settings(max_waiting=50, max_texts=50, batch_texts=10), use)
    answered = [result for result in results if isinstance(result, list)]
    refused = [result for result in results if isinstance(result, Problem)]
    assert (len(answered), len(refused)) == (50, 450)
    assert most <= 50
    assert left == 0
    assert refused[0].status_code == 503
    assert refused[0].headers == {"Retry-After": "1"}


def test_a_request_is_taken_whole_or_not_at_all(settings: Any, predictor: Predictor) -> None:
    async def use(batcher: Batcher) -> tuple[int, int]:
        first = asyncio.create_task(batcher.ask([question(text) for text in texts(6)]))
        await asyncio.sleep(0)
        with pytest.raises(Problem):
            await batcher.ask([question(text) for text in texts(5)])
        waiting = batcher.waiting
        return waiting, len(await first)

    assert with_batcher(SlowPredictor(predictor), settings(max_waiting=10, max_texts=10), use) == (6, 6)


def test_a_text_that_breaks_the_model_breaks_only_its_own_answer(settings: Any, predictor: Predictor) -> None:
    async def use(batcher: Batcher) -> list[Any]:
        texts_sent = ["Camden is nice", "Camden poison", "Leeds is far"]
        return list(
            await asyncio.gather(*(batcher.ask([question(text)]) for text in texts_sent), return_exceptions=True)
        )

    first, second, third = with_batcher(SlowPredictor(predictor), settings(), use)
    assert isinstance(first[0], BatchAnswer)
    assert isinstance(third[0], BatchAnswer)
    assert isinstance(second, RuntimeError)


def test_a_client_that_leaves_takes_nothing_with_it(settings: Any, predictor: Predictor) -> None:
    async def use(batcher: Batcher) -> list[BatchAnswer]:
        gone = asyncio.create_task(batcher.ask([question("Camden")]))
        await asyncio.sleep(0.01)
        gone.cancel()
        return await batcher.ask([question("Leeds")])

    (answer,) = with_batcher(SlowPredictor(predictor, lambda: time.sleep(0.05)), settings(), use)
    assert answer.prediction.text == "Leeds"


def test_stopping_answers_what_is_waiting(settings: Any, predictor: Predictor) -> None:
    slow = SlowPredictor(predictor, lambda: time.sleep(0.02))

    async def run() -> list[Any]:
        batcher = Batcher(slow, settings(batch_texts=4, batch_ms=10_000), Metrics())  # type: ignore[arg-type]
        batcher.start()
        tasks = [asyncio.create_task(batcher.ask([question(text)])) for text in texts(20)]
        await asyncio.sleep(0)
        await batcher.stop()
        return await asyncio.gather(*tasks)

    assert len(asyncio.run(run())) == 20
    assert len(slow.calls) == 5  # of four texts each


def test_an_overloaded_service_says_when_to_come_again(settings: Any) -> None:
    async def ask(client: httpx2.AsyncClient, app: FastAPI) -> tuple[list[Any], Any]:
        waits = threading.Event()
        service = app.state.service
        service.batcher._quick.predictor = SlowPredictor(service.predictor, waits.wait)
        posted = [client.post("/v1/predict", json={"text": text, "targets": NAMES}) for text in texts(30)]
        tasks = [asyncio.create_task(post) for post in posted]
        while sum(task.done() for task in tasks) < 25:
            await asyncio.sleep(0.01)
        ready = await client.get("/readyz")
        waits.set()
        return await asyncio.gather(*tasks), ready

    answers, ready = asking(settings(max_waiting=5, max_texts=5), ask)
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 5 + [503] * 25
    refused = next(answer for answer in answers if answer.status_code == 503)
    assert error_of(refused, 503)["code"] == "busy"
    assert refused.headers["retry-after"] == "1"
    assert ready.status_code == 503


def test_a_small_request_does_not_wait_for_all_of_a_large_one(settings: Any, predictor: Predictor) -> None:
    """Counted in model calls: the large request has dozens of them, the small one gets its answer within a few."""
    slow = SlowPredictor(predictor)

    async def use(batcher: Batcher) -> tuple[int, int]:
        large = [question(" ".join(["Camden is dear ."] * 200)) for _ in range(60)]
        first = asyncio.create_task(batcher.ask(large, "a"))
        while not slow.calls:
            await asyncio.sleep(0)
        before = len(slow.calls)
        await batcher.ask([question("Leeds is far .")], "b")
        after = len(slow.calls)
        await batcher.ask([question("Leeds is far .")], "a")  # of the same client, too
        same = len(slow.calls)
        await first
        return after - before, same - after

    others, own = with_batcher(slow, settings(batch_texts=4, batch_work=500), use)
    assert len(slow.calls) > 40
    assert others <= 4
    assert own <= 4


def test_a_small_request_is_answered_while_a_large_one_is_read(settings: Any, predictor: Predictor) -> None:
    """Even one that never ends: it is read elsewhere."""
    goes_on = threading.Event()
    slow = SlowPredictor(predictor, goes_on.wait)

    async def use(batcher: Batcher) -> tuple[bool, bool]:
        batcher._large.predictor = slow  # type: ignore[assignment]
        long = asyncio.create_task(batcher.ask([question("Camden is dear . " * 100)]))
        wide = asyncio.create_task(batcher.ask([question("Camden is dear .")] * 100))  # 100 texts, 3 targets
        while not slow.calls:
            await asyncio.sleep(0)
        (answer,) = await batcher.ask([question("Leeds is far .")])
        waited = not long.done() and not wide.done()
        goes_on.set()
        await asyncio.gather(long, wide)
        return waited, answer.prediction.text == "Leeds is far ."

    assert with_batcher(predictor, settings(small_characters=1000, small_opinions=900), use) == (True, True)


def test_what_is_large_waits_for_what_is_small(settings: Any, predictor: Predictor) -> None:
    """What the model computes for large requests goes through `Priority.run`, that of small ones is around it."""

    class Noting(Priority):
        ran: ClassVar[list[str]] = []

        def run(self, call: Any, *args: Any, **kwargs: Any) -> Any:
            self.ran.append(threading.current_thread().name)
            return super().run(call, *args, **kwargs)

        def small(self) -> Any:
            self.ran.append("small")
            return super().small()

    async def use(batcher: Batcher) -> list[BatchAnswer]:
        (small,) = await batcher.ask([question("Leeds is far .")])
        (large,) = await batcher.ask([question("Leeds is far . " * 100)])
        return [small, large]

    with_batcher(predictor, settings(), use, Noting())
    assert Noting.ran[0] == "small"
    assert set(Noting.ran[1:]) == {"large_0"}


@pytest.mark.parametrize(("milliseconds", "calls"), [(0, [4, 2, 1, 1]), (1000, [8])])
def test_a_long_call_for_small_requests_leaves_half_of_them(
    settings: Any, predictor: Predictor, milliseconds: float, calls: list[int]
) -> None:
    """Each text takes ten milliseconds, which is long or not; known is that from the first call on."""
    slow = SlowPredictor(predictor)
    slow._wait = lambda: time.sleep(0.01 * slow.calls[-1])

    async def use(batcher: Batcher) -> None:
        await batcher.ask([question("Camden is dear .")])
        texts = [f"Camden is number {n} ." for n in range(8)]
        await asyncio.gather(*(batcher.ask([question(text)], text) for text in texts))

    with_batcher(slow, settings(batch_ms=milliseconds, threads=1), use)
    assert slow.calls == [1, *calls]


def test_a_call_for_small_requests_has_work_for_every_core(settings: Any, predictor: Predictor) -> None:
    slow = SlowPredictor(predictor)

    async def use(batcher: Batcher) -> None:
        await batcher.ask([question("Camden is dear .")])
        await asyncio.gather(*(batcher.ask([question(f"Camden {n}")], str(n)) for n in range(4)))

    with_batcher(slow, settings(batch_ms=0, threads=3), use)
    assert slow.calls == [1, 3, 1]


def test_clients_take_turns_whatever_each_asks(settings: Any, predictor: Predictor) -> None:
    slow = SlowPredictor(predictor)
    ended: list[str] = []

    async def use(batcher: Batcher) -> None:
        async def ask(client: str, count: int) -> None:
            await batcher.ask([question(" ".join(["Camden is dear ."] * 200)) for _ in range(count)], client)
            ended.append(client)

        greedy = [asyncio.create_task(ask("greedy", 3)) for _ in range(6)]
        await asyncio.sleep(0)
        await asyncio.gather(ask("modest", 3), *greedy)

    with_batcher(slow, settings(batch_texts=1, batch_work=1), use)
    assert ended[0] == "modest"  # asked last, and as much as each of the other's six


def test_work_is_counted_and_limited(settings: Any, predictor: Predictor) -> None:
    """Word pieces, here words, times the passages they are read in, and questions."""
    text = "Camden is dear ."
    (passage,) = predictor.engine.cut(text, TargetFinder(NAMES).find(text))
    work = len(passage.tokens) + len(predictor.aspects)
    slow = SlowPredictor(predictor)

    async def use(batcher: Batcher) -> Any:
        assert len(await batcher.ask([question(text)] * 10)) == 10
        calls = len(slow.calls)
        with pytest.raises(Problem) as refused:
            await batcher.ask([question(text)] * 11)
        assert len(slow.calls) == calls  # before anything is read
        assert batcher.waiting == 0
        with pytest.raises(Problem):
            await batcher.ask([question(text)._replace(aspects=("price",), of=("Camden", "price"))] * 4)
        return refused.value

    problem = with_batcher(slow, settings(max_work=10 * work), use)
    assert (problem.status_code, problem.code) == (422, "limit")
    assert f"over {10 * work:,} word pieces to read and questions to answer" in problem.message


def test_parts_of_a_passage_answer_as_the_whole(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many questions of one passage are asked in several calls; nothing changes by that, to the last bit."""
    from tabsa.inference.predictor import load
    from tabsa.serve import asked, lane

    monkeypatch.setattr(asked, "_MOST_QUESTIONS", 4)
    monkeypatch.setattr(asked, "_BUNCH", 1)
    monkeypatch.setattr(lane, "_KEPT", 0)  # and texts are cut again
    model = load("reader", threads=1)
    aspects = ("price", "safety", "noise", "looks", *(f"thing {number}" for number in range(29)))
    text = "Camden and Leeds are dear, Camden is loud. " * 3

    async def use(batcher: Batcher) -> list[BatchAnswer]:
        return await batcher.ask([Question(text, TargetFinder(NAMES), aspects=aspects)])

    slow = SlowPredictor(model)
    (answer,) = with_batcher(slow, settings(batch_work=1), use)
    assert len(slow.calls) > 1
    assert answer.prediction.to_dict() == model.predict(text, NAMES, aspects).to_dict()
