"""The judge on a network of two layers: against a slow computation, and what its tree of questions promises."""

import math
import random

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

import torch

from judge.decoder import Decoder, DecoderConfig, parameter_name
from judge.model import Judge, Training, answers, fit_temperature, train
from judge.questions import LABELS, Item, batches, pack_items, renumbered
from judge.run import read_items, write_items

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
    (together,) = answers(judge, [whole])
    for number, question in enumerate(whole.questions):
        tokens = [*whole.text.tolist(), *question.tolist()]
        state = slow_states(judge.decoder, tokens)[-1]
        logits = judge.head.weight.detach().numpy() @ state + judge.head.bias.detach().numpy()
        shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        np.testing.assert_allclose(together[number], shares, atol=2e-5)


def test_batches_and_padding_change_nothing(judge):
    draw = random.Random(2)
    items = [item(draw, draw.randint(1, 5), draw.randint(3, 30)) for _ in range(11)]
    alone = [answers(judge, [one])[0] for one in items]
    for size in (2, 5, 11):
        for one, other in zip(alone, answers(judge, items, size), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-5)


def test_each_item_is_drawn_once_an_epoch():
    draw = random.Random(4)
    items = [item(draw, 1, draw.randint(2, 12)) for _ in range(50)]
    for shuffle in (None, random.Random(0)):
        assert sorted(place for places in batches(items, 4, shuffle) for place in places) == list(range(50))


def test_training_learns_and_is_repeatable(judge):
    draw = random.Random(5)
    items = [item(draw, 3) for _ in range(12)]
    config = Training(epochs=30, batch=4, rate=3e-3, head_rate=3e-2, warm_up=3, seed=7)
    before = {name: value.clone() for name, value in judge.state_dict().items()}
    losses = []
    train(judge, items, config, lambda _, loss: losses.append(loss))
    assert losses[-1] < 0.5 * losses[0]
    first = answers(judge, items)
    judge.load_state_dict(before)
    train(judge, items, config)
    for one, other in zip(first, answers(judge, items), strict=True):
        np.testing.assert_array_equal(one, other)


def test_r_drop_and_smoothing_are_their_definitions(judge):
    from judge.model import _loss

    batch = pack_items([item(random.Random(6), 3)])
    logits = judge(batch).detach().double()
    log = logits.log_softmax(-1)
    gold = batch.labels.double() * 0.9 + 0.1 / len(LABELS)
    plain = -(gold * log).sum(-1).mean()
    found = _loss(judge, batch, Training(label_smoothing=0.1, r_drop=2.0))  # without dropout the readings are the same
    assert float(found.detach()) == pytest.approx(float(plain), abs=1e-5)


def test_tokens_are_numbered_by_their_place():
    (found,) = renumbered(
        [Item(np.array([7, 3, 9], np.int32), (np.array([3], np.int32),), np.eye(5)[:1])], np.array([3, 7, 9])
    )
    assert found.text.tolist() == [1, 0, 2]
    assert found.questions[0].tolist() == [0]
    with pytest.raises(ValueError, match="not among those that were packed"):
        renumbered([Item(np.array([8], np.int32), (), np.eye(5)[:0])], np.array([3, 7, 9]))


def test_the_temperature_is_the_one_of_least_loss():
    generator = np.random.default_rng(8)
    logits = generator.normal(size=(4000, 5)) * 2
    gold = np.array([generator.choice(5, p=np.exp(row) / np.exp(row).sum()) for row in logits])
    sharp = np.exp(3 * logits) / np.exp(3 * logits).sum(1, keepdims=True)
    assert fit_temperature(sharp, gold) == pytest.approx(3.0, abs=0.2)


def test_names_of_a_gguf_file_are_parameters():
    names = {name for name, _ in Decoder(SMALL).named_parameters()}
    files = ["token_embd.weight", "output_norm.weight"]
    for layer in range(SMALL.layers):
        parts = ("attn_norm", "ffn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
        files += [f"blk.{layer}.{part}.weight" for part in parts]
        files += [f"blk.{layer}.{part}.bias" for part in ("attn_q", "attn_k", "attn_v")]
    assert {parameter_name(name) for name in files} == names


def test_items_travel_as_arrays(tmp_path):
    draw = random.Random(9)
    items = [item(draw, draw.randint(1, 4)) for _ in range(7)]
    write_items(tmp_path / "items.npz", items)
    for one, other in zip(items, read_items(tmp_path / "items.npz"), strict=True):
        np.testing.assert_array_equal(one.text, other.text)
        np.testing.assert_array_equal(one.labels, other.labels)
        assert [list(question) for question in one.questions] == [list(question) for question in other.questions]
