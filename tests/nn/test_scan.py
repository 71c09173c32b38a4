import itertools

import numpy as np
import pytest
import torch

import slow_memory
from memory_factory import paper_letters, random_batch, random_weights
from tabsa.nn.memory import MemoryCell
from tabsa.nn.scan import reverse, scan

NAMES = ("delay", "bias", "normalise")
SWITCHES = [dict(zip(NAMES, values, strict=True)) for values in itertools.product([True, False], repeat=3)]


@pytest.mark.parametrize("path", ["step", "packed"])
@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "-".join(k for k, v in s.items() if v) or "plain")
def test_scan_computes_the_papers_equations(switches, path):
    weights = random_weights(2, 5, **switches)
    words, keys, lengths = random_batch(2, 4, 7, 5, 3)
    result = scan(MemoryCell(), weights, words, keys, lengths, path=path)
    for group, sentence, chain in itertools.product(range(2), range(4), range(3)):
        length = int(lengths[group, sentence])
        memory, gates = slow_memory.read(
            words[group, sentence, :length].numpy(),
            keys[group, chain].detach().numpy(),
            paper_letters(weights, group),
            delay=switches["delay"],
            normalise=switches["normalise"],
        )
        np.testing.assert_allclose(result.memory[group, sentence, chain].detach(), memory, atol=1e-10)
        np.testing.assert_allclose(result.gates[group, sentence, :length, chain].detach(), gates, atol=1e-10)
        assert not result.gates[group, sentence, length:].any()


@pytest.mark.parametrize("path", ["step", "packed"])
@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_gradients_against_finite_differences(switches, path):
    weights = random_weights(2, 3, **switches)
    words, keys, lengths = random_batch(2, 3, 4, 3, 2)
    inputs = [keys, *weights.tensors()]

    def memory(*_):
        return scan(MemoryCell(), weights, words, keys, lengths, path=path).memory

    assert torch.autograd.gradcheck(memory, inputs)


@pytest.mark.parametrize("path", ["step", "packed"])
@pytest.mark.parametrize("empty", [0, 1])
def test_a_sentence_of_no_words_leaves_the_keys(path, empty):
    weights = random_weights(1, 4)
    words, keys, lengths = random_batch(1, 2, 3, 4, 2)
    lengths[0] = 3
    lengths[0, empty] = 0
    result = scan(MemoryCell(), weights, words, keys, lengths, path=path)
    torch.testing.assert_close(result.memory[0, empty], keys[0])
    (gradient,) = torch.autograd.grad(result.memory[0, empty].sum(), keys)
    torch.testing.assert_close(gradient, torch.ones_like(keys))


def test_a_zero_memory_is_not_divided():
    weights = random_weights(1, 3, delay=False, bias=False)
    words = torch.zeros(1, 1, 2, 3, dtype=torch.float64)
    keys = torch.zeros(1, 2, 3, dtype=torch.float64, requires_grad=True)
    for path in ("step", "packed"):
        memory = scan(MemoryCell(), weights, words, keys, torch.tensor([[2]]), path=path).memory
        assert memory.eq(0).all()
        assert torch.autograd.grad(memory.sum(), keys)[0].isfinite().all()


def test_reverse_turns_each_sentence_within_its_length():
    words = torch.arange(10).view(2, 5)
    lengths = torch.tensor([3, 5])
    assert reverse(words, lengths).tolist() == [[2, 1, 0, 3, 4], [9, 8, 7, 6, 5]]
    vectors = torch.stack([words, words + 100], dim=-1)
    assert reverse(vectors, lengths)[0, :, 1].tolist() == [102, 101, 100, 103, 104]
