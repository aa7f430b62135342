"""Ops that move elements, as slices and concatenations."""
from __future__ import annotations

from collections.abc import Sequence

import torch

aten = torch.ops.aten


def roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> torch.Tensor:
    """Elements move by `shifts` and come in again at the other end."""
    if not dims:
        return roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(shifts, dims):
        size = x.shape[dim]
        shift = shift % size if size else 0
        if shift:
            x = torch.cat([x.narrow(dim, size - shift, shift), x.narrow(dim, 0, size - shift)],
                          dim)
    return x.clone()


def constant_pad_nd(x: torch.Tensor, pad: Sequence[int], value: float = 0) -> torch.Tensor:
    """Negative padding is cut off first: torch-mlir computes wrong numbers for it."""
    if min(pad, default=0) >= 0:
        return NotImplemented
    for i in range(0, len(pad), 2):
        dim = x.dim() - 1 - i // 2
        before, after = max(0, -pad[i]), max(0, -pad[i + 1])
        x = x.narrow(dim, before, x.shape[dim] - before - after)
    return aten.constant_pad_nd(x, [max(0, size) for size in pad], value)


def as_strided(x: torch.Tensor, size: Sequence[int], stride: Sequence[int],
               storage_offset: int | None = None) -> torch.Tensor:
    """Of a tensor without dimensions, which torch-mlir crashes on: its element everywhere."""
    if x.dim() > 0:
        return NotImplemented
    own = storage_offset in (None, x.storage_offset())
    if not own or any(count > 1 and step != 0 for count, step in zip(size, stride)):
        raise NotImplementedError("as_strided reads beside the element of a tensor without "
                                  "dimensions: call it on the whole tensor")
    return x.expand(size).clone()


DECOMPOSITIONS = {
    aten.roll.default: roll,
    aten.constant_pad_nd.default: constant_pad_nd,
    aten.as_strided.default: as_strided,
}
