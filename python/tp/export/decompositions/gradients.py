"""Decompositions of the backward pass."""
from __future__ import annotations

import torch

from .scatters import last_write

aten = torch.ops.aten


def embedding_dense_backward(grad: torch.Tensor, indices: torch.Tensor, rows: int,
                             padding_idx: int, scale_grad_by_freq: bool) -> torch.Tensor:
    """The gradient of an embedding's table, [rows, width].

    The gradients of equal indices are added up once, [indices, width]; then every row of the table
    looks up the sum of the last index that names it. So no tensor of rows by indices by width
    exists, and none of ones and zeros is multiplied with the table.
    """
    width = grad.shape[-1]
    index = indices.reshape(-1)
    # Half precision adds up in f32, as torch does.
    wide = torch.float32 if grad.dtype in (torch.float16, torch.bfloat16) else grad.dtype
    grads = grad.reshape(-1, width).to(wide)
    equal = (index.unsqueeze(0) == index.unsqueeze(1)).to(wide)
    sums = equal @ grads
    if scale_grad_by_freq:
        sums = sums / equal.sum(1, keepdim=True)
    last = last_write(index, rows)
    table = torch.index_select(sums, 0, last.clamp(min=0))
    wanted = last >= 0
    if padding_idx >= 0:
        wanted = wanted & (torch.arange(rows, device=grad.device) != padding_idx)
    return torch.where(wanted.unsqueeze(-1), table, 0).to(grad.dtype)


DECOMPOSITIONS = {aten.embedding_dense_backward.default: embedding_dense_backward}
