"""Means, variances and distances.

torch-mlir computes variances in f64, which costs more than the layer beside them; here they are in
the type of the input, in two passes. Of f16 and bf16 all is f32 up to the result, as in torch: the
number of elements and a variance have no place in f16.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import torch

aten = torch.ops.aten
NARROW = (torch.float16, torch.bfloat16)


def mean_of_all(x: torch.Tensor, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """The mean of all elements, of f16 and bf16, and of integers."""
    return mean(x, None, dtype=dtype)


def mean(x: torch.Tensor, dim: Sequence[int] | None, keepdim: bool = False, *,
         dtype: torch.dtype | None = None) -> torch.Tensor:
    """The mean over `dim`, of f16 and bf16, and of integers."""
    made = dtype or x.dtype
    if not x.is_floating_point() and not x.is_complex():
        return x.to(made).mean(dim or None, keepdim)
    if made not in NARROW:
        return NotImplemented
    return x.to(torch.float32).mean(dim or None, keepdim).to(made)


def var_mean(x: torch.Tensor, dim: Sequence[int] | None = None, *,
             correction: float | None = None,
             keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Variance and mean over `dim`, over all dimensions where there is none."""
    variance, mean = wide_var_mean(x, dim, correction, keepdim)
    return variance.to(x.dtype), mean.to(x.dtype)


def wide_var_mean(x: torch.Tensor, dim: Sequence[int] | None, correction: float | None,
                  keepdim: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The same, of f32 for f16 and bf16."""
    dims = list(range(x.dim())) if not dim else [d % x.dim() for d in dim]
    count = 1
    for d in dims:
        count *= x.shape[d]
    wide = x.to(torch.float32) if x.dtype in NARROW else x
    mean = wide.mean(dims, keepdim=True)
    centred = wide - mean
    divisor = count - (1 if correction is None else correction)
    total = (centred * centred).sum(dims, keepdim=True)
    variance = total / divisor if divisor > 0 else total * (torch.nan if count <= 1 else torch.inf)
    if not keepdim:
        shape = [size for d, size in enumerate(x.shape) if d not in dims]
        variance, mean = variance.reshape(shape), mean.reshape(shape)
    return variance, mean


def var(x: torch.Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None,
        keepdim: bool = False) -> torch.Tensor:
    """Variance over `dim`."""
    return var_mean(x, dim, correction=correction, keepdim=keepdim)[0]


def std(x: torch.Tensor, dim: Sequence[int] | None = None, *, correction: float | None = None,
        keepdim: bool = False) -> torch.Tensor:
    """Standard deviation over `dim`."""
    return std_mean(x, dim, correction=correction, keepdim=keepdim)[0]


def std_mean(x: torch.Tensor, dim: Sequence[int] | None = None, *,
             correction: float | None = None,
             keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Standard deviation and mean over `dim`."""
    variance, mean = wide_var_mean(x, dim, correction, keepdim)
    return variance.sqrt().to(x.dtype), mean.to(x.dtype)


def cdist(x: torch.Tensor, y: torch.Tensor, p: float, mode: int | None) -> torch.Tensor:
    """Distances between the rows of `x` and those of `y`."""
    difference = (x.unsqueeze(-2) - y.unsqueeze(-3)).abs()
    if p == 1:
        return difference.sum(-1)
    if p == 2:
        return (difference * difference).sum(-1).sqrt()
    if p == 0:
        return (difference != 0).sum(-1).to(x.dtype)
    if p == math.inf:
        return difference.amax(-1)
    return difference.pow(p).sum(-1).pow(1 / p)


def pdist(x: torch.Tensor, p: float = 2) -> torch.Tensor:
    """Distances between the rows of `x`, of each pair once."""
    rows, columns = torch.triu_indices(len(x), len(x), 1)
    return cdist(x, x, p, None)[rows, columns]


DECOMPOSITIONS = {
    aten._cdist_forward.default: cdist,
    aten._pdist_forward.default: pdist,
    aten.mean.default: mean_of_all,
    aten.mean.dim: mean,
    aten.var_mean.correction: var_mean,
    aten.var.correction: var,
    aten.std.correction: std,
    aten.std_mean.correction: std_mean,
}
