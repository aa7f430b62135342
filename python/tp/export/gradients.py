"""Decompositions of the backward pass."""
from __future__ import annotations

import torch

from .sums import sum_at

aten = torch.ops.aten


def embedding_dense_backward(grad: torch.Tensor, indices: torch.Tensor, rows: int,
                             padding_idx: int, scale_grad_by_freq: bool) -> torch.Tensor:
    """The gradient of an embedding's table, [rows, width]: every row adds up the gradients of the
    indices that name it, in their order."""
    width = grad.shape[-1]
    index = indices.reshape(-1)
    # Half precision adds up in f32, as torch does.
    wide = torch.float32 if grad.dtype in (torch.float16, torch.bfloat16) else grad.dtype
    grads = grad.reshape(-1, width).to(wide)
    if scale_grad_by_freq:
        equal = (index.unsqueeze(0) == index.unsqueeze(1)).to(wide)
        grads = grads / equal.sum(1, keepdim=True)
    if padding_idx >= 0:
        # No row has the number -1.
        index = torch.where(index == padding_idx, -1, index)
    return sum_at(grads, index, rows, identity=False).to(grad.dtype)


DECOMPOSITIONS = {aten.embedding_dense_backward.default: embedding_dense_backward}
