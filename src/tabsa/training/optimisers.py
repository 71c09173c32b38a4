"""Optimisers by name, and gradient clipping that keeps seeds apart.

All of them work number by number, so that seeds stacked in one parameter do not touch each other.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal

import torch
from torch import Tensor

Name = Literal["ftrl", "ftrl-tf", "adagrad", "adam", "adamw"]
Clip = Literal["variable", "global", "none"]
START = 0.1  # the accumulator of squared gradients at the start, TensorFlow's default


class FTRL(torch.optim.Optimizer):
    """Follow the regularised leader, proximal (McMahan et al., 2013), with no L1 or L2 term.

    n' = n + g^2
    z' = z + g - (sqrt(n') / rate' - sqrt(n) / rate) * w
    w' = -rate' * z' / sqrt(n')

    A rate that changes keeps the weights where they are. With z = 0 at the start, as TensorFlow has it
    (`keep_start=False`), the first step wipes the initial weights almost to 0. With z = -sqrt(n) / rate * w
    (`keep_start=True`) it starts from them.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float, *, keep_start: bool) -> None:
        super().__init__(parameters, {"lr": lr, "keep_start": keep_start})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]  # noqa: ARG002
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, group["lr"], group["keep_start"])

    def _update(self, parameter: Tensor, rate: float, keep_start: bool) -> None:
        state = self.state[parameter]
        rate = torch.tensor(rate).item()  # as it is kept, in float32
        if not state:
            state["squares"] = torch.full_like(parameter, START)
            state["linear"] = parameter * (-(START**0.5) / rate) if keep_start else torch.zeros_like(parameter)
            state["rate"] = torch.tensor(rate)
        squares, linear, gradient = state["squares"], state["linear"], parameter.grad
        assert gradient is not None  # noqa: S101
        before = squares.sqrt() / float(state["rate"])
        squares.addcmul_(gradient, gradient)
        new_root = squares.sqrt()
        linear.add_(gradient).sub_((new_root / rate - before).mul_(parameter))
        state["rate"].fill_(rate)
        torch.div(linear, new_root, out=parameter)
        parameter.mul_(-rate)


_OPTIMISERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "ftrl": lambda p, lr, **_: FTRL(p, lr, keep_start=True),
    "ftrl-tf": lambda p, lr, **_: FTRL(p, lr, keep_start=False),
    "adagrad": lambda p, lr, **_: torch.optim.Adagrad(p, lr, initial_accumulator_value=START),
    "adam": lambda p, lr, **_: torch.optim.Adam(p, lr),
    "adamw": lambda p, lr, weight_decay: torch.optim.AdamW(p, lr, weight_decay=weight_decay),
}


def optimiser(
    name: Name, parameters: Iterable[Tensor], *, rate: float, weight_decay: float = 0.0
) -> torch.optim.Optimizer:
    """The optimiser called `name`; `weight_decay` is AdamW's."""
    return _OPTIMISERS[name](list(parameters), rate, weight_decay=weight_decay)


def clip(parameters: Iterable[Tensor], how: Clip, norm: float) -> None:
    """Scale gradients, in place, so that no norm is above `norm`: each variable's, or all of them together.

    The first dimension is the seeds, and each seed has its own norms.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    if how == "none" or not gradients:
        return
    squares = [gradient.flatten(1).square().sum(1) for gradient in gradients]  # (S,) each
    if how == "global":
        squares = [torch.stack(squares).sum(0)] * len(gradients)
    for gradient, square in zip(gradients, squares, strict=True):
        scale = (norm / square.sqrt().clamp(min=1e-12)).clamp(max=1.0)
        gradient.mul_(scale.view(-1, *[1] * (gradient.dim() - 1)))


def pack(opt: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimiser's state as named tensors."""
    state: dict[int, dict[str, Any]] = opt.state_dict()["state"]
    return {
        f"{number}.{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for number, values in state.items()
        for name, value in values.items()
    }


def unpack(opt: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `pack` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = value
    opt.load_state_dict({"state": state, "param_groups": opt.state_dict()["param_groups"]})
