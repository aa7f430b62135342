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


DECOMPOSITIONS = {aten.roll.default: roll}
