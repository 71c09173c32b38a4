"""The GPU's path against the reference: on a GPU where there is one, else in Triton's interpreter."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel is defined
pytest.importorskip("triton", reason="needs triton: pip install triton")

from memory_factory import random_batch, random_weights
from tabsa.nn.fast.fused import bmm
from tabsa.nn.memory import DelayWeights, MemoryCell, Words
from tabsa.nn.scan import scan

pytestmark = pytest.mark.slow  # without a GPU the interpreter takes many seconds
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def run(path, weights, words, keys, lengths, *, grad=None, **options):
    leaves = [keys, *weights.tensors()]
    result = scan(MemoryCell(), weights, words, keys, lengths, path=path, **options)
    grad = torch.ones_like(result.memory) if grad is None else grad
    return result, torch.autograd.grad((result.memory * grad).sum(), leaves, allow_unused=True)


def problem(seed=0, *, groups=2, batch=3, length=4, size=19, chains=2, scale=0.3, **switches):
    """Float32 on the device; rows sorted by falling length in no particular way."""
    weights = random_weights(groups, size, dtype=torch.float32, seed=seed, scale=scale, **switches)
    words, keys, lengths = random_batch(groups, batch, length, size, chains, dtype=torch.float32, seed=seed + 1)
    for tensor in (keys, *weights.tensors()):
        tensor.data = tensor.data.to(DEVICE)
    return weights, words.to(DEVICE), keys, lengths.to(DEVICE)


def assert_close(found, expected, tolerance):
    """By the norm of the difference, relative to the norm."""
    assert torch.isfinite(found).all()
    assert (found - expected).norm() <= tolerance * expected.norm().clamp(min=1e-6)


def as_rows(words, factor):
    """The same words as rows of a table, shuffled, that `factor` (G, B, d) makes them again."""
    groups, batch, length, size = words.shape
    order = torch.randperm(groups * batch * length, generator=torch.Generator().manual_seed(4)).to(words.device)
    table = (words / factor.unsqueeze(2)).reshape(-1, size)[order]
    return Words(table, torch.argsort(order).view(groups, batch, length), factor)


@pytest.mark.parametrize("path", ["step", "packed", "fused"])
def test_words_as_rows_of_a_table_are_read_as_their_vectors(path):
    weights, words, keys, lengths = problem(delay=True, bias=True, normalise=True)
    factor = torch.rand(2, 3, 19, generator=torch.Generator().manual_seed(5)).to(DEVICE) + 0.5
    expected, expected_grads = run("step", weights, words, keys, lengths)
    found, found_grads = run(path, weights, as_rows(words, factor), keys, lengths)
    plain, _ = run(path, weights, as_rows(words, factor)._replace(factor=None), keys, lengths)
    assert_close(found.memory, expected.memory, 1e-4)
    assert_close(found.gates, expected.gates, 1e-4)
    for one, other in zip(found_grads, expected_grads, strict=True):
        assert_close(one, other, 1e-4)
    assert not torch.allclose(plain.memory, expected.memory, atol=1e-3)
    assert scan(MemoryCell(), weights, words, keys, lengths, path=path, gates=False).gates is None


SWITCHES = [
    {"delay": delay, "bias": delay, "normalise": normalise} for delay in (True, False) for normalise in (True, False)
]


@pytest.mark.parametrize("switches", SWITCHES, ids=lambda s: "-".join(k for k, v in s.items() if v) or "plain")
def test_values_and_gradients_are_the_references(switches):
    weights, words, keys, lengths = problem(**switches)
    grad = torch.randn(2, 3, 2, 19, generator=torch.Generator().manual_seed(3)).to(DEVICE)
    expected, expected_grads = run("step", weights, words, keys, lengths, grad=grad)
    found, found_grads = run("fused", weights, words, keys, lengths, grad=grad)
    assert_close(found.memory, expected.memory, 1e-4)
    assert_close(found.gates, expected.gates, 1e-4)
    for one, other in zip(found_grads, expected_grads, strict=True):
        assert_close(one, other, 1e-4)


@pytest.mark.parametrize("size", [3, 33])
def test_any_size_and_a_sentence_of_no_words(size):
    weights, words, keys, lengths = problem(5, size=size)
    lengths[:, 1] = 0
    expected, expected_grads = run("step", weights, words, keys, lengths)
    found, found_grads = run("fused", weights, words, keys, lengths)
    assert_close(found.memory, expected.memory, 1e-4)
    for one, other in zip(found_grads, expected_grads, strict=True):
        assert_close(one, other, 1e-4)


@pytest.mark.parametrize("path", ["fused", "packed"])
def test_more_rows_than_needed_change_nothing(path):
    weights, words, keys, lengths = problem(7)
    expected, expected_grads = run("step", weights, words, keys, lengths)
    found, found_grads = run(path, weights, words, keys, lengths, live=(3, 3, 3, 3))
    assert_close(found.memory, expected.memory, 1e-4)
    assert_close(found.gates, expected.gates, 1e-4)
    for one, other in zip(found_grads, expected_grads, strict=True):
        assert_close(one, other, 1e-4)


@pytest.mark.parametrize("delay", [True, False])
def test_bf16_products_are_near(delay):
    weights, words, keys, lengths = problem(11, size=24, delay=delay, scale=0.1)
    grad = torch.randn(2, 3, 2, 24, generator=torch.Generator().manual_seed(3)).to(DEVICE)
    expected, expected_grads = run("step", weights, words, keys, lengths, grad=grad)
    found, found_grads = run("fused", weights, words, keys, lengths, grad=grad, products=torch.bfloat16)
    assert_close(found.memory, expected.memory, 1e-3)
    # The interpreter cuts a bf16 off where a GPU rounds it, which is twice as far from the number.
    for one, other in zip(found_grads, expected_grads, strict=True):
        assert_close(one, other, 1e-2 if DEVICE == "cuda" else 2e-2)


def test_a_group_is_the_same_alone():
    weights, words, keys, lengths = problem(13)
    both = scan(MemoryCell(), weights, words, keys, lengths, path="fused")

    def second(tensor):
        return tensor[1:].detach().clone() if tensor is not None else None

    from dataclasses import replace

    delay = DelayWeights(*map(second, weights.delay))
    names = ("memory", "key", "word", "slope", "bias")
    one = replace(weights, delay=delay, **{name: second(getattr(weights, name)) for name in names})
    alone = scan(MemoryCell(), one, words[1:], keys[1:], lengths[1:], path="fused")
    assert_close(alone.memory, both.memory[1:], 1e-5)


def test_a_cpu_never_multiplies_in_bf16(monkeypatch):
    """Some CPUs announce instructions for it that end the process."""
    types, plain = set(), torch.bmm

    def spy(x, y, **options):
        types.update((x.dtype, y.dtype))
        return plain(x, y, **options)

    monkeypatch.setattr(torch, "bmm", spy)
    x, matrix = torch.randn(2, 3, 5).bfloat16(), torch.randn(2, 5, 4).bfloat16()
    rounded = bmm(x, matrix)
    assert types == {torch.float32}
    assert rounded.dtype == torch.bfloat16
    expected = torch.einsum("gnk,gkm->gnm", x.double(), matrix.double())
    torch.testing.assert_close(rounded.double(), expected, atol=0.02, rtol=0.01)
