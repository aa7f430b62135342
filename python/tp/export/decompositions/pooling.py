"""Pooling that torch-mlir has no valid form for."""
from __future__ import annotations

from collections.abc import Sequence

import torch

aten = torch.ops.aten


def _averages(x: torch.Tensor, dim: int, count: int) -> torch.Tensor:
    """Of `count` windows of a dimension, which torch's rule cuts: from floor(i * n / count) to
    ceil((i + 1) * n / count)."""
    size = x.shape[dim]
    if size % count == 0:
        return x.unflatten(dim, (count, size // count)).mean(dim + 1)
    windows = []
    for i in range(count):
        begin, end = i * size // count, -(-(i + 1) * size // count)
        windows.append(x.narrow(dim, begin, end - begin).mean(dim))
    return torch.stack(windows, dim)


def adaptive_avg_pool3d(x: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    """Averages of boxes, [..., depth, height, width]: the mean of a box is that of its means along
    one dimension after the other."""
    for dim, count in enumerate(output_size, start=x.dim() - 3):
        x = _averages(x, dim, count)
    return x


DECOMPOSITIONS = {aten._adaptive_avg_pool3d.default: adaptive_avg_pool3d}
