import numpy as np
import pytest
import torch

import slow_lstm
from tabsa.nn.lstm import SenticBiLSTM, sentic_scan

SIZE, CONCEPT, UNITS = 5, 3, 4


def make(seeds=(1, 2)):
    layer = SenticBiLSTM([torch.Generator().manual_seed(seed) for seed in seeds], SIZE, CONCEPT, UNITS).double()
    with torch.no_grad():
        layer.bias += torch.linspace(-0.5, 0.5, layer.bias[0].numel(), dtype=torch.float64).view_as(layer.bias[0])
    return layer


def batch(seeds=2, size=4, length=6):
    generator = torch.Generator().manual_seed(7)
    words = torch.randn(seeds, size, length, SIZE, generator=generator, dtype=torch.float64)
    concepts = torch.randn(seeds, size, length, CONCEPT, generator=generator, dtype=torch.float64)
    concepts[torch.rand(seeds, size, length, generator=generator) < 0.5] = 0  # words without a concept
    return words, concepts, torch.randint(1, length + 1, (seeds, size), generator=generator)


def test_states_are_those_of_the_equations():
    layer = make()
    words, concepts, lengths = batch()
    states = layer(words, concepts, lengths)
    for seed in range(2):
        letters = [slow_lstm.sentic_letters(layer, seed, way) for way in (0, 1)]
        for sentence in range(4):
            length = int(lengths[seed, sentence])
            expected = slow_lstm.both_ways(
                lambda way, x, mu: slow_lstm.sentic(x, mu, letters[way]),  # noqa: B023
                words[seed, sentence, :length].numpy(),
                concepts[seed, sentence, :length].numpy(),
            )
            np.testing.assert_allclose(states[seed, sentence, :length].detach(), expected, atol=1e-12)
            assert not states[seed, sentence, length:].any()


def test_without_concepts_it_is_an_lstm():
    layer = make(seeds=(1,))
    words, concepts, lengths = batch(seeds=1)
    states = layer(words, torch.zeros_like(concepts), lengths)
    letters = [slow_lstm.sentic_letters(layer, 0, way) for way in (0, 1)]
    length = int(lengths[0, 0])
    sentence = words[0, 0, :length].numpy()
    expected = slow_lstm.both_ways(lambda way, x: slow_lstm.lstm(x, letters[way]), sentence)
    np.testing.assert_allclose(states[0, 0, :length].detach(), expected, atol=1e-12)


def scan_inputs(groups=2, steps=4, size=3, units=2, lengths=((4, 2, 1), (1, 3, 2))):
    generator = torch.Generator().manual_seed(3)
    shapes = [(groups, steps, size, 5 * units), (groups, steps, size, units), (groups, units, 5 * units)]
    inputs = [torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_() for shape in shapes]
    return inputs, torch.tensor(lengths)


@pytest.mark.parametrize(
    "lengths", [((4, 2, 1), (1, 3, 2)), ((0, 4, 0), (0, 1, 4)), ((4, 4, 4), (4, 4, 4)), ((0, 0, 0), (0, 0, 0))], ids=str
)
def test_gradients_of_the_scan_against_finite_differences(lengths):
    inputs, ends = scan_inputs(lengths=lengths)
    assert torch.autograd.gradcheck(lambda *tensors: sentic_scan(*tensors, ends), inputs)


def test_gradients_of_the_layer_against_finite_differences():
    layer = make()
    words, concepts, lengths = batch(size=2, length=3)
    words.requires_grad_()
    concepts.requires_grad_()
    inputs = [words, concepts, *layer.parameters()]
    assert torch.autograd.gradcheck(lambda *_: layer(words, concepts, lengths), inputs)


def test_padding_order_and_size_of_a_batch_change_nothing():
    layer = make()
    words, concepts, lengths = batch()
    whole = layer(words, concepts, lengths)
    more = [torch.cat([x, torch.full((2, 4, 3, x.shape[3]), 9.0).double()], dim=2) for x in (words, concepts)]
    padded = layer(*more, lengths)
    torch.testing.assert_close(padded[:, :, :6], whole, atol=1e-12, rtol=0)
    assert not padded[:, :, 6:].any()
    order = [2, 0, 3, 1]
    shuffled = layer(words[:, order], concepts[:, order], lengths[:, order])
    torch.testing.assert_close(shuffled, whole[:, order], atol=1e-12, rtol=0)
    alone = layer(words[:, 1:2], concepts[:, 1:2], lengths[:, 1:2])
    torch.testing.assert_close(alone, whole[:, 1:2], atol=1e-12, rtol=0)


def test_a_seed_reads_and_learns_the_same_alone_and_in_a_group():
    words, concepts, lengths = batch(seeds=3)
    group, alone = make((1, 2, 3)), make((2,))
    longest = int(lengths[1].max())
    of_group = group(words, concepts, lengths)
    of_alone = alone(words[1:2, :, :longest], concepts[1:2, :, :longest], lengths[1:2])
    torch.testing.assert_close(of_group[1, :, :longest], of_alone[0], atol=1e-12, rtol=0)
    of_group.square().sum().backward()
    of_alone.square().sum().backward()
    for in_group, by_itself in zip(group.parameters(), alone.parameters(), strict=True):
        torch.testing.assert_close(in_group.grad[1], by_itself.grad[0], atol=1e-12, rtol=0)


def test_no_words_at_all():
    words, concepts, _ = batch(length=1)
    states = make()(words[:, :, :0], concepts[:, :, :0], torch.zeros(2, 4, dtype=torch.long))
    assert states.shape == (2, 4, 0, 2 * UNITS)


def test_the_forget_gate_starts_at_its_bias():
    layer = SenticBiLSTM([torch.Generator()], SIZE, CONCEPT, UNITS)
    assert layer.bias[0, :, 1].eq(-1).all()
    assert layer.bias.sum() == -2 * UNITS
