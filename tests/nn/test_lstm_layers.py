"""The plain and the sentic LSTM against loops over their equations, and their gradients against finite differences."""

import numpy as np
import pytest
import torch

import slow_lstm
from tabsa.nn.context import EVALUATION, Context
from tabsa.nn.lstm import BiLSTM, SenticBiLSTM, dropout_alike, sentic_scan

SIZE, CONCEPT, UNITS = 5, 3, 4
BOTH = pytest.mark.parametrize("sentic", [False, True], ids=["plain", "sentic"])


def make(sentic, seeds=(1, 2)):
    starts = [torch.Generator().manual_seed(seed) for seed in seeds]
    layer = (SenticBiLSTM(starts, SIZE, CONCEPT, UNITS) if sentic else BiLSTM(starts, SIZE, UNITS)).double()
    with torch.no_grad():  # away from the constant it starts at
        layer.bias += torch.linspace(-0.5, 0.5, layer.bias[0].numel(), dtype=torch.float64).view_as(layer.bias[0])
    return layer


def batch(sentic, seeds=2, size=4, length=6):
    """Words, with concepts for the sentic layer, some of which are none; and lengths."""
    generator = torch.Generator().manual_seed(7)
    words = torch.randn(seeds, size, length, SIZE, generator=generator, dtype=torch.float64)
    concepts = torch.randn(seeds, size, length, CONCEPT, generator=generator, dtype=torch.float64)
    concepts[torch.rand(seeds, size, length, generator=generator) < 0.5] = 0
    lengths = torch.randint(1, length + 1, (seeds, size), generator=generator)
    return [words, *([concepts] if sentic else [])], lengths


def states_of(layer, inputs, lengths):
    read = layer(*inputs, lengths)
    return read if isinstance(read, torch.Tensor) else read.states


@BOTH
def test_states_are_those_of_the_equations(sentic):
    layer, (inputs, lengths) = make(sentic), batch(sentic)
    states = states_of(layer, inputs, lengths)
    letters_of = slow_lstm.sentic_letters if sentic else slow_lstm.lstm_letters
    slow = slow_lstm.sentic if sentic else slow_lstm.lstm
    for seed, sentence in np.ndindex(2, 4):
        letters = [letters_of(layer, seed, way) for way in (0, 1)]
        length = int(lengths[seed, sentence])
        sequences = [x[seed, sentence, :length].numpy() for x in inputs]
        expected = slow_lstm.both_ways(lambda way, *x: slow(*x, letters[way]), *sequences)  # noqa: B023
        np.testing.assert_allclose(states[seed, sentence, :length].detach(), expected, atol=1e-12)
        assert not states[seed, sentence, length:].any()
        if not sentic:
            last = np.concatenate([expected[-1, :UNITS], expected[0, UNITS:]])
            np.testing.assert_allclose(layer(*inputs, lengths).last[seed, sentence].detach(), last, atol=1e-12)


def test_without_concepts_the_sentic_one_is_an_lstm():
    layer, ((words, concepts), lengths) = make(sentic=True), batch(sentic=True)
    states = layer(words, torch.zeros_like(concepts), lengths)
    letters = [slow_lstm.sentic_letters(layer, 0, way) for way in (0, 1)]
    length = int(lengths[0, 0])
    expected = slow_lstm.both_ways(lambda way, x: slow_lstm.lstm(x, letters[way]), words[0, 0, :length].numpy())
    np.testing.assert_allclose(states[0, 0, :length].detach(), expected, atol=1e-12)


@BOTH
def test_padding_order_and_size_of_a_batch_change_nothing(sentic):
    layer, (inputs, lengths) = make(sentic), batch(sentic)
    whole = states_of(layer, inputs, lengths)
    more = [torch.cat([x, torch.full((2, 4, 3, x.shape[3]), 9.0).double()], dim=2) for x in inputs]
    padded = states_of(layer, more, lengths)
    torch.testing.assert_close(padded[:, :, :6], whole, atol=1e-12, rtol=0)
    for chosen in ([2, 0, 3, 1], [1]):
        some = states_of(layer, [x[:, chosen] for x in inputs], lengths[:, chosen])
        torch.testing.assert_close(some, whole[:, chosen], atol=1e-12, rtol=0)


@BOTH
def test_a_seed_reads_and_learns_the_same_alone_and_in_a_group(sentic):
    inputs, lengths = batch(sentic, seeds=3)
    group, alone, longest = make(sentic, (1, 2, 3)), make(sentic, (2,)), int(lengths[1].max())
    of_group = states_of(group, inputs, lengths)
    of_alone = states_of(alone, [x[1:2, :, :longest] for x in inputs], lengths[1:2])
    torch.testing.assert_close(of_group[1, :, :longest], of_alone[0], atol=1e-12, rtol=0)
    of_group.square().sum().backward()
    of_alone.square().sum().backward()
    for in_group, by_itself in zip(group.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(in_group.grad[1], by_itself.grad[0], atol=1e-12, rtol=0)


@BOTH
def test_gradients_against_finite_differences(sentic):
    layer, (inputs, lengths) = make(sentic), batch(sentic, size=2, length=3)
    for x in inputs:
        x.requires_grad_()

    def read(*_):
        found = layer(*inputs, lengths)
        return found if sentic else tuple(found)

    assert torch.autograd.gradcheck(read, [*inputs, *layer.parameters()])


@pytest.mark.parametrize("lengths", [((4, 2, 1), (1, 3, 2)), ((0, 4, 0), (0, 1, 4)), ((0, 0, 0), (0, 0, 0))], ids=str)
def test_gradients_of_the_sentic_scan_against_finite_differences(lengths):
    generator = torch.Generator().manual_seed(3)
    shapes = [(2, 4, 3, 10), (2, 4, 3, 2), (2, 2, 10)]
    inputs = [torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    assert torch.autograd.gradcheck(lambda *tensors: sentic_scan(*tensors, torch.tensor(lengths)), inputs)


@BOTH
@pytest.mark.parametrize("length", [0, 3])
def test_a_sentence_of_no_words_has_states_of_zero(sentic, length):
    inputs, _ = batch(sentic, length=3)
    lengths = torch.full((2, 4), length)
    lengths[:, 1] = 0
    states = states_of(make(sentic), [x[:, :, :length] for x in inputs], lengths)
    assert states.shape == (2, 4, length, 2 * UNITS)
    assert not states[:, 1].any()


def test_the_forget_gate_starts_at_its_bias():
    plain, sentic = BiLSTM([torch.Generator()], SIZE, UNITS, forget_bias=1.5), make(sentic=True)
    assert plain.bias[0, :, 1].eq(1.5).all()
    assert plain.bias.sum() == 1.5 * 2 * UNITS
    assert SenticBiLSTM([torch.Generator()], SIZE, CONCEPT, UNITS).bias.sum() == -2 * UNITS
    assert sentic.bias.shape == (2, 2, 5, UNITS)


def test_dropout_alike_has_one_mask_for_all_words():
    def in_training(*seeds):
        return Context(training=True, generators=[torch.Generator().manual_seed(seed) for seed in seeds])

    x = torch.ones(2, 3, 5, 400)
    assert dropout_alike(x, 0.5, EVALUATION) is x
    dropped = dropout_alike(x, 0.25, in_training(1, 2))
    assert (dropped == dropped[:, :, :1]).all()
    assert not (dropped == dropped[:, :1]).all()
    assert dropped.mean().item() == pytest.approx(1, abs=0.05)
    longer = dropout_alike(torch.ones(1, 3, 9, 400), 0.25, in_training(2))
    assert torch.equal(longer[0, :, 0], dropped[1, :, 0])
