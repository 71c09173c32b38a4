import itertools

import numpy as np
import pytest
import torch

import slow_memory
from entnet_factory import SIZE, VARIANTS, batch, make, vocabulary
from memory_factory import paper_letters
from tabsa.errors import ConfigError
from tabsa.models.entnet.entnet_network import DelayedEntNet, EntNet, EntNetConfig
from tabsa.nn.context import EVALUATION, Context
from tabsa.nn.scan import scan


def slow_neighbours(sentence, targets, mine):
    """For each word, whether the mention it stands after, and the one it stands before, is `mine`."""

    def whose(words):
        seen, result = 0, []
        for word in words:
            if word in targets:
                seen = 1 if word == targets[mine] else -1
            result.append(seen)
        return result

    return whose(list(sentence)), whose(list(sentence)[::-1])[::-1]


def slow_forward(model, seed, sentence, target, aspect):
    """The paper's model for one question about one sentence: probabilities and gates (directions, T, n)."""
    config, table = model.config, model.words.numpy()
    weights, ways = model.weights(), model.memory.shape[1]
    keys = [table[t] for t in model.targets] if config.keys != "free" else []
    keys += list(model.free_keys[seed].detach().numpy())
    words = table[sentence]
    memory, gates = [np.zeros(SIZE) for _ in keys], []
    for way in range(ways):
        backward = way == 1
        letters = paper_letters(weights, seed * ways + way)
        of_way = []
        for j, key in enumerate(keys):
            nearby = None
            if config.mention_term and j < len(model.targets):
                after, before = slow_neighbours(sentence, model.targets, j)
                b = model.mention[seed, way].detach().numpy()
                nearby = [b[0] * after[i] + b[1] * before[i] for i in range(len(sentence))]
                nearby = nearby[::-1] if backward else nearby
            h, g = slow_memory.read(
                words[::-1] if backward else words,
                key,
                letters,
                delay=isinstance(model, DelayedEntNet),
                normalise=config.normalise,
                nearby=nearby,
            )
            memory[j] = memory[j] + h
            of_way.append(g[::-1] if backward else g)
        gates.append(np.array(of_way).T)
    t, a = table[model.targets[target]], model.aspect_vectors[aspect].numpy()
    question = np.concatenate([t, a]) if config.attention == "target-aspect" else t
    attend = model.attend[seed].detach().numpy()
    scores = config.attention_scale * np.array([key @ (attend.T @ question) for key in keys])
    p = np.exp(scores) / np.exp(scores).sum()
    u = sum(p_j * h_j for p_j, h_j in zip(p, memory, strict=True))
    hidden = model.hidden[seed].detach().numpy().T @ u + a
    slope = model.slope[seed, -1].detach().numpy()
    hidden = np.where(hidden > 0, hidden, slope * hidden)
    logits = model.output[seed].detach().numpy().T @ hidden
    return np.exp(logits) / np.exp(logits).sum(), np.array(gates), p


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_answers_and_gates_are_the_papers(variant):
    model = make(**variant)
    tokens, lengths = batch()
    answer = model(tokens, lengths, context=EVALUATION)
    probabilities = answer.logits.softmax(-1).detach().numpy()
    for seed, sentence in itertools.product(range(2), range(4)):
        length = int(lengths[seed, sentence])
        for target, aspect in itertools.product(range(2), range(3)):
            expected, gates, attention = slow_forward(
                model, seed, tokens[seed, sentence, :length].numpy(), target, aspect
            )
            np.testing.assert_allclose(probabilities[seed, sentence, target, aspect], expected, atol=1e-9)
            np.testing.assert_allclose(answer.attention[seed, target, aspect].detach(), attention, atol=1e-9)
            np.testing.assert_allclose(answer.gates[seed, :, sentence, :length].detach(), gates, atol=1e-9)


@pytest.mark.parametrize("delay", [True, False])
def test_a_seed_starts_the_same_alone_and_in_a_group(delay):
    model_class = DelayedEntNet if delay else EntNet
    group = dict(model_class(EntNetConfig(), vocabulary(), (1, 2, 3)).named_parameters())
    alone = dict(model_class(EntNetConfig(), vocabulary(), (2,)).named_parameters())
    for name, parameter in alone.items():
        assert group[name].shape[0] == 3
        assert torch.equal(group[name][1], parameter[0])
    assert not torch.equal(group["memory"][0], group["memory"][1])


def test_padding_order_and_size_of_a_batch_change_nothing():
    model = make()
    tokens, lengths = batch()
    whole = model(tokens, lengths, context=EVALUATION).logits
    padded = torch.cat([tokens, torch.zeros(2, 4, 5, dtype=torch.long)], dim=2)
    torch.testing.assert_close(model(padded, lengths, context=EVALUATION).logits, whole, atol=1e-12, rtol=0)
    order = [2, 0, 3, 1]
    torch.testing.assert_close(
        model(tokens[:, order], lengths[:, order], context=EVALUATION).logits, whole[:, order], atol=1e-12, rtol=0
    )
    torch.testing.assert_close(
        model(tokens[:, 1:2], lengths[:, 1:2], context=EVALUATION).logits, whole[:, 1:2], atol=1e-12, rtol=0
    )


def test_dropout_keeps_one_input_mask_for_all_words_and_is_off_outside_training(monkeypatch):
    model = make(input_dropout=0.5, output_dropout=0.5)
    tokens, lengths = batch()
    assert torch.equal(
        model(tokens, lengths, context=EVALUATION).logits, model(tokens, lengths, context=EVALUATION).logits
    )
    seen = []

    def spy(cell, weights, words, *rest, **options):
        seen.append(words)
        return scan(cell, weights, words, *rest, **options)

    monkeypatch.setattr("tabsa.models.entnet.entnet_network.scan", spy)
    model.words.fill_(1.0)
    generators = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
    model(tokens, lengths, context=Context(training=True, generators=generators))
    words = seen[0].padded()
    assert set(words.unique().tolist()) == {0.0, 2.0}
    assert (words == words[:, :, :1]).all()


@pytest.mark.parametrize(("keys", "chains"), [("tied", 6), ("hybrid", 1), ("tied", 1)])
def test_chains_that_cannot_hold_the_keys_are_refused(keys, chains):
    with pytest.raises(ConfigError, match=r"'model\.chains'"):
        EntNet(EntNetConfig(keys=keys, chains=chains), vocabulary(), (1,))


def test_penalty_is_on_the_last_layer():
    for form in ("norm", "squared"):
        model = make(l2=0.5, l2_form=form)
        norm = np.array([np.linalg.norm(r) for r in model.output.detach().numpy()])
        expected = 0.5 * norm if form == "norm" else 0.5 * 0.5 * norm**2
        np.testing.assert_allclose(model.penalty().detach(), expected)
