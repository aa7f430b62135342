"""Writes at computed places, by the ops of written_rows.

A write of one slice is a selection between the slice and what was there, so that all other
elements are known to stay.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...errors import ExportError
from .assertions import checked
from .written_rows import write_along, write_at

aten = torch.ops.aten


def _wrapped(index: torch.Tensor, size: int, op: str) -> torch.Tensor:
    """Places that may count from the end, from the front."""
    index = checked(index, -size, size - 1, op)
    return torch.where(index < 0, index + size, index)


def index_copy(x: torch.Tensor, dim: int, index: torch.Tensor,
               source: torch.Tensor) -> torch.Tensor:
    """`x` with the slices of `source` at the places of `index` of one dimension."""
    if x.dim() == 0:
        index = checked(index.reshape(()), 0, 0, "index_copy")
        return torch.where(index == 0, source.reshape(()), x)
    dim %= x.dim()
    if index.numel() == 0:
        return x.clone()
    return _copied(x, dim, checked(index, 0, x.shape[dim] - 1, "index_copy"), source)


def _copied(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The same at places that are checked, of which there is one at least."""
    index = index.reshape(-1)
    if index.numel() == 1:
        return torch.where(_is_at(x, dim, index), source, x)
    return write_at(x, [dim], [index], source.movedim(dim, 0), "write")


def _is_at(x: torch.Tensor, dim: int, place: torch.Tensor) -> torch.Tensor:
    """Where the index along a dimension is a place, of the rank of `x`."""
    hit = torch.arange(x.shape[dim], device=x.device) == place.reshape(-1)
    return hit.view([-1 if d == dim else 1 for d in range(x.dim())])


def index_add(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor, *,
              alpha: float = 1) -> torch.Tensor:
    """`x` with the slices of `source` added at the places of `index` of one dimension."""
    if x.dim() == 0:
        return index_add(x.reshape(1), 0, index, source.reshape(-1), alpha=alpha).reshape(())
    if index.numel() == 0:
        return x.clone()
    dim %= x.dim()
    # After the sum a negative factor would turn the sign of the -0.0 where nothing is added.
    source = source if alpha == 1 else source * alpha
    index = checked(index.reshape(-1), 0, x.shape[dim] - 1, "index_add")
    return write_at(x, [dim], [index], source.movedim(dim, 0), "sum")


def index_fill(x: torch.Tensor, dim: int, index: torch.Tensor, value: Any) -> torch.Tensor:
    """`x` with a number at the places of `index` of one dimension."""
    if x.dim() == 0:
        return torch.full_like(x, value)
    dim %= x.dim()
    index = index.reshape(-1)
    index = _wrapped(index, x.shape[dim], "index_fill")
    hit = (torch.arange(x.shape[dim], device=x.device).unsqueeze(-1) == index).any(-1)
    return torch.where(hit.view([-1 if d == dim else 1 for d in range(x.dim())]), value, x)


def index_put(x: torch.Tensor, indices: Sequence[torch.Tensor | None], values: torch.Tensor,
              accumulate: bool = False) -> torch.Tensor:
    """`x[indices] = values`, or `+=`."""
    given = [d for d, index in enumerate(indices) if index is not None]
    # torch takes bytes for a mask, too.
    masks = [(d, index.to(torch.bool)) for d, index in enumerate(indices)
             if index is not None and index.dtype in (torch.bool, torch.uint8)]
    if masks:
        if len(given) > 1 or values.numel() != 1:
            raise ExportError("aten.index_put with a mask writes as many elements as the mask has: "
                              "write torch.where(mask, values, x)", op="aten.index_put")
        return _masked_put(x, *masks[0], values, accumulate)
    dims = given
    if len(dims) == 1 and (part := _constant_slice(x, dims[0], indices[dims[0]])) is not None:
        return _put_into_slice(x, dims[0], part, values, accumulate)
    index = torch.broadcast_tensors(*[_wrapped(indices[d], x.shape[d], "index_put") for d in dims])
    written = index[0].shape
    if index[0].numel() == 0:
        return x.clone()
    # As torch indexes: adjacent indices stay where they are, others go to the front.
    adjacent = dims == list(range(dims[0], dims[-1] + 1))
    front = dims[0] if adjacent else 0
    others = [d for d in range(x.dim()) if d not in dims]
    result_shape = ([x.shape[d] for d in others[:front]] + list(written)
                    + [x.shape[d] for d in others[front:]])
    values = values.expand(result_shape)
    values = values.movedim(list(range(front, front + len(written))),
                            list(range(len(written))))
    if index[0].numel() == 1 and not accumulate:
        hit = functools.reduce(torch.logical_and,
                               [_is_at(x, d, place) for d, place in zip(dims, index)])
        return torch.where(hit, values.reshape([1 if d in dims else x.shape[d]
                                                for d in range(x.dim())]), x)
    if index[0].dim() == 0:
        index = tuple(place.reshape(1) for place in index)
        values = values.unsqueeze(0)
    return write_at(x, dims, index, values, "sum" if accumulate else "write")


def spaced(places: torch.Tensor, size: int) -> slice | None:
    """The places as a slice of a dimension, if they are evenly spaced, growing, and inside of it.
    Negative ones count from the end."""
    if places.dim() != 1 or places.dtype == torch.bool or places.numel() == 0:
        return None
    found = [place + size if place < 0 else place for place in places.tolist()]
    step = found[1] - found[0] if len(found) > 1 else 1
    if step < 1 or not 0 <= found[0] <= found[-1] < size:
        return None
    if found != list(range(found[0], found[-1] + 1, step)):
        return None
    return slice(found[0], found[-1] + 1, step)


def _constant_slice(x: torch.Tensor, dim: int, index: torch.Tensor | None) -> slice | None:
    """The places of an index that is a constant of the module, if they are a slice."""
    constant = getattr(index, "constant", None)  # of a FakeTensor
    return None if constant is None else spaced(constant, x.shape[dim])


def _put_into_slice(x: torch.Tensor, dim: int, part: slice, values: torch.Tensor,
                    accumulate: bool) -> torch.Tensor:
    """`x` with the values written or added to a slice, which can stay sharded."""
    before = aten.slice.Tensor(x, dim, part.start, part.stop, part.step)
    values = values.expand(before.shape)
    after: torch.Tensor = aten.slice_scatter.default(
        x, before + values if accumulate else values, dim, part.start, part.stop, part.step)
    return after


def _masked_put(x: torch.Tensor, dim: int, mask: torch.Tensor, values: torch.Tensor,
                accumulate: bool) -> torch.Tensor:
    """One value, where a mask of the dimensions from `dim` on is true."""
    mask = mask.view([1] * dim + list(mask.shape) + [1] * (x.dim() - dim - mask.dim()))
    value = values.reshape(())
    return torch.where(mask, x + value if accumulate else value, x)


def _scatter(x: torch.Tensor, dim: int, index: torch.Tensor, source: Any,
             combine: str | None = None) -> torch.Tensor:
    """`x` with `source`, a tensor or a number, written or combined at the places of `index`."""
    if x.dim() == 0:
        x, index = x.reshape(1), index.reshape(1)
        source = source.reshape(1) if isinstance(source, torch.Tensor) else source
        return _scatter(x, 0, index, source, combine).reshape(())
    if index.numel() == 0:
        return x.clone()
    dim %= x.dim()
    if isinstance(source, torch.Tensor):
        source = source[tuple(slice(size) for size in index.shape)]
    region = [slice(None) if d == dim else slice(index.shape[d]) for d in range(x.dim())]
    inner = x[tuple(region)]
    index = checked(index, 0, x.shape[dim] - 1, "scatter")
    if not isinstance(source, torch.Tensor):
        source = torch.full((), source, dtype=x.dtype, device=x.device).expand(index.shape)
    if combine is None and index.shape[dim] == 1:
        place = torch.arange(x.shape[dim], device=x.device)
        hit = index == place.view([-1 if d == dim else 1 for d in range(x.dim())])
        written = torch.where(hit, source, inner)
    else:
        written = write_along(inner, dim, index, source, combine or "write")
    return written if written.shape == x.shape else _into_corner(x, written)


def _into_corner(x: torch.Tensor, written: torch.Tensor) -> torch.Tensor:
    """`x` with `written` in its first corner."""
    def place(x: torch.Tensor, written: torch.Tensor, d: int) -> torch.Tensor:
        if d == x.dim():
            return written
        if written.shape[d] == x.shape[d]:
            return place(x, written, d + 1)
        inner = place(x.narrow(d, 0, written.shape[d]), written, d + 1)
        return torch.slice_scatter(x, inner, d, 0, written.shape[d])
    return place(x, written, 0)


def _worst(dtype: torch.dtype, largest: bool) -> Any:
    """What no element is beyond: the largest or the smallest of a type."""
    if dtype.is_floating_point:
        return torch.inf if largest else -torch.inf
    return torch.iinfo(dtype).max if largest else torch.iinfo(dtype).min


# What a combination begins with, by its name and an element type.
_IDENTITIES: dict[str, Callable[[torch.dtype], Any]] = {
    "sum": lambda _: 0,
    "prod": lambda _: 1,
    "amax": lambda dtype: _worst(dtype, largest=False),
    "amin": lambda dtype: _worst(dtype, largest=True),
}


def scatter(x: torch.Tensor, dim: int, index: torch.Tensor, source: Any) -> torch.Tensor:
    """Both overloads of `scatter` without a reduction."""
    return _scatter(x, dim, index, source)


def scatter_combining(x: torch.Tensor, dim: int, index: torch.Tensor, source: Any, *,
                      reduce: str) -> torch.Tensor:
    """Both overloads of `scatter` with a reduction."""
    return _scatter(x, dim, index, source, {"add": "sum", "multiply": "prod"}[reduce])


def scatter_add(x: torch.Tensor, dim: int, index: torch.Tensor,
                source: torch.Tensor) -> torch.Tensor:
    """Adds `source` at the places of `index`."""
    return _scatter(x, dim, index, source, "sum")


def scatter_reduce(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor,
                   reduce: str, *, include_self: bool = True) -> torch.Tensor:
    """Combines `source` at the places of `index`, without the elements of `x` there where
    `include_self` is False."""
    if x.dtype == torch.bool:
        raise ExportError("aten.scatter_reduce of booleans is not supported: use integers",
                          op="aten.scatter_reduce")
    if reduce == "mean":
        whole = scatter_reduce(x, dim, index, source, "sum", include_self=include_self)
        start = torch.full_like(x, int(include_self))
        count = _scatter(start, dim, index, torch.ones_like(source), "sum").clamp(min=1)
        return (whole / count if x.is_floating_point()
                else torch.div(whole, count, rounding_mode="floor"))
    if not include_self and reduce in _IDENTITIES:
        x = _scatter(x, dim, index, _IDENTITIES[reduce](x.dtype))
    return _scatter(x, dim, index, source, reduce)


def masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """The places of the mask take the elements of `source` in order."""
    mask, x = torch.broadcast_tensors(mask, x)
    number = torch.cumsum(mask.reshape(-1).to(torch.int64), 0) - 1
    taken = source.reshape(-1)[number.clamp(0, source.numel() - 1)]
    return torch.where(mask, taken.reshape(x.shape), x)


DECOMPOSITIONS = {
    aten.index_copy.default: index_copy,
    aten.index_add.default: index_add,
    aten.index_fill.int_Scalar: index_fill,
    aten.index_fill.int_Tensor: index_fill,
    aten.index_put.default: index_put,
    aten._unsafe_index_put.default: index_put,
    aten.scatter.src: scatter,
    aten.scatter.value: scatter,
    aten.scatter.reduce: scatter_combining,
    aten.scatter.value_reduce: scatter_combining,
    aten.scatter_add.default: scatter_add,
    aten.scatter_reduce.two: scatter_reduce,
    aten.masked_scatter.default: masked_scatter,
}
