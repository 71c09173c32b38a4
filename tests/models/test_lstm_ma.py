"""LSTM+TA+SA; what it shares with SenticLSTM is tested on both."""

import numpy as np
import pytest
import torch

import lstm_factory as small
import slow_lstm
from slow_attentive import marked, slow_logits
from tabsa.models.lstm.lstm_networks import LSTMTASA, LSTMTASAConfig
from tabsa.nn.context import EVALUATION

UNITS, ATTENTION = 4, 5


def make(seeds=(3, 4), targets=(1, 2), **options):
    return LSTMTASA(LSTMTASAConfig(units=UNITS, attention=ATTENTION, **options), small.vocabulary(targets), seeds)


@pytest.mark.parametrize("targets", [(1, 2), (1,), (1, 2, 3)])
def test_answers_are_those_of_the_equations(targets):
    model = small.moved(make(targets=targets))
    tokens, lengths = small.batch()
    logits = model(tokens, lengths, context=EVALUATION).logits
    assert logits.shape == (2, 5, len(targets), small.ASPECTS, small.LABELS)
    for seed, sentence in np.ndindex(2, 5):
        letters = [slow_lstm.lstm_letters(model.reader, seed, way) for way in (0, 1)]
        words = tokens[seed, sentence, : lengths[seed, sentence]].tolist()
        states = slow_lstm.both_ways(lambda way, x: slow_lstm.lstm(x, letters[way]), marked(model, seed, words))  # noqa: B023
        for target in range(len(targets)):
            expected = slow_logits(model, seed, words, target, states)
            np.testing.assert_allclose(logits[seed, sentence, target].detach(), expected, atol=1e-10)


def test_padding_order_and_size_of_a_batch_change_nothing():
    small.check_padding_order_and_size(small.moved(make(layers=2)), *small.batch())


def test_a_seed_goes_the_same_way_alone_and_in_a_group():
    small.check_seeds_are_apart(lambda seeds: make(seeds, layers=2), *small.batch(seeds=3))


def test_a_batch_of_no_words():
    small.check_no_words(make().double())


def test_swapping_the_targets_swaps_the_answers():
    model = small.moved(make())
    tokens, lengths = small.batch()
    swapped = tokens.clone()
    swapped[tokens == 1], swapped[tokens == 2] = 2, 1
    torch.testing.assert_close(
        model(swapped, lengths, context=EVALUATION).logits,
        model(tokens, lengths, context=EVALUATION).logits.flip(2),
        atol=1e-12,
        rtol=0,
    )
