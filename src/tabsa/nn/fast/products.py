"""Batched matrix products in the type of their operands, and never in fewer than 32 bits on a CPU.

Some CPUs announce instructions for bf16 products (AMX) that their virtual machine does not let a process use, and
PyTorch's products then end the process. Operands rounded to bf16 and multiplied in float32 give what hardware gives,
whose sums are float32 too.
"""

import torch
from torch import Tensor


def bmm(x: Tensor, matrix: Tensor) -> Tensor:
    """(G, n, k) @ (G, k, m), rounded to the type of the operands."""
    if x.is_cuda or x.dtype in (torch.float32, torch.float64):
        return torch.bmm(x, matrix)
    return torch.bmm(x.float(), matrix.float()).to(x.dtype)
