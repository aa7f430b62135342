"""Interpolation as torch's kernels compute it."""
from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

aten = torch.ops.aten


def _neighbours(size: int, count: int, align_corners: bool, scale: float | None,
                dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of `count` samples of a dimension: the elements before and behind each, and how near it is to
    the latter, from 0 to 1."""
    if size == count:
        numbers = torch.arange(count)
        return numbers, numbers, torch.zeros(count, dtype=dtype)
    numbers = torch.arange(count).to(dtype)
    if align_corners:
        place = numbers * ((size - 1) / (count - 1) if count > 1 else 0.0)
    else:
        step = 1 / scale if scale is not None and scale > 0 else size / count
        place = (step * (numbers + 0.5) - 0.5).clamp(min=0)
    before = place.to(torch.int64).clamp(max=size - 1)
    return before, (before + 1).clamp(max=size - 1), (place - before).clamp(0, 1)


def _linear(x: torch.Tensor, output_size: Sequence[int], align_corners: bool,
            scales: Sequence[float | None]) -> torch.Tensor:
    """Samples of `[batch, channels, ...]`: sums of elements times weights. A weight of 1 leaves an
    infinite element as it is, which no sum of an element and a difference does."""
    rank = len(output_size)
    wide = x.to(torch.float32) if x.dtype in (torch.float16, torch.bfloat16) else x
    before, behind, near = zip(*(
        tuple(each.reshape(-1, *[1] * (rank - 1 - dim)) for each in _neighbours(
            x.shape[2 + dim], count, align_corners, scales[dim], wide.dtype))
        for dim, count in enumerate(output_size)), strict=True)
    corners = [aten._unsafe_index(wide, [None, None, *chosen])
               for chosen in itertools.product(*zip(before, behind, strict=True))]
    for share in reversed(near):
        corners = [left * (1 - share) + right * share
                   for left, right in zip(corners[::2], corners[1::2], strict=True)]
    return corners[0].to(x.dtype)


def upsample(x: torch.Tensor, output_size: Sequence[int], align_corners: bool,
             *scales: float | None) -> Any:
    """Linear interpolation of one, two or three dimensions."""
    if not x.is_floating_point():
        return NotImplemented
    return _linear(x, output_size, align_corners, scales or [None] * len(output_size))


def upsample_by_factors(x: torch.Tensor, output_size: Sequence[int] | None, align_corners: bool,
                        scale_factors: Sequence[float] | None) -> Any:
    """The same by factors, or to sizes."""
    if not x.is_floating_point():
        return NotImplemented
    if scale_factors is None:
        assert output_size is not None
        return _linear(x, output_size, align_corners, [None] * len(output_size))
    sizes = [int(size * factor) for size, factor in zip(x.shape[2:], scale_factors, strict=True)]
    return _linear(x, sizes, align_corners, scale_factors)


DECOMPOSITIONS = {
    aten.upsample_linear1d.default: upsample,
    aten.upsample_bilinear2d.default: upsample,
    aten.upsample_trilinear3d.default: upsample,
    aten.upsample_linear1d.vec: upsample_by_factors,
    aten.upsample_bilinear2d.vec: upsample_by_factors,
    aten.upsample_trilinear3d.vec: upsample_by_factors,
}
