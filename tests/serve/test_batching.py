"""Many clients, few model calls, and every answer the Predictor's own to the last bit."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from open_model import open_model
from service_client import NAMES, WORDS, asking, error_of, some_texts
from tabsa.inference.predictor import Predictor, load
from tabsa.serve.batching import Answer, Batcher, Question
from tabsa.serve.problems import Problem
from tabsa.serve.settings import Settings
from tabsa.text.targets import TargetFinder

__all__ = ["open_model"]  # a fixture


@pytest.fixture(scope="module", params=["tiny", "open"])
def model(request: pytest.FixtureRequest, tiny_model: Path) -> Predictor:
    """A model with a memory and aspects of its own, and one that takes any."""
    return load(tiny_model if request.param == "tiny" else request.getfixturevalue("open_model"), threads=1)


class Gated:
    """A predictor whose calls wait, and are written down."""

    def __init__(self, predictor: Predictor, *, refused: str = "") -> None:
        self._predictor, self._refused = predictor, refused
        self.calls: list[list[str]] = []  # the words of the passages of each
        self.entered, self.open = threading.Semaphore(0), threading.Semaphore(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._predictor, name)

    def read(self, passages: Sequence[Any], aspects: Sequence[Any], *, explain: bool = False) -> Any:
        read = [" ".join(token.text for token in passage.tokens) for passage in passages]
        self.calls.append(read)
        self.entered.release()
        assert self.open.acquire(timeout=30)
        if self._refused and any(self._refused in words for words in read):
            raise ValueError("it cannot be read")
        return self._predictor.read(passages, aspects, explain=explain)

    async def under_way(self) -> None:
        """Wait until a call has begun."""
        assert await asyncio.to_thread(self.entered.acquire, True, 30)


@pytest.fixture
def gated(predictor: Predictor) -> Iterator[Any]:
    made = Gated(predictor, refused="zebra")
    yield made
    made.open.release(1000)


async def sent(batcher: Batcher, predictor: Any, *texts: str, names: Sequence[str] = NAMES) -> Any:
    """A request that has begun to wait for its answers."""
    task = asyncio.create_task(batcher.ask([question(predictor, text, names) for text in texts]))
    await asyncio.sleep(0)
    return task


def question(predictor: Predictor, text: str, names: Sequence[str] = NAMES, **more: Any) -> Question:
    return Question(text, TargetFinder(names), more.pop("aspects", predictor.aspects), **more)


def told(answers: Sequence[Answer], predictor: Predictor) -> list[Any]:
    return [answer.prediction(predictor).to_dict() for answer in answers]


REQUESTS = st.lists(
    st.tuples(
        st.lists(st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join), min_size=1, max_size=4),
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
        st.lists(st.sampled_from(("price", "safety", "general")), min_size=1, max_size=3, unique=True),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(requests=REQUESTS, batch_work=st.sampled_from((1, 60, 512)))
@hypothesis_settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_is_read_together_answers_are_the_predictors(
    model: Predictor, requests: list[Any], batch_work: int
) -> None:
    async def ask() -> list[list[Answer]]:
        batcher = Batcher(model, Settings(batch_work=batch_work))
        asked = [
            batcher.ask([Question(text, TargetFinder(names), tuple(aspects), *flags) for text in texts])
            for texts, names, aspects, *flags in requests
        ]
        answers = await asyncio.gather(*asked)
        batcher.stop()
        return answers

    for (texts, names, aspects, implied, explain), answers in zip(requests, asyncio.run(ask()), strict=True):
        expected = [model.predict(text, names, aspects, implied=implied) for text in texts]
        assert told(answers, model) == [one.to_dict() for one in expected]
        for answer, one in zip(answers, expected, strict=True):
            if explain:
                prediction = answer.prediction(model)
                assert [repr(p.gates) for p in prediction.passages] == [repr(p.gates) for p in one.passages]


def test_the_model_in_the_box_answers_as_if_asked_alone() -> None:
    """Its products are large enough for their rounding to depend on how many rows they have."""
    questions = [(text, NAMES) for text in some_texts(40)]

    async def ask(client: httpx2.AsyncClient, _: FastAPI) -> list[Any]:
        posts = (client.post("/v1/predict", json={"text": text, "targets": names}) for text, names in questions)
        return await asyncio.gather(*posts)

    answers = asking(Settings(threads=1), ask)
    model = load(threads=1)
    for answer, (text, names) in zip(answers, questions, strict=True):
        assert answer.json()["opinions"] == model.predict(text, names).to_dict()["opinions"]


def test_many_questions_of_a_text_are_read_in_parts(open_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabsa.serve.batching._MOST_QUESTIONS", 3)
    model, aspects = load(open_model, threads=1), tuple(f"aspect {n}" for n in range(40))
    text = "Camden is far; Leeds is not."

    async def ask() -> list[Answer]:
        batcher = Batcher(model, Settings(batch_work=20))
        try:
            return await batcher.ask([question(model, text, aspects=aspects)])
        finally:
            batcher.stop()

    (answer,) = asyncio.run(ask())
    assert len(answer.parts[0]) > 1
    assert answer.prediction(model).to_dict() == model.predict(text, NAMES, aspects).to_dict()


def test_texts_that_gather_share_a_call_and_a_bad_one_fails_alone(gated: Any) -> None:
    texts = ["Camden is cheap", "Leeds is a zebra", "Leeds is dear", "nobody"]

    async def ask() -> list[Any]:
        batcher = Batcher(gated, Settings())
        first = await sent(batcher, gated, "Camden first")
        await gated.under_way()
        others = [await sent(batcher, gated, text) for text in texts]
        gated.open.release(10)
        found = await asyncio.gather(first, *others, return_exceptions=True)
        batcher.stop()
        return found

    first, cheap, zebra, dear, nobody = asyncio.run(ask())
    assert [len(call) for call in gated.calls] == [1, 3, 1, 1, 1]  # together, then one by one
    assert isinstance(zebra, ValueError)
    for answers, text in ((first, "Camden first"), (cheap, texts[0]), (dear, texts[2]), (nobody, texts[3])):
        assert told(answers, gated) == [gated.predict(text, NAMES).to_dict()]


def test_a_short_request_goes_before_the_rest_of_a_long_one(gated: Any) -> None:
    """The long one is read in pieces, and every other call begins with it, so that it does not wait for ever."""
    long = [f"Camden is number {n}" for n in range(250)]

    async def ask() -> bool:
        batcher = Batcher(gated, Settings(batch_work=80))
        asked = await sent(batcher, gated, *long, names=["Camden"])
        await gated.under_way()
        short = await sent(batcher, gated, "Leeds is short")
        gated.open.release(3)
        await short
        ended = asked.done()
        gated.open.release(1000)
        assert told(await asked, gated) == [gated.predict(text, ["Camden"]).to_dict() for text in long]
        batcher.stop()
        return ended

    assert not asyncio.run(ask())
    place = next(n for n, call in enumerate(gated.calls) if any("short" in words for words in call))
    assert place <= 2
    assert all(len(call) < 10 for call in gated.calls)


def test_work_of_those_who_left_is_dropped_before_it_is_read(gated: Any) -> None:
    async def ask() -> None:
        batcher = Batcher(gated, Settings(max_waiting=300))
        first = await sent(batcher, gated, "Camden first")
        await gated.under_way()
        left = await sent(batcher, gated, *["Leeds is left"] * 299)
        with pytest.raises(Problem, match="too many texts are waiting"):
            await batcher.ask([question(gated, "Camden")])
        left.cancel()
        await asyncio.wait([left])
        last = await sent(batcher, gated, "Leeds is last")
        gated.open.release(10)
        await asyncio.gather(first, last)
        batcher.check(300)
        batcher.stop()

    asyncio.run(ask())
    assert [word for call in gated.calls for word in call] == ["Camden first", "Leeds is last"]


def test_overload_is_refused_at_once(settings: Any, gated: Any) -> None:
    async def ask(client: httpx2.AsyncClient, app: FastAPI) -> None:
        app.state.service.batcher._predictor = gated
        held = asyncio.create_task(client.post("/v1/predict", json={"texts": ["Camden"] * 256, "targets": NAMES}))
        await gated.under_way()
        refused = await client.post("/v1/predict", json={"text": "Camden", "targets": NAMES})
        assert error_of(refused, 503)["code"] == "busy"
        assert refused.headers["retry-after"] == "1"
        assert (await client.get("/healthz")).status_code == 200
        gated.open.release(1000)
        assert (await held).status_code == 200

    asking(settings(max_waiting=256), ask)
