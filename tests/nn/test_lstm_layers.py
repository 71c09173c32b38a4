"""The plain and the sentic LSTM against loops over their equations, and their gradients against finite differences."""

import pytest
import torch

from tabsa.nn.lstm import BiLSTM, SenticBiLSTM, sentic_scan

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
