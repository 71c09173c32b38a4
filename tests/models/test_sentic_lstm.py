import numpy as np
import pytest
import torch

import lstm_factory as small
import slow_lstm
from slow_attentive import marked, slow_logits
from tabsa.models.lstm.lstm_networks import SenticLSTM, SenticLSTMConfig
from tabsa.models.registry import SYSTEMS
from tabsa.nn.context import EVALUATION

CONCEPT = 4


def make(seeds=(3, 4), targets=(1, 2), **options):
    config = SenticLSTMConfig(units=4, attention=5, **options)
    return SenticLSTM(config, small.vocabulary(targets, concepts=CONCEPT), seeds)


def test_answers_are_those_of_the_equations():
    model = small.moved(make())
    tokens, lengths, concepts = small.batch(concepts=True)
    logits = model(tokens, lengths, concepts, context=EVALUATION).logits
    for seed, sentence in np.ndindex(2, 5):
        letters = [slow_lstm.sentic_letters(model.reader, seed, way) for way in (0, 1)]
        length = lengths[seed, sentence]
        words = tokens[seed, sentence, :length].tolist()
        known = model.concept_vectors[concepts[seed, sentence, :length]].numpy()
        states = slow_lstm.both_ways(
            lambda way, x, mu: slow_lstm.sentic(x, mu, letters[way]),  # noqa: B023
            marked(model, seed, words),
            known,
        )
        for target in range(2):
            expected = slow_logits(model, seed, words, target, states)
            np.testing.assert_allclose(logits[seed, sentence, target].detach(), expected, atol=1e-10)


def test_no_concepts_given_is_no_concept_anywhere():
    model = small.moved(make())
    tokens, lengths, concepts = small.batch(concepts=True)
    without = model(tokens, lengths, context=EVALUATION).logits
    torch.testing.assert_close(
        without, model(tokens, lengths, torch.zeros_like(concepts), context=EVALUATION).logits, atol=0, rtol=0
    )
    assert not torch.allclose(without, model(tokens, lengths, concepts, context=EVALUATION).logits)


def test_padding_order_and_size_of_a_batch_change_nothing():
    small.check_padding_order_and_size(small.moved(make()), *small.batch(concepts=True))


def test_a_seed_goes_the_same_way_alone_and_in_a_group():
    small.check_seeds_are_apart(make, *small.batch(seeds=3, concepts=True))


def test_a_batch_of_no_words():
    small.check_no_words(make().double(), "concepts")


def test_a_vocabulary_without_concepts_is_refused():
    with pytest.raises(ValueError, match="needs a vocabulary with concepts"):
        SenticLSTM(SenticLSTMConfig(), small.vocabulary(), (1,))


def test_it_says_that_it_reads_concepts():
    assert SYSTEMS["sentic-lstm"].concepts
