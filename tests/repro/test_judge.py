"""The judge on a network of two layers: against a slow computation, and what its tree of questions promises."""

import math
import random

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

import torch

from judge.decoder import Decoder, DecoderConfig
from judge.model import Judge, Training, answers, fit_temperature, train
from judge.questions import LABELS, Item, Trees, batches
from judge.writer import generate

SMALL = DecoderConfig(vocabulary=40, layers=2, size=24, inner=36, heads=6, kv_heads=2)


@pytest.fixture
def judge():
    torch.manual_seed(3)
    made = Judge(SMALL)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return made


def item(draw: random.Random, questions: int, length: int = 9) -> Item:
    def tokens(count: int) -> np.ndarray:
        return np.array([draw.randrange(SMALL.vocabulary) for _ in range(count)], np.int32)

    labels = np.eye(len(LABELS), dtype=np.float32)[[draw.randrange(len(LABELS)) for _ in range(questions)]]
    return Item(tokens(length), tuple(tokens(draw.randint(2, 6)) for _ in range(questions)), labels)


def slow_states(decoder: Decoder, tokens: list[int]) -> np.ndarray:
    """The states of one sequence under a causal mask: the equations, one head and one pair of tokens at a time."""
    weights = {name: value.detach().double().numpy() for name, value in decoder.named_parameters()}
    config, width = decoder.config, SMALL.size // SMALL.heads

    def norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return x / math.sqrt((x * x).mean() + config.epsilon) * gain

    def turned(x: np.ndarray, position: int) -> np.ndarray:
        out = x.copy()
        for i in range(width // 2):
            angle = position * config.rope_base ** (-2 * i / width)
            a, b = x[i], x[i + width // 2]
            out[i] = a * math.cos(angle) - b * math.sin(angle)
            out[i + width // 2] = b * math.cos(angle) + a * math.sin(angle)
        return out

    stream = [weights["embedding.weight"][token].copy() for token in tokens]
    for layer in range(config.layers):
        own = {name.split(".", 2)[2]: value for name, value in weights.items() if name.startswith(f"blocks.{layer}.")}
        normed = [norm(x, own["attention_norm.weight"]) for x in stream]
        query, key, value = (
            [own[f"{part}.weight"] @ x + own[f"{part}.bias"] for x in normed] for part in ("query", "key", "value")
        )
        for t in range(len(tokens)):
            mixed = []
            for head in range(config.heads):
                shared = head // (config.heads // config.kv_heads)
                mine, theirs = slice(head * width, (head + 1) * width), slice(shared * width, (shared + 1) * width)
                q = turned(query[t][mine], t)
                scores = np.array([q @ turned(key[s][theirs], s) / math.sqrt(width) for s in range(t + 1)])
                shares = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
                mixed.append(sum(share * value[s][theirs] for s, share in enumerate(shares)))
            stream[t] = stream[t] + own["output.weight"] @ np.concatenate(mixed)
        for t, x in enumerate(stream):
            y = norm(x, own["feed_norm.weight"])
            gate = own["gate.weight"] @ y
            stream[t] = x + own["down.weight"] @ (gate / (1 + np.exp(-gate)) * (own["up.weight"] @ y))
    return np.array([norm(x, weights["norm.weight"]) for x in stream])


def test_the_decoder_is_its_equations(judge):
    tokens = [5, 9, 1, 33, 7, 7, 20]
    length = len(tokens)
    mask = torch.ones(1, length, length, dtype=torch.bool).tril()
    found = judge.decoder(torch.tensor([tokens]), torch.arange(length)[None], mask)[0].detach().numpy()
    np.testing.assert_allclose(found, slow_states(judge.decoder, tokens), atol=2e-5)


def test_a_question_is_answered_as_if_it_stood_alone(judge):
    draw = random.Random(1)
    whole = item(draw, 4)
    together = answers(judge, Trees([whole]))
    for number, question in enumerate(whole.questions):
        tokens = [*whole.text.tolist(), *question.tolist()]
        state = slow_states(judge.decoder, tokens)[-1]
        logits = judge.head.weight.detach().numpy() @ state + judge.head.bias.detach().numpy()
        shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        np.testing.assert_allclose(together[number], shares, atol=2e-5)


def test_batches_and_padding_change_nothing(judge):
    draw = random.Random(2)
    items = [item(draw, draw.randint(1, 5), draw.randint(3, 30)) for _ in range(11)]
    alone = np.concatenate([answers(judge, Trees([one])) for one in items])
    for tokens in (1, 100, 10_000):
        np.testing.assert_allclose(answers(judge, Trees(items), tokens), alone, atol=1e-5)


def test_each_tree_is_drawn_once_an_epoch():
    lengths = np.random.default_rng(4).integers(2, 40, 50)
    for shuffle in (None, random.Random(0)):
        drawn = list(batches(lengths, 100, shuffle))
        assert sorted(np.concatenate(drawn)) == list(range(50))
        assert all(len(places) * lengths[places].max() <= 100 for places in drawn)


def test_training_learns_and_is_repeatable(judge):
    draw = random.Random(5)
    items = [item(draw, 3) for _ in range(12)]
    config = Training(epochs=30, tokens=120, rate=3e-3, head_rate=3e-2, warm_up=3, seed=7)
    before = {name: value.clone() for name, value in judge.state_dict().items()}
    losses = []
    train(judge, items, config, lambda _, loss: losses.append(loss))
    assert losses[-1] < 0.5 * losses[0]
    first = answers(judge, Trees(items))
    judge.load_state_dict(before)
    train(judge, items, config)
    np.testing.assert_array_equal(first, answers(judge, Trees(items)))


def test_r_drop_and_smoothing_are_their_definitions(judge):
    from judge.model import _loss

    batch = Trees([item(random.Random(6), 3)]).batch(np.array([0]))
    logits = judge(batch).detach().double()
    log = logits.log_softmax(-1)
    gold = batch.labels.double() * 0.9 + 0.1 / len(LABELS)
    plain = -(gold * log).sum(-1).mean()
    found = _loss(judge, batch, Training(label_smoothing=0.1, r_drop=2.0))  # without dropout the readings are the same
    assert float(found.detach()) == pytest.approx(float(plain), abs=1e-5)


def test_the_temperature_is_the_one_of_least_loss():
    generator = np.random.default_rng(8)
    logits = generator.normal(size=(4000, 5)) * 2
    gold = np.array([generator.choice(5, p=np.exp(row) / np.exp(row).sum()) for row in logits])
    sharp = np.exp(3 * logits) / np.exp(3 * logits).sum(1, keepdims=True)
    assert fit_temperature(sharp, gold) == pytest.approx(3.0, abs=0.2)


def test_a_sequence_is_continued_as_the_whole_is_read(judge):
    """With a temperature near 0 what is written is the likeliest token by the slow network, step after step."""
    output = torch.randn(SMALL.vocabulary, SMALL.size, generator=torch.Generator().manual_seed(1))
    prompts = [np.array([3, 4, 5], np.int32), np.array([7], np.int32)]
    found = generate(judge.decoder, output, prompts, end=0, longest=9, temperature=1e-4, top_p=0.9)
    for prompt, sequence in zip(prompts, found, strict=True):
        assert sequence[: len(prompt)] == prompt.tolist()
        tokens = prompt.tolist()
        while len(tokens) < 9:
            token = int((output.numpy() @ slow_states(judge.decoder, tokens)[-1]).argmax())
            if token == 0:
                break
            tokens.append(token)
        assert sequence == tokens
