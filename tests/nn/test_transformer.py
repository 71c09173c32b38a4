import numpy as np
import pytest
import torch

import slow_reader
from tabsa.nn.context import EVALUATION, Context
from tabsa.nn.transformer import attend, block, layer_norm, padding_mask

SEEDS, TEXTS, LENGTH, SIZE, HEADS, INNER, EPSILON = 3, 4, 7, 24, 4, 10, 1e-5
LENGTHS = torch.tensor([[7, 1, 4, 6], [2, 7, 7, 3], [5, 6, 7, 1]])


def draw(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def layer_weights(seeds=SEEDS):
    sizes = {"qkv": (SIZE, 3 * SIZE), "out": (SIZE, SIZE), "inner": (SIZE, INNER), "outer": (INNER, SIZE)}
    weights = {}
    for number, (name, size) in enumerate(sizes.items()):
        weights[name] = draw(seeds, *size, seed=10 + number) * 0.3
        weights[f"{name}_bias"] = draw(seeds, size[1], seed=20 + number)
    for number, name in enumerate(("norm", "norm_bias", "last_norm", "last_norm_bias")):
        weights[name] = draw(seeds, SIZE, seed=30 + number)
    return weights


def read(states, weights, lengths, context=EVALUATION, rate=0.0):
    mask = padding_mask(lengths, states.shape[2])
    return block(states, weights, mask, heads=HEADS, epsilon=EPSILON, rate=rate, context=context)


@pytest.mark.parametrize("seeds", [1, 3])
@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_layer_norm_is_that_of_the_equation(seeds, shape):
    x, weight, bias = draw(seeds, *shape, SIZE) * 3 + 2, draw(seeds, SIZE, seed=2), draw(seeds, SIZE, seed=3)
    result = layer_norm(x, weight, bias, EPSILON)
    for place in np.ndindex(seeds, *shape):
        own = (tensor[place[0]].numpy() for tensor in (weight, bias))
        np.testing.assert_allclose(result[place], slow_reader.layer_norm(x[place].numpy(), *own, EPSILON), atol=1e-12)


@pytest.mark.parametrize("biased", [False, True])
def test_attention_is_that_of_each_head_over_the_live_pieces(biased):
    queries = 5
    query = draw(SEEDS, TEXTS, queries, SIZE)
    key, value = draw(SEEDS, TEXTS, LENGTH, SIZE, seed=2), draw(SEEDS, TEXTS, LENGTH, SIZE, seed=3)
    extra = draw(SEEDS, 1, HEADS, queries, LENGTH, seed=4)
    mask = padding_mask(LENGTHS, LENGTH)
    result = attend(query, key, value, mask + extra if biased else mask, HEADS)
    for seed, text in np.ndindex(SEEDS, TEXTS):
        end = int(LENGTHS[seed, text])
        expected = slow_reader.attend(
            query[seed, text].numpy(), key[seed, text, :end].numpy(), value[seed, text, :end].numpy(), HEADS,
            extra[seed, 0, :, :, :end].numpy() if biased else None,
        )  # fmt: skip
        np.testing.assert_allclose(result[seed, text], expected, atol=1e-12)


def test_a_layer_is_that_of_the_equations():
    states, weights = draw(SEEDS, TEXTS, LENGTH, SIZE), layer_weights()
    result = read(states, weights, LENGTHS)
    for seed, text in np.ndindex(SEEDS, TEXTS):
        end = int(LENGTHS[seed, text])
        own = {name: tensor[seed].numpy() for name, tensor in weights.items()}
        expected = slow_reader.block(states[seed, text, :end].numpy(), own, HEADS, EPSILON)
        np.testing.assert_allclose(result[seed, text, :end], expected, atol=1e-11)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_a_seed_reads_the_same_alone_and_in_a_group(rate):
    states, weights = draw(SEEDS, TEXTS, LENGTH, SIZE), layer_weights()

    def context(*numbers):
        return Context(training=True, generators=[torch.Generator().manual_seed(n) for n in numbers])

    together = read(states, weights, LENGTHS, context(1, 2, 3), rate)
    for seed in range(SEEDS):
        one = slice(seed, seed + 1)
        own = {name: tensor[one] for name, tensor in weights.items()}
        alone = read(states[one], own, LENGTHS[one], context(seed + 1), rate)
        torch.testing.assert_close(together[one], alone, atol=1e-12, rtol=0)
