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


@pytest.mark.parametrize("delay", [True, False])
def test_packed_path_follows_the_reference_in_float32(delay):
    weights = random_weights(2, 64, delay=delay, dtype=torch.float32, scale=0.1)
    words, keys, lengths = random_batch(2, 16, 12, 64, 4, dtype=torch.float32, scale=0.2)
    target = torch.randn(2, 16, 4, 64, generator=torch.Generator().manual_seed(2))
    outputs, gradients = [], []
    for path in ("step", "packed"):
        memory = scan(MemoryCell(), weights, words, keys, lengths, path=path).memory
        outputs.append(memory)
        gradient = torch.autograd.grad((memory * target).sum(), [keys, *weights.tensors()])
        gradients.append(torch.cat([g.flatten() for g in gradient]))
    for (reference, packed), tolerance in ((outputs, 1e-5), (gradients, 1e-4)):
        assert torch.linalg.norm(reference - packed) < tolerance * torch.linalg.norm(reference)


@pytest.mark.parametrize("path", ["step", "packed"])
def test_padding_batch_order_and_batch_size_change_nothing(path):
    weights = random_weights(2, 6)
    words, keys, lengths = random_batch(2, 5, 6, 6, 3)
    whole = scan(MemoryCell(), weights, words, keys, lengths, path=path)

    padded = torch.cat([words, torch.full((2, 5, 3, 6), 9.0, dtype=torch.float64)], dim=2)
    longer = scan(MemoryCell(), weights, padded, keys, lengths, path=path)
    torch.testing.assert_close(longer.memory, whole.memory, atol=1e-12, rtol=0)
    assert not longer.gates[:, :, 6:].any()

    order = torch.tensor([3, 0, 4, 1, 2])
    shuffled = scan(MemoryCell(), weights, words[:, order], keys, lengths[:, order], path=path)
    torch.testing.assert_close(shuffled.memory, whole.memory[:, order], atol=1e-12, rtol=0)

    alone = scan(MemoryCell(), weights, words[:, 2:3, : lengths[:, 2].max()], keys, lengths[:, 2:3], path=path)
    torch.testing.assert_close(alone.memory, whole.memory[:, 2:3], atol=1e-12, rtol=0)


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
