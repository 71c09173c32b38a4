"""EntNet, Delayed EntNet and the LSTM baselines against slow computations of one sentence."""

import itertools

import numpy as np
import pytest
import torch

import network_factory as small
import slow_lstm
import slow_memory
from memory_factory import paper_letters
from slow_attentive import marked, slow_logits
from tabsa.errors import ConfigError
from tabsa.models.entnet.entnet_network import DelayedEntNet, EntNet, EntNetConfig
from tabsa.models.lstm.lstm_networks import LSTMFinal, LSTMLoc, SenticLSTM
from tabsa.nn.context import EVALUATION
from tabsa.nn.scan import scan

EVERY = pytest.mark.parametrize("system", small.SYSTEMS)
LSTMS = pytest.mark.parametrize("system", small.LSTMS)


def once_a_target(model, seed, sentence, target):
    """What one reading of one sentence, for one target, says of each aspect."""
    own, other = model.marks[seed, 0].detach().numpy(), model.marks[seed, -1].detach().numpy()
    words = []
    for token in sentence:
        if token == model.targets[target]:
            words.append(own)
        else:
            words.append(other if token in model.targets else model.words[token].numpy())
    letters = [slow_lstm.lstm_letters(model.reader, seed, way) for way in (0, 1)]
    states = slow_lstm.both_ways(lambda way, x: slow_lstm.lstm(x, letters[way]), np.array(words))
    if isinstance(model, LSTMLoc):
        places = [t for t, token in enumerate(sentence) if token == model.targets[target]]
        summary = states[places or range(len(sentence))].mean(0)
    else:
        units = states.shape[1] // 2
        summary = np.concatenate([states[-1, :units], states[0, units:]])
    output, bias = model.output[seed].detach().numpy(), model.output_bias[seed].detach().numpy()
    return np.array([summary @ output[aspect] + bias[aspect] for aspect in range(small.ASPECTS)])


def slow_answer(model, seed, sentence, target, *concepts):
    """What a sentence says of one target and each aspect."""
    if isinstance(model, LSTMFinal):
        return once_a_target(model, seed, sentence, target)
    sentic = isinstance(model, SenticLSTM)
    letters_of = slow_lstm.sentic_letters if sentic else slow_lstm.lstm_letters
    letters = [letters_of(model.reader, seed, way) for way in (0, 1)]
    known = [model.concept_vectors[rows].numpy() for rows in concepts]
    slow = slow_lstm.sentic if sentic else slow_lstm.lstm
    states = slow_lstm.both_ways(lambda way, *x: slow(*x, letters[way]), marked(model, seed, sentence), *known)
    return slow_logits(model, seed, sentence, target, states)


@LSTMS
@pytest.mark.parametrize("targets", [(1, 2), (1,), (1, 2, 3)])
def test_answers_are_those_of_the_equations(system, targets):
    model = small.moved(small.make(system, targets=targets))
    tokens, lengths, *concepts = small.batch(system)
    logits = model(tokens, lengths, *concepts, context=EVALUATION).logits
    assert logits.shape == (2, 5, len(targets), small.ASPECTS, small.LABELS)
    for seed, sentence, target in np.ndindex(2, 5, len(targets)):
        length = lengths[seed, sentence]
        words, known = tokens[seed, sentence, :length].tolist(), [rows[seed, sentence, :length] for rows in concepts]
        expected = slow_answer(model, seed, words, target, *known)
        np.testing.assert_allclose(logits[seed, sentence, target].detach(), expected, atol=1e-10)


@EVERY
def test_padding_order_and_size_of_a_batch_change_nothing(system):
    model, (tokens, lengths, *concepts) = small.moved(small.make(system)), small.batch(system)
    whole = model(tokens, lengths, *concepts, context=EVALUATION).logits
    nothing = torch.zeros(*tokens.shape[:2], 5, dtype=torch.long)
    longer = [torch.cat([x, nothing], 2) for x in (tokens, *concepts)]
    padded = model(longer[0], lengths, *longer[1:], context=EVALUATION)
    torch.testing.assert_close(padded.logits, whole, atol=1e-12, rtol=0)
    for chosen in ([2, 0, 4, 3, 1], [1]):
        some = model(*(x[:, chosen] for x in (tokens, lengths, *concepts)), context=EVALUATION)
        torch.testing.assert_close(some.logits, whole[:, chosen], atol=1e-12, rtol=0)


def test_the_marks_start_as_the_targets_tokens():
    model = small.make(LSTMFinal)
    torch.testing.assert_close(model.marks[0].double(), model.target_vectors, atol=1e-6, rtol=0)
    assert small.make(LSTMFinal, targets=(1,)).marks.shape == (2, 1, small.SIZE)


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
    memory, gates = [np.zeros(small.SIZE) for _ in keys], []
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
            options = {"delay": isinstance(model, DelayedEntNet), "normalise": config.normalise, "nearby": nearby}
            h, g = slow_memory.read(words[::-1] if backward else words, key, letters, **options)
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


@pytest.mark.parametrize("variant", small.VARIANTS, ids=str)
def test_answers_and_gates_are_the_papers(variant):
    model, (tokens, lengths) = small.moved(small.make(**variant)), small.batch()
    answer = model(tokens, lengths, context=EVALUATION)
    probabilities = answer.logits.softmax(-1).detach().numpy()
    for seed, sentence in itertools.product(range(2), range(5)):
        length = int(lengths[seed, sentence])
        for target, aspect in itertools.product(range(2), range(3)):
            expected, gates, attention = slow_forward(
                model, seed, tokens[seed, sentence, :length].numpy(), target, aspect
            )
            np.testing.assert_allclose(probabilities[seed, sentence, target, aspect], expected, atol=1e-9)
            np.testing.assert_allclose(answer.attention[seed, target, aspect].detach(), attention, atol=1e-9)
            np.testing.assert_allclose(answer.gates[seed, :, sentence, :length].detach(), gates, atol=1e-9)


def test_dropout_keeps_one_input_mask_for_all_words(monkeypatch):
    model, (tokens, lengths) = small.make(input_dropout=0.5, output_dropout=0.5).double(), small.batch()
    seen = []

    def spy(cell, weights, words, *rest, **options):
        seen.append(words)
        return scan(cell, weights, words, *rest, **options)

    monkeypatch.setattr("tabsa.models.entnet.entnet_network.scan", spy)
    model.words.fill_(1.0)
    model(tokens, lengths, context=small.in_training(1, 2))
    (words,) = seen
    assert set(words.unique().tolist()) == {0.0, 2.0}
    assert (words == words[:, :, :1]).all()


@pytest.mark.parametrize(("keys", "chains"), [("tied", 6), ("hybrid", 1), ("tied", 1)])
def test_chains_that_cannot_hold_the_keys_are_refused(keys, chains):
    with pytest.raises(ConfigError, match=r"'model\.chains'"):
        EntNet(EntNetConfig(keys=keys, chains=chains), small.vocabulary(), (1,))


def test_penalty_is_on_the_last_layer():
    for form in ("norm", "squared"):
        model = small.moved(small.make(l2=0.5, l2_form=form))
        norm = np.array([np.linalg.norm(r) for r in model.output.detach().numpy()])
        expected = 0.5 * norm if form == "norm" else 0.5 * 0.5 * norm**2
        np.testing.assert_allclose(model.penalty().detach(), expected)
