"""Random weights of the memory and random sentences for it, and the weights under the paper's letters."""

import numpy as np
import torch

from tabsa.nn.memory import DelayWeights, MemoryWeights


def random_weights(groups, size, *, delay=True, bias=True, dtype=torch.float64, seed=0, scale=0.6, **switches):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        tensor = torch.randn(groups, *shape, generator=generator, dtype=torch.float64) * scale
        return tensor.to(dtype).requires_grad_()

    delay_weights = None
    if delay:
        delay_weights = DelayWeights(
            draw(size, 3 * size), draw(size, 2 * size), draw(size, size), draw(3 * size), draw(size)
        )
    return MemoryWeights(
        memory=draw(size, size),
        key=draw(size, size),
        word=draw(size, size),
        slope=draw(size),
        bias=draw(size) if bias else None,
        delay=delay_weights,
        **switches,
    )


def random_batch(groups, batch, length, size, chains, *, dtype=torch.float64, seed=1, scale=1.0):
    generator = torch.Generator().manual_seed(seed)
    words = (torch.randn(groups, batch, length, size, generator=generator, dtype=torch.float64) * scale).to(dtype)
    keys = (torch.randn(groups, chains, size, generator=generator, dtype=torch.float64) * scale).to(dtype)
    keys.requires_grad_()
    lengths = torch.randint(1, length + 1, (groups, batch), generator=generator)
    lengths[0, 0] = length
    return words, keys, lengths


def paper_letters(weights, group):
    """One group's weights under the paper's letters, for column vectors."""

    def numpy(tensor):
        return tensor[group].detach().numpy()

    size = weights.slope.shape[-1]
    letters = {"U": numpy(weights.memory).T, "V": numpy(weights.key).T, "W": numpy(weights.word).T}
    letters["slope"] = numpy(weights.slope)
    letters["b"] = np.zeros(size) if weights.bias is None else numpy(weights.bias)
    if weights.delay is not None:
        letters["Wr"], letters["Wz"], letters["Wn"] = np.split(numpy(weights.delay.inputs).T, 3)
        letters["Ur"], letters["Uz"] = np.split(numpy(weights.delay.gates).T, 2)
        letters["Un"] = numpy(weights.delay.new).T
        letters["br"], letters["bz"], letters["bn"] = np.split(numpy(weights.delay.bias), 3)
        letters["v"] = numpy(weights.delay.vector)
    return letters
