"""Both forms of FTRL against the scalar rule, clipping that keeps seeds apart, and state that survives packing."""

import math

import pytest
import torch

from tabsa.training.optimisers import clip, optimiser, pack, unpack
from tabsa.training.run_config import TrainingConfig

GRADIENTS = [0.3, -0.2, 0.05, 1.5, 0.0, -0.7]


def ftrl_by_hand(weight, gradients, rate, *, keep_start):
    n, z = 0.1, -math.sqrt(0.1) / rate * weight if keep_start else 0.0
    path = []
    for g in gradients:
        sigma = (math.sqrt(n + g * g) - math.sqrt(n)) / rate
        n, z = n + g * g, z + g - sigma * weight
        weight = -z * rate / math.sqrt(n)
        path.append(weight)
    return path


def path_of(name, weight, gradients, rate=0.05):
    parameter = torch.nn.Parameter(torch.tensor([[weight]], dtype=torch.float64))
    opt = optimiser(TrainingConfig(optimiser=name, rate=rate), {1.0: [parameter]})
    path = []
    for g in gradients:
        parameter.grad = torch.full_like(parameter, g)
        opt.step()
        path.append(parameter.item())
    return path


@pytest.mark.parametrize(("name", "keep_start"), [("ftrl", True), ("ftrl-tf", False)])
@pytest.mark.parametrize("weight", [1.0, -0.4, 0.0])
def test_ftrl_in_both_forms_follows_the_scalar_rule(name, keep_start, weight):
    expected = ftrl_by_hand(weight, GRADIENTS, 0.05, keep_start=keep_start)
    assert path_of(name, weight, GRADIENTS) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("name", ["ftrl", "ftrl-tf", "adam", "adamw"])
def test_state_survives_packing(name):
    training = TrainingConfig(optimiser=name, rate=0.1, weight_decay=0.1)

    def fresh():
        parameters = [torch.nn.Parameter(torch.ones(2, 3)), torch.nn.Parameter(torch.ones(2, 1))]
        return parameters, optimiser(training, {1.0: parameters[:1], 0.5: parameters[1:]})

    def go(parameters, opt, seed):
        generator = torch.Generator().manual_seed(seed)
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=generator)
        opt.step()

    (first, opt), (second, other) = fresh(), fresh()
    go(first, opt, 1)
    with torch.no_grad():
        for a, b in zip(first, second, strict=True):
            b.copy_(a)
    unpack(other, {key: tensor.clone() for key, tensor in pack(opt).items()})
    go(first, opt, 2)
    go(second, other, 2)
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("how", ["variable", "global"])
def test_clipping_is_by_seed(how):
    generator = torch.Generator().manual_seed(0)
    parameters = [torch.nn.Parameter(torch.zeros(3, 4, 2)), torch.nn.Parameter(torch.zeros(3, 5))]
    gradients = [torch.randn(p.shape, generator=generator) for p in parameters]
    for p, g in zip(parameters, gradients, strict=True):
        g[0] *= 100
        g[2] *= 0.01
        p.grad = g.clone()
    clip(parameters, how, 5.0)
    for seed in range(3):
        norms = [math.sqrt(float(g[seed].square().sum())) for g in gradients]
        if how == "global":
            norms = [math.sqrt(sum(n * n for n in norms))] * 2
        for p, g, norm in zip(parameters, gradients, norms, strict=True):
            torch.testing.assert_close(p.grad[seed], g[seed] * min(1.0, 5.0 / norm))
