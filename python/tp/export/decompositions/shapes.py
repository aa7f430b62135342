"""Ops that move elements, as slices and concatenations."""
from __future__ import annotations

import functools
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
    """Elements at places of the memory in which `x` is."""
    order, places = _places_in_memory(x, size, stride, storage_offset)
    return x.permute(order).reshape(-1)[places]


def _places_in_memory(x: torch.Tensor, size: Sequence[int], stride: Sequence[int],
                      storage_offset: int | None) -> tuple[list[int], torch.Tensor]:
    """The dimensions of `x` in the order of its memory, and places among its elements there."""
    order = sorted(range(x.dim()), key=lambda dim: (x.stride(dim), x.shape[dim]), reverse=True)
    begin = 0 if storage_offset is None else storage_offset - x.storage_offset()
    places = torch.full((), begin)
    for dim, (count, step) in enumerate(zip(size, stride, strict=True)):
        along = torch.arange(count) * step
        places = places + along.reshape([-1] + [1] * (len(size) - 1 - dim))
    reached = sum((count - 1) * step for count, step in zip(size, stride, strict=True))
    if 0 not in size and (not x.permute(order).is_contiguous() or begin < 0
                          or begin + reached >= x.numel()):
        raise NotImplementedError("as_strided reads memory beside the elements of a tensor: call "
                                  "it on the whole tensor, or on a contiguous copy")
    return order, places


def as_strided_scatter(x: torch.Tensor, source: torch.Tensor, size: Sequence[int],
                       stride: Sequence[int], storage_offset: int | None = None) -> torch.Tensor:
    """`x` with other elements at places of its memory."""
    order, places = _places_in_memory(x, size, stride, storage_offset)
    inverse = sorted(range(x.dim()), key=order.__getitem__)
    inside = x.permute(order)
    flat = aten.index_put(inside.reshape(-1), [places], source)
    return flat.reshape(inside.shape).permute(inverse)


def diagonal_scatter(x: torch.Tensor, source: torch.Tensor, offset: int = 0, dim1: int = 0,
                     dim2: int = 1) -> torch.Tensor:
    """`x` with other elements on a diagonal."""
    if source.numel() == 0:
        return x.clone()
    moved = x.movedim((dim1, dim2), (-2, -1))
    row, column = torch.arange(moved.shape[-2]).unsqueeze(-1), torch.arange(moved.shape[-1])
    # A row has one element of the diagonal at most, and so has a column.
    along = row.flatten() if offset >= 0 else column
    spread = source.index_select(-1, along.clamp(max=source.shape[-1] - 1)).unsqueeze(
        -1 if offset >= 0 else -2)
    return torch.where(column - row == offset, spread, moved).movedim((-2, -1), (dim1, dim2))


def put(x: torch.Tensor, index: torch.Tensor, source: torch.Tensor,
        accumulate: bool = False) -> torch.Tensor:
    """`x` with other elements at places among all of them."""
    return aten.index_put(x.reshape(-1), [index.reshape(-1)], source.reshape(-1),
                          accumulate).reshape(x.shape)


def cat(tensors: Sequence[torch.Tensor], dim: int = 0) -> torch.Tensor:
    """Of several types, each in the result's."""
    kinds = {x.dtype for x in tensors}
    if len(kinds) < 2:
        return NotImplemented
    kind = functools.reduce(torch.promote_types, kinds)
    return torch.cat([x.to(kind) for x in tensors], dim)


DECOMPOSITIONS = {
    aten.roll.default: roll,
    aten.constant_pad_nd.default: constant_pad_nd,
    aten.as_strided.default: as_strided,
    aten.as_strided_scatter.default: as_strided_scatter,
    aten.cat.default: cat,
    aten.diagonal_scatter.default: diagonal_scatter,
    aten.put.default: put,
}
