"""Optimisers by name, and gradient clipping that keeps seeds apart.

All of them work number by number, so that seeds stacked in one parameter do not touch each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tabsa.training.run_config import Clip, TrainingConfig

START = 0.1  # the accumulator of squared gradients at the start, TensorFlow's default


class FTRL(torch.optim.Optimizer):
    """Follow the regularised leader, proximal (McMahan et al., 2013), with no L1 or L2 term.

    n' = n + g^2
    z' = z + g - (sqrt(n') / rate - sqrt(n) / rate) * w
    w' = -rate * z' / sqrt(n')

    With z = 0 at the start, as TensorFlow has it (`keep_start=False`), the first step wipes the initial weights almost
    to 0. With z = -sqrt(n) / rate * w (`keep_start=True`) it starts from them.
    """

    def __init__(self, parameters: Iterable[Tensor] | Iterable[dict[str, Any]], lr: float, *, keep_start: bool) -> None:
        super().__init__(parameters, {"lr": lr, "keep_start": keep_start})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            parameters = [p for p in group["params"] if p.grad is not None]
            # A tensor, made in float32: a captured graph reads what it holds when it is replayed.
            rate = torch.as_tensor(group["lr"], dtype=torch.float32, device=parameters[0].device)
            self._update(parameters, rate.to(parameters[0].dtype), group["keep_start"])

    def _update(self, parameters: list[Tensor], rate: Tensor, keep_start: bool) -> None:
        """All parameters at once, in few kernels."""
        for parameter in parameters:
            if not (state := self.state[parameter]):
                state["squares"] = torch.full_like(parameter, START)
                state["linear"] = parameter * (-(START**0.5) / rate) if keep_start else torch.zeros_like(parameter)
        squares, linear = ([self.state[p][name] for p in parameters] for name in ("squares", "linear"))
        gradients = [p.grad for p in parameters if p.grad is not None]
        before = torch._foreach_sqrt(squares)
        torch._foreach_div_(before, rate)
        torch._foreach_addcmul_(squares, gradients, gradients)
        roots = torch._foreach_sqrt(squares)
        change = torch._foreach_div(roots, rate)
        torch._foreach_sub_(change, before)
        torch._foreach_mul_(change, parameters)
        torch._foreach_add_(linear, gradients)
        torch._foreach_sub_(linear, change)
        new = torch._foreach_div(linear, roots)
        torch._foreach_mul_(new, -rate)
        torch._foreach_copy_(parameters, new)


def optimiser(
    training: TrainingConfig, parameters: Mapping[float, Sequence[Tensor]], *, fused: bool = False
) -> torch.optim.Optimizer:
    """The optimiser of a run, for parameters by what their rate is multiplied by.

    `fused` asks for one kernel in place of several. On a GPU a rate is a tensor there, to be filled.
    """
    groups = [{"params": list(own), "factor": factor} for factor, own in parameters.items()]
    rate, betas = training.rate, (0.9, training.beta2)
    device = next(iter(parameters.values()))[0].device
    on_gpu = device.type == "cuda"
    made: torch.optim.Optimizer
    if training.optimiser in ("ftrl", "ftrl-tf"):
        made = FTRL(groups, rate, keep_start=training.optimiser == "ftrl")
    elif training.optimiser == "adam":
        made = torch.optim.Adam(groups, rate, betas, fused=fused, capturable=on_gpu)
    else:
        decay = training.weight_decay
        made = torch.optim.AdamW(groups, rate, betas, weight_decay=decay, fused=fused, capturable=on_gpu)
    if on_gpu:
        for group in made.param_groups:
            group["lr"] = torch.tensor(rate * group["factor"], device=device)
    return made


def set_rate(opt: torch.optim.Optimizer, rate: float) -> None:
    """Set the learning rate of the next step, times each group's factor."""
    for group in opt.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(rate * group["factor"])
        else:
            group["lr"] = rate * group["factor"]


def clip(parameters: Iterable[Tensor], how: Clip, norm: float) -> None:
    """Scale gradients, in place, so that no norm is above `norm`: each variable's, or all of them together.

    The first dimension is the seeds, and each seed has its own norms.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    if not gradients:
        return
    squares = torch.stack([square.flatten(1).sum(1) for square in torch._foreach_mul(gradients, gradients)])
    if how == "global":
        squares = squares.sum(0, keepdim=True).expand_as(squares)
    scales = (norm / squares.sqrt().clamp(min=1e-12)).clamp(max=1.0)  # (variables, S)
    for gradient, scale in zip(gradients, scales, strict=True):
        gradient.mul_(scale.view(-1, *[1] * (gradient.dim() - 1)))


def pack(opt: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors."""
    state: dict[int, dict[str, Tensor]] = opt.state_dict()["state"]
    return {f"{number}.{name}": value for number, own in state.items() for name, value in own.items()}


def unpack(opt: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `pack` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    opt.load_state_dict({"state": state, "param_groups": opt.state_dict()["param_groups"]})
