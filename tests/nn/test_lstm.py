import numpy as np
import pytest
import torch

import slow_lstm
from tabsa.nn.context import EVALUATION, Context
from tabsa.nn.lstm import BiLSTM, dropout_alike

SIZE, UNITS = 5, 4


def make(seeds=(1, 2), layers=1, **options):
    starts = [torch.Generator().manual_seed(seed) for seed in seeds]
    layer = BiLSTM(starts, SIZE, UNITS, layers=layers, **options).double()
    with torch.no_grad():
        for bias in layer.bias:  # away from the constants it starts at
            bias += torch.linspace(-0.5, 0.5, bias[0].numel(), dtype=torch.float64).view_as(bias[0])
    return layer


def in_training(*seeds):
    return Context(training=True, generators=[torch.Generator().manual_seed(seed) for seed in seeds])


def batch(seeds=2, size=4, length=6):
    generator = torch.Generator().manual_seed(7)
    words = torch.randn(seeds, size, length, SIZE, generator=generator, dtype=torch.float64)
    return words, torch.randint(1, length + 1, (seeds, size), generator=generator)


@pytest.mark.parametrize("layers", [1, 2])
def test_states_are_those_of_the_equations(layers):
    layer = make(layers=layers)
    words, lengths = batch()
    read = layer(words, lengths, EVALUATION)
    for seed in range(2):
        for sentence in range(4):
            length = int(lengths[seed, sentence])
            states = words[seed, sentence, :length].numpy()
            for depth in range(layers):
                letters = [slow_lstm.lstm_letters(layer, seed, way, depth) for way in (0, 1)]
                states = slow_lstm.both_ways(lambda way, x: slow_lstm.lstm(x, letters[way]), states)  # noqa: B023
            np.testing.assert_allclose(read.states[seed, sentence, :length].detach(), states, atol=1e-12)
            last = np.concatenate([states[-1, :UNITS], states[0, UNITS:]])
            np.testing.assert_allclose(read.last[seed, sentence].detach(), last, atol=1e-12)
            assert not read.states[seed, sentence, length:].any()


def test_padding_order_and_size_of_a_batch_change_nothing():
    layer = make(layers=2)
    words, lengths = batch()
    whole = layer(words, lengths, EVALUATION)
    padded = layer(
        torch.cat([words, torch.full((2, 4, 3, SIZE), 9.0, dtype=torch.float64)], dim=2), lengths, EVALUATION
    )
    torch.testing.assert_close(padded.states[:, :, :6], whole.states, atol=1e-12, rtol=0)
    torch.testing.assert_close(padded.last, whole.last, atol=1e-12, rtol=0)
    order = [2, 0, 3, 1]
    shuffled = layer(words[:, order], lengths[:, order], EVALUATION)
    torch.testing.assert_close(shuffled.states, whole.states[:, order], atol=1e-12, rtol=0)
    torch.testing.assert_close(shuffled.last, whole.last[:, order], atol=1e-12, rtol=0)
    alone = layer(words[:, 1:2], lengths[:, 1:2], EVALUATION)
    torch.testing.assert_close(alone.last, whole.last[:, 1:2], atol=1e-12, rtol=0)


def test_a_seed_reads_and_learns_the_same_bits_alone_and_in_a_group():
    words, lengths = batch(seeds=3)
    group, alone = make((1, 2, 3), layers=2, rate=0.5).float(), make((2,), layers=2, rate=0.5).float()
    of_group, of_alone = (
        layer(x, ends, in_training(*(10 + seed for seed in seeds)))
        for layer, x, ends, seeds in (
            (group, words.float(), lengths, (1, 2, 3)),
            (alone, words[1:2, :, : lengths[1].max()].float(), lengths[1:2], (2,)),
        )
    )
    assert torch.equal(of_group.last[1], of_alone.last[0])
    assert torch.equal(of_group.states[1, :, : lengths[1].max()], of_alone.states[0])
    of_group.last.square().sum().backward()
    of_alone.last.square().sum().backward()
    for in_group, by_itself in zip(group.parameters(), alone.parameters(), strict=True):
        assert torch.equal(in_group.grad[1], by_itself.grad[0])


def test_gradients_against_finite_differences():
    layer = make()
    words, lengths = batch(size=2, length=3)
    words.requires_grad_()
    parameters = list(layer.parameters())
    assert torch.autograd.gradcheck(lambda *_: tuple(layer(words, lengths, EVALUATION)), [words, *parameters])


@pytest.mark.parametrize("length", [0, 3])
def test_a_sentence_of_no_words_has_states_of_zero(length):
    layer = make()
    words, _ = batch(length=length) if length else (torch.zeros(2, 4, 0, SIZE, dtype=torch.float64), None)
    lengths = torch.full((2, 4), length)
    lengths[:, 1] = 0
    read = layer(words, lengths, EVALUATION)
    assert read.states.shape == (2, 4, length, 2 * UNITS)
    assert not read.states[:, 1].any()
    assert not read.last[:, 1].any()
    assert read.last[:, 0].any() == bool(length)


def test_the_forget_gate_starts_at_its_bias():
    layer = BiLSTM([torch.Generator()], SIZE, UNITS, forget_bias=1.5)
    assert layer.bias[0][0, :, 1].eq(1.5).all()
    assert layer.bias[0].sum() == 1.5 * 2 * UNITS


def test_dropout_alike_has_one_mask_for_all_words():
    x = torch.ones(2, 3, 5, 400)
    assert dropout_alike(x, 0.5, EVALUATION) is x
    dropped = dropout_alike(x, 0.25, in_training(1, 2))
    assert (dropped == dropped[:, :, :1]).all()
    assert not (dropped == dropped[:, :1]).all()
    assert dropped.mean().item() == pytest.approx(1, abs=0.05)
    longer = dropout_alike(torch.ones(1, 3, 9, 400), 0.25, in_training(2))
    assert torch.equal(longer[0, :, 0], dropped[1, :, 0])
