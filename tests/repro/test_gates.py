import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from result_factory import request
from tabsa.errors import DataError
from tabsa.nn.context import EVALUATION
from tabsa.training.word_training import build_model
from tabsa_repro import gates as module
from tabsa_repro.gates import distances, measure, published, sentence_row
from tabsa_repro.paper import FIGURE2_GATES, FIGURE2_WORDS, SENTENCE
from tabsa_repro.paper_figures import write_pictures
from tabsa_repro.running import run
from tabsa_repro.seed_runs import prepare_with_test, train

SEEDS = (1, 2, 3)


@given(arrays(bool, st.tuples(st.integers(1, 4), st.integers(1, 9))), st.data())
def test_distance_is_counted_from_the_nearest_mention(targets, data):
    rows, size = targets.shape
    lengths = np.array(data.draw(st.lists(st.integers(0, size), min_size=rows, max_size=rows)), np.int32)
    targets &= np.arange(size) < lengths[:, None]
    found = distances(targets, lengths)
    for row in range(rows):
        mentions = [place for place in range(size) if targets[row, place]]
        for place in range(size):
            counted = place < lengths[row] and mentions
            assert found[row, place] == (min(abs(place - m) for m in mentions) if counted else -1)


def test_the_papers_gates_at_our_words():
    for system, values in published().items():
        assert len(values) == len(SENTENCE)
        assert values[-2:] == [None, None]  # "or so" is not in the paper's figure
        at = dict(zip(SENTENCE, values, strict=True))
        paper = dict(zip(FIGURE2_WORDS, FIGURE2_GATES[system], strict=True))
        assert at["wo"] == at["n't"] == paper["won't"]
        assert (at["<target1>"], at["restaurants"], at["minutes"]) == tuple(
            paper[word] for word in ("LOC1", "restaurants", "minutes")
        )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A configuration, its data and its weights; Figure 2's sentence is a long one of this data."""
    out = tmp_path_factory.mktemp("gates")
    uncalibrated = ("training.calibrate=temperature",)
    (config,) = request("figure2", out, "delayed-entnet", settings=uncalibrated).configs.values()
    prepared = prepare_with_test(config)
    return config, prepared, train(config, prepared, SEEDS).weights


def longest(prepared):
    row = int(prepared.test.lengths.argmax())
    return row, tuple(prepared.words[token] for token in prepared.test.tokens[row, : prepared.test.lengths[row]])


@pytest.fixture
def sentence(trained, monkeypatch):
    row, words = longest(trained[1])
    monkeypatch.setattr(module, "SENTENCE", words)
    return row


def test_measured_gates_are_the_models(trained, sentence):
    config, prepared, weights = trained
    found = measure(config, prepared, SEEDS, weights, "cpu")
    model = build_model(config, prepared, SEEDS)
    model.load_state_dict(weights)
    sums, words = {}, {}
    for row, length in enumerate(prepared.test.lengths):
        tokens = torch.from_numpy(prepared.test.tokens[row, :length]).long()
        with torch.no_grad():
            lengths = torch.full((len(SEEDS), 1), int(length))
            answer = model(tokens.expand(len(SEEDS), 1, -1), lengths, context=EVALUATION)
        gates = answer.gates[:, :, 0].mean(-1).numpy()  # (S, directions, T)
        if row == sentence:
            np.testing.assert_allclose(found["sentence"]["forward"], gates[:, 0].mean(0), atol=2e-5)
            np.testing.assert_allclose(found["sentence"]["mean"], gates.mean((0, 1)), atol=2e-5)
            probabilities = answer.logits[:, 0, 0].softmax(-1).mean(0).numpy()
            for aspect, expected in zip(prepared.aspects, probabilities, strict=True):
                opinion = found["opinions"][aspect]
                np.testing.assert_allclose(list(opinion["probabilities"].values()), expected, atol=2e-5)
                assert sum(opinion["votes"].values()) == len(SEEDS)
        mentions = [n for n, token in enumerate(tokens.tolist()) if token in prepared.targets]
        for place in range(length if mentions else 0):
            apart = min(abs(place - mention) for mention in mentions)
            sums[apart] = sums.get(apart, 0) + gates[:, :, place].mean()
            words[apart] = words.get(apart, 0) + 1
    assert found["gate_distance"]["words"] == [words.get(n, 0) for n in range(max(words) + 1)]
    for apart, mean in enumerate(found["gate_distance"]["mean"]):
        assert mean == pytest.approx(sums.get(apart, 0) / max(1, words.get(apart, 0)), abs=2e-5)
    far = [(sums[n], words[n]) for n in words if n >= module.FAR]
    assert found["far_over_near"]["far"] == pytest.approx(sum(s for s, _ in far) / sum(w for _, w in far), abs=2e-5)


def test_a_single_seed_has_no_spread(trained, sentence):
    config, prepared, weights = trained
    found = measure(config, prepared, (1,), {name: tensor[:1] for name, tensor in weights.items()}, "cpu")
    assert found["far_over_near"]["sd"] is None
    assert not any(found["sentence"]["sd"])


def test_data_without_the_sentence(trained):
    with pytest.raises(DataError, match="does not have the sentence of Figure 2"):
        sentence_row(trained[1])
    with pytest.raises(DataError, match="prepare it again"):
        measure(trained[0], replace(trained[1], words=()), SEEDS, trained[2], "cpu")


@pytest.mark.data
def test_sentihood_has_the_sentence(data_dir):
    from tabsa.datasets.loading import load
    from tabsa.encoding.arrays import readings
    from tabsa.encoding.target_words import passage_words

    found = readings(load("sentihood", "test", data_dir=data_dir), targets=2)
    texts = [tuple(passage_words(reading.passage)) for reading in found]
    assert texts.count(SENTENCE) == 1


def test_figure_2_takes_the_weights_of_table_1(trained, sentence, tmp_path, monkeypatch):
    _, words = longest(trained[1])
    monkeypatch.setattr("tabsa_repro.running.SENTENCE", words)
    paper = {name: [0.5] * len(words) for name in FIGURE2_GATES}
    monkeypatch.setattr("tabsa_repro.running.published", lambda: paper)
    run(request("table1", tmp_path, "entnet"))
    messages = []
    run(request("figure2", tmp_path), say=messages.append)
    assert messages == ["entnet: with the weights of table1's entnet", "delayed-entnet: training with 2 seeds on cpu"]
    content = json.loads((tmp_path / "figure2.json").read_text())
    assert content["words"] == ["LOC1", *words[1:]]
    assert [record["system"] for record in content["systems"]] == ["entnet", "delayed-entnet"]
    (entnet,) = json.loads((tmp_path / "table1.json").read_text())
    assert content["systems"][0]["mean"] == entnet["mean"]
    assert len(content["systems"][0]["gates"]["sentence"]["runs"]) == 2
    messages.clear()
    run(request("figure2", tmp_path), say=messages.append)
    assert messages == ["entnet: already there", "delayed-entnet: already there"]
    pytest.importorskip("matplotlib")
    pictures = write_pictures("figure2", content, tmp_path)
    assert [path.name for path in pictures] == [
        f"{name}.{kind}" for name in ("figure2", "gate_distance") for kind in ("png", "svg")
    ]
    assert pictures[0].read_bytes().startswith(b"\x89PNG")
    svg = pictures[1].read_text()
    assert "<svg" in svg
    assert len(svg) > 10_000
