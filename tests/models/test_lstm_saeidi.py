"""LSTM-Final and LSTM-Loc."""

import numpy as np
import pytest
import torch

import lstm_factory as small
import slow_lstm
from tabsa.models.lstm.lstm_networks import LSTMConfig, LSTMFinal, LSTMLoc
from tabsa.nn.context import EVALUATION

UNITS = 4
BOTH = pytest.mark.parametrize("system", [LSTMFinal, LSTMLoc])


def make(system, seeds=(3, 4), targets=(1, 2), **options):
    return system(LSTMConfig(units=UNITS, **options), small.vocabulary(targets), seeds)


def slow_logits(model, seed, sentence, target):
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
        summary = np.concatenate([states[-1, :UNITS], states[0, UNITS:]])
    output, bias = model.output[seed].detach().numpy(), model.output_bias[seed].detach().numpy()
    return np.array([summary @ output[aspect] + bias[aspect] for aspect in range(small.ASPECTS)])


@BOTH
@pytest.mark.parametrize("targets", [(1, 2), (1,), (1, 2, 3)])
def test_answers_are_those_of_the_equations(system, targets):
    model = small.moved(make(system, targets=targets))
    tokens, lengths = small.batch()
    logits = model(tokens, lengths, context=EVALUATION).logits
    assert logits.shape == (2, 5, len(targets), small.ASPECTS, small.LABELS)
    for seed, sentence, target in np.ndindex(2, 5, len(targets)):
        words = tokens[seed, sentence, : lengths[seed, sentence]].tolist()
        expected = slow_logits(model, seed, words, target)
        np.testing.assert_allclose(logits[seed, sentence, target].detach(), expected, atol=1e-10)


@BOTH
def test_padding_order_and_size_of_a_batch_change_nothing(system):
    small.check_padding_order_and_size(small.moved(make(system, layers=2)), *small.batch())


@BOTH
def test_a_seed_goes_the_same_way_alone_and_in_a_group(system):
    small.check_seeds_are_apart(lambda seeds: make(system, seeds, layers=2), *small.batch(seeds=3))


@BOTH
def test_a_batch_of_no_words(system):
    small.check_no_words(make(system).double())


@BOTH
def test_swapping_the_targets_swaps_the_answers(system):
    model = small.moved(make(system))
    tokens, lengths = small.batch()
    swapped = tokens.clone()
    swapped[tokens == 1], swapped[tokens == 2] = 2, 1
    torch.testing.assert_close(
        model(swapped, lengths, context=EVALUATION).logits,
        model(tokens, lengths, context=EVALUATION).logits.flip(2),
        atol=1e-12,
        rtol=0,
    )


@BOTH
def test_targets_of_one_sentence_get_answers_of_their_own(system):
    model = small.moved(make(system))
    tokens, lengths = small.batch()
    answer = model(tokens, lengths, context=EVALUATION).logits
    assert not torch.allclose(answer[:, 2, 0], answer[:, 2, 1])  # the sentence that begins with both


def test_the_marks_start_as_the_targets_tokens():
    model = make(LSTMFinal)
    torch.testing.assert_close(model.marks[0].double(), model.target_vectors, atol=1e-6, rtol=0)
    assert make(LSTMFinal, targets=(1,)).marks.shape == (2, 1, small.SIZE)
