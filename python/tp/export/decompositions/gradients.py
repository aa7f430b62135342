"""Decompositions of the backward pass."""
from __future__ import annotations

from typing import Any

import torch

from ...errors import ExportError
from .written_rows import write_at

aten = torch.ops.aten


def embedding_dense_backward(grad: torch.Tensor, indices: torch.Tensor, rows: int,
                             padding_idx: int, scale_grad_by_freq: bool) -> torch.Tensor:
    """The gradient of an embedding's table, [rows, width]: the sum, for each row, of the gradients
    [tokens, width] of the tokens that name it.

    What one token adds stays in its row, an infinity and a NaN too.
    """
    width = grad.shape[-1]
    index = indices.reshape(-1)
    # Half precision adds up in f32 and rounds once.
    wide = torch.float32 if grad.dtype in (torch.float16, torch.bfloat16) else grad.dtype
    sums = write_at(torch.zeros([rows, width], dtype=wide, device=grad.device), [0], [index],
                    grad.reshape(-1, width).to(wide), "sum")
    if scale_grad_by_freq:
        ones = torch.ones_like(index)
        counts = write_at(torch.zeros([rows], dtype=ones.dtype, device=grad.device), [0], [index],
                          ones, "sum")
        sums = sums / counts.clamp(min=1).unsqueeze(1)
    if padding_idx >= 0:
        wanted = torch.arange(rows, device=grad.device) != padding_idx
        sums = torch.where(wanted.unsqueeze(-1), sums, 0)
    return sums.to(grad.dtype)


def weight_norm_interface_backward(
        grad: torch.Tensor, v: torch.Tensor, g: torch.Tensor, norms: torch.Tensor,
        dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of `g * v / norms`, the norms of all dimensions but one, by v and by g."""
    others = [d for d in range(v.dim()) if d != dim]
    along = (grad * v).sum(others, keepdim=True)
    return (grad - v * (along / (norms * norms))) * (g / norms), along / norms


def cdist_backward(grad: torch.Tensor, a: torch.Tensor, b: torch.Tensor, p: float,
                   distances: torch.Tensor) -> torch.Tensor:
    """The gradient of the distances [.., i, j] of rows of `a` and `b` by `a`; 0 where rows are
    equal, as in PyTorch."""
    if p == 2:
        scaled = torch.where(distances == 0, 0, grad / distances)
        return a * scaled.sum(-1, keepdim=True) - scaled @ b
    if p == 1:
        return ((a.unsqueeze(-2) - b.unsqueeze(-3)).sign() * grad.unsqueeze(-1)).sum(-2)
    raise ExportError(f"the gradient of torch.cdist with p={p} is not supported: use p=2 or p=1",
                      op="aten._cdist_backward")


DECOMPOSITIONS: dict[Any, Any] = {
    aten.embedding_dense_backward.default: embedding_dense_backward,
    aten._weight_norm_interface_backward.default: weight_norm_interface_backward,
    aten._cdist_backward.default: cdist_backward,
}
