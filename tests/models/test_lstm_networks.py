"""LSTM-Final, LSTM-Loc, LSTM+TA+SA and SenticLSTM against slow computations of one sentence."""

import numpy as np
import pytest
import torch

import lstm_factory as small
import slow_lstm
from slow_attentive import marked, slow_logits
from tabsa.models.lstm.lstm_config import SenticLSTMConfig
from tabsa.models.lstm.lstm_networks import LSTMFinal, LSTMLoc, SenticLSTM
from tabsa.nn.context import EVALUATION

EVERY = pytest.mark.parametrize("system", small.SYSTEMS)


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


@EVERY
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


@EVERY
def test_a_seed_goes_the_same_way_alone_and_in_a_group(system):
    """It starts, reads with dropout and learns the same."""
    tokens, lengths, *concepts = small.batch(system, seeds=3)
    group, alone = small.make(system, (1, 2, 3)).double(), small.make(system, (2,)).double()
    longest = int(lengths[1].max())
    of_group = group(tokens, lengths, *concepts, context=small.in_training(1, 2, 3)).logits
    cut = [x[1:2, :, :longest] for x in (tokens, *concepts)]
    of_alone = alone(cut[0], lengths[1:2], *cut[1:], context=small.in_training(2)).logits
    torch.testing.assert_close(of_group[1], of_alone[0], atol=1e-12, rtol=0)
    of_group.square().sum().backward()
    of_alone.square().sum().backward()
    for (name, in_group), by_itself in zip(group.named_parameters(), alone.parameters(), strict=True):
        assert torch.equal(in_group[1], by_itself[0]), name
        torch.testing.assert_close(in_group.grad[1], by_itself.grad[0], atol=1e-12, rtol=0)
        assert in_group.grad[1].any(), name
    twice = [alone(cut[0], lengths[1:2], *cut[1:], context=EVALUATION).logits for _ in range(2)]
    assert torch.equal(*twice)


@EVERY
def test_a_batch_of_empty_sentences_gives_finite_answers_and_gradients(system):
    model = small.make(system).double()
    for length in (0, 3):
        tokens = torch.zeros(2, 2, length, dtype=torch.long)
        concepts = [tokens] if system is SenticLSTM else []
        logits = model(tokens, torch.zeros(2, 2, dtype=torch.long), *concepts, context=EVALUATION).logits
        assert logits.shape == (2, 2, 2, small.ASPECTS, small.LABELS)
        assert logits.isfinite().all()
        logits.sum().backward()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@EVERY
def test_swapping_the_targets_swaps_the_answers(system):
    model, (tokens, lengths, *concepts) = small.moved(small.make(system)), small.batch(system)
    swapped = tokens.clone()
    swapped[tokens == 1], swapped[tokens == 2] = 2, 1
    found, expected = (model(x, lengths, *concepts, context=EVALUATION).logits for x in (swapped, tokens))
    torch.testing.assert_close(found, expected.flip(2), atol=1e-12, rtol=0)
    assert not torch.allclose(expected[:, 2, 0], expected[:, 2, 1])  # the sentence that begins with both


def test_the_marks_start_as_the_targets_tokens():
    model = small.make(LSTMFinal)
    torch.testing.assert_close(model.marks[0].double(), model.target_vectors, atol=1e-6, rtol=0)
    assert small.make(LSTMFinal, targets=(1,)).marks.shape == (2, 1, small.SIZE)


def test_no_concepts_given_is_no_concept_anywhere():
    model, (tokens, lengths, concepts) = small.moved(small.make(SenticLSTM)), small.batch(SenticLSTM)
    without = model(tokens, lengths, context=EVALUATION).logits
    assert torch.equal(without, model(tokens, lengths, torch.zeros_like(concepts), context=EVALUATION).logits)
    assert not torch.allclose(without, model(tokens, lengths, concepts, context=EVALUATION).logits)
    with pytest.raises(ValueError, match="needs a vocabulary with concepts"):
        SenticLSTM(SenticLSTMConfig(), small.vocabulary(), (1,))
