"""The judge on a network of two layers: against a slow computation, and what its tree of questions promises."""

import json
import math
import random

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'tabsa[train]'")

import torch

from judge import run
from judge.decoder import OUTPUT, Decoder, DecoderConfig, parameter_name
from judge.model import Judge, Training, answers, fit_temperature, train
from judge.questions import LABELS, Item, Trees, batches, encode, renumbered
from judge.writer import generate, parsed, tune, written

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


def test_some_questions_are_drawn_with_their_labels():
    whole = item(random.Random(6), 9)
    part = whole.sampled(4, random.Random(1))
    given, drawn = (
        {(*question, label.argmax()) for question, label in zip(one.questions, one.labels, strict=True)}
        for one in (whole, part)
    )
    assert len(drawn) == 4
    assert drawn < given


def test_r_drop_and_smoothing_are_their_definitions(judge):
    from judge.model import _loss

    batch = Trees([item(random.Random(6), 3)]).batch(np.array([0]))
    logits = judge(batch).detach().double()
    log = logits.log_softmax(-1)
    gold = batch.labels.double() * 0.9 + 0.1 / len(LABELS)
    plain = -(gold * log).sum(-1).mean()
    found = _loss(judge, batch, Training(label_smoothing=0.1, r_drop=2.0))  # without dropout the readings are the same
    assert float(found.detach()) == pytest.approx(float(plain), abs=1e-5)


def test_tokens_are_numbered_by_their_place():
    one = Item(np.array([7, 3, 9, 8, 1000], np.int32), (np.array([3], np.int32),), np.eye(5)[:1])
    (found,) = renumbered([one], np.array([3, 7, 9]))
    assert found.text.tolist() == [1, 0, 2, 0, 0]  # those that were not packed are the first
    assert found.questions[0].tolist() == [0]


def test_the_temperature_is_the_one_of_least_loss():
    generator = np.random.default_rng(8)
    logits = generator.normal(size=(4000, 5)) * 2
    gold = np.array([generator.choice(5, p=np.exp(row) / np.exp(row).sum()) for row in logits])
    sharp = np.exp(3 * logits) / np.exp(3 * logits).sum(1, keepdims=True)
    assert fit_temperature(sharp, gold) == pytest.approx(3.0, abs=0.2)


def gguf_names(layers: int) -> list[str]:
    files = ["token_embd.weight", "output_norm.weight"]
    for layer in range(layers):
        parts = ("attn_norm", "ffn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
        files += [f"blk.{layer}.{part}.weight" for part in parts]
        files += [f"blk.{layer}.{part}.bias" for part in ("attn_q", "attn_k", "attn_v")]
    return files


def test_names_of_a_gguf_file_are_parameters():
    names = {name for name, _ in Decoder(SMALL).named_parameters()}
    assert {parameter_name(name) for name in gguf_names(SMALL.layers)} == names


@pytest.fixture
def work(tmp_path, monkeypatch):
    """What `encode` leaves, of a tiny decoder and a tokenizer of bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = {token: n for n, token in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    words |= {f"\u0120{label}": 300 + n for n, label in enumerate(LABELS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="!"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.ByteLevel(False, use_regex=False), pre_tokenizers.Split("", "isolated")]
    )
    tokenizer.add_tokens([f" {label}" for label in LABELS])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / run.TOKENIZER))
    monkeypatch.setattr(run, "END", 5)
    tokens = np.arange(tokenizer.get_vocab_size())
    np.save(tmp_path / run.TOKENS, tokens)
    config = DecoderConfig(vocabulary=len(tokens), layers=2, size=24, inner=36, heads=6, kv_heads=2)
    generator = np.random.default_rng(0)
    names = {parameter_name(name): name for name in gguf_names(2)}
    state = {name: tensor.numpy() for name, tensor in Decoder(config).state_dict().items()}
    arrays = {names[name]: array for name, array in state.items()}
    arrays[OUTPUT] = generator.normal(size=(len(tokens), 24)).astype(np.float32)
    folder, content, index = tmp_path / run.PACKED, b"", []
    folder.mkdir()
    for name, array in arrays.items():
        index.append({"name": name, "type": "F32", "shape": array.shape, "dtype": "<f4", "part": 0,
                      "start": len(content), "bytes": array.nbytes})  # fmt: skip
        content += array.astype("<f4").tobytes()
    (folder / "part-00.bin").write_bytes(content)
    (folder / "index.json").write_text(json.dumps({"config": config.__dict__, "tensors": index}))
    draw = random.Random(3)
    rows = []
    for name, split, _ in (*run.LEARNT, *run.STUDENTS_TOO, *run.DEV, *run.TEST):
        for number in range(3):
            questions = [["Ann", "price"], [None, "size"], ["Ann", f"colour {number}"]]
            labels = [draw.randrange(5) for _ in questions]
            own = {"text": f"Ann is {draw.choice(['dear', 'cheap'])}", "questions": questions, "labels": labels}
            rows.append({"set": f"{name} {split}", **own, "domain": "shops", "kind": "plain"})
    run.write_rows(tmp_path / "sets.jsonl.xz", rows)
    run.write_rows(tmp_path / "pool.jsonl.xz", [{"text": f"Bo {n}", "questions": [["Bo", "look"]]} for n in range(7)])
    return tmp_path


def test_the_steps_fit_together(work, capsys):
    for seed in (1, 2):
        run.train_seed(work, Training(epochs=1, tokens=300, rate=1e-2, warm_up=1, seed=seed))
    run.answer_all(work, work / "out", [1, 2], 500)
    with np.load(work / "out" / "pool.npz") as found:
        assert found["shares"].shape == (7, 5)
        np.testing.assert_allclose(found["shares"].sum(1), 255, atol=3)
    with np.load(work / "out" / "everyday-dev-seen.npz") as found:
        assert found["shares"].shape == (2, 9, 5)
        assert not np.allclose(*found["shares"])
    record = json.loads((work / "judge-2.json").read_text())
    assert record["config"]["seed"] == 2
    assert set(record["dev"]) == {f"{name} {split}" for name, split, _ in run.DEV}


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


def test_the_writer_learns_what_stands_behind_a_card(judge):
    output = torch.randn(SMALL.vocabulary, SMALL.size, generator=torch.Generator().manual_seed(1))
    sequences = [(np.array([1, 2, 9, 8, 7, 0], np.int32), 2)] * 8
    losses = []
    options = {"epochs": 40, "tokens": 24, "rate": 3e-3, "seed": 1}
    tune(judge.decoder, output, sequences, **options, on_epoch=lambda _, loss: losses.append(loss))
    assert losses[-1] < 0.2 * losses[0]
    (found,) = generate(judge.decoder, output, [np.array([1, 2])], 0, longest=8, temperature=0.01, top_p=0.5)
    assert found == [1, 2, 9, 8, 7]


def test_what_is_written_is_read_again():
    row = {"text": "Ann is dear.\nReally.", "questions": [["Ann", "price"], [None, "staff"]], "labels": [2, 0]}
    found = parsed(written(row, random.Random(0)), "shops")
    assert found["text"] == row["text"]
    asked = sorted(zip(found["questions"], found["wishes"], strict=True), key=str)
    assert asked == [(["Ann", "price"], 2), ([None, "staff"], 0)]
    assert parsed("no card", "shops") is None
    assert parsed("@ Bo\n= Bo | price | positive\nNobody is named in this text.", "shops") is None


def test_a_text_is_encoded_with_its_questions(work):
    tokenizer, _ = run.loaded(work)
    (found,) = encode(tokenizer, [{"text": "Hi", "questions": [["Ann", "price"], [None, "price"]], "labels": [1, 0]}])
    assert tokenizer.decode(found.text.tolist()) == 'Someone writes: "Hi"\n'
    assert [tokenizer.decode(question.tolist()) for question in found.questions] == [" Ann, price:", " it, price:"]
    assert found.labels.argmax(1).tolist() == [1, 0]
