"""Writes at computed places as one reduction over the writes.

Every element of the result asks each write whether it is for it. That is what layouts depend on:
all dimensions of the result may be sharded, and the writes of a sum too. The compiler then visits
the places that are written alone. torch's ops for it are not in linalg, so graphs have one of
tp's.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch_mlir import ir
from torch_mlir.dialects import arith, linalg

from ...errors import ExportError
from .own_ops import LIBRARY, builtin_type, integer, string, to_builtin

_AT, _ALONG = "write_at", "write_along"
LIBRARY.define(f"{_AT}(Tensor x, int[] dims, Tensor[] places, Tensor source, str combine) -> Tensor")
LIBRARY.define(f"{_ALONG}(Tensor x, int dim, Tensor places, Tensor source, str combine) -> Tensor")


def write_at(x: torch.Tensor, dims: Sequence[int], places: Sequence[torch.Tensor],
             source: torch.Tensor, combine: str) -> torch.Tensor:
    """`x` after writes of slices, in their order.

    `places` has for each of `dims` a tensor of the places of all writes along it, all of one
    shape; `source` has the slices: the writes' dimensions, then the other ones of `x`. Places are
    from 0 to the dimension's size. `combine` is "write", "sum", "prod", "amax" or "amin".
    """
    if x.is_complex():
        return torch.view_as_complex(
            write_at(torch.view_as_real(x), [d % x.dim() for d in dims], places,
                     torch.view_as_real(source), _of_each_part(combine)))
    result: torch.Tensor = torch.ops.tp.write_at(x, list(dims), list(places), source, combine)
    return result


def write_along(x: torch.Tensor, dim: int, places: torch.Tensor, source: torch.Tensor,
                combine: str) -> torch.Tensor:
    """The same for single elements: `places` and `source` have the shape of `x` but for `dim`,
    which counts the writes along it."""
    if x.is_complex():
        both = places.unsqueeze(-1).expand([*places.shape, 2])
        return torch.view_as_complex(
            write_along(torch.view_as_real(x), dim, both, torch.view_as_real(source),
                        _of_each_part(combine)))
    result: torch.Tensor = torch.ops.tp.write_along(x, dim, places, source, combine)
    return result


def _of_each_part(combine: str) -> str:
    """What real and imaginary parts combine by."""
    if combine in ("write", "sum"):
        return combine
    raise ExportError(f"a scatter of complex numbers by '{combine}' is not supported: scatter their "
                      "real and imaginary parts (torch.view_as_real)", op="aten.scatter_reduce")


# Graphs are lowered, so kernels compute constants alone, which a trace knows.


def _constant_at(x: torch.Tensor, dims: Sequence[int], places: Sequence[torch.Tensor],
                 source: torch.Tensor, combine: str) -> torch.Tensor:
    order = list(dims) + [d for d in range(x.dim()) if d not in dims]
    moved = x.permute(order).clone()
    for number in range(places[0].numel()):
        at = tuple(int(place.reshape(-1)[number]) for place in places)
        moved[at] = _COMBINED[combine](moved[at], source.flatten(0, places[0].dim() - 1)[number])
    return moved.permute([order.index(d) for d in range(x.dim())]).contiguous()


def _constant_along(x: torch.Tensor, dim: int, places: torch.Tensor, source: torch.Tensor,
                    combine: str) -> torch.Tensor:
    if combine == "write":
        return x.scatter(dim, places, source)
    return x.scatter_reduce(dim, places, source, combine)


_COMBINED = {"write": lambda old, new: new, "sum": torch.add, "prod": torch.mul,
             "amax": torch.maximum, "amin": torch.minimum}

LIBRARY.impl(_AT, lambda x, dims, places, source, combine: torch.empty_like(x), "Meta")
LIBRARY.impl(_ALONG, lambda x, dim, places, source, combine: torch.empty_like(x), "Meta")
LIBRARY.impl(_AT, _constant_at, "CPU")
LIBRARY.impl(_ALONG, _constant_along, "CPU")


# Of each combination the op of floats, of signed and unsigned integers, and of booleans.
_OPS: dict[str, tuple[Any, Any, Any, Any]] = {
    "sum": (arith.AddFOp, arith.AddIOp, arith.AddIOp, arith.OrIOp),
    "prod": (arith.MulFOp, arith.MulIOp, arith.MulIOp, arith.AndIOp),
    "amax": (arith.MaximumFOp, arith.MaxSIOp, arith.MaxUIOp, arith.OrIOp),
    "amin": (arith.MinimumFOp, arith.MinSIOp, arith.MinUIOp, arith.AndIOp),
}


def _neutral(combine: str, element: ir.Type, unsigned: bool) -> ir.Attribute:
    """What the combination leaves another number as it is with: of a sum -0.0, which keeps both
    zeros."""
    if not isinstance(element, ir.IntegerType):
        values = {"sum": -0.0, "prod": 1.0, "amax": -torch.inf, "amin": torch.inf}
        return ir.FloatAttr.get(element, values[combine])
    width = ir.IntegerType(element).width
    if width == 1:
        return ir.IntegerAttr.get(element, int(combine in ("prod", "amin")))
    least, most = ((0, -1) if unsigned
                   else (-(1 << (width - 1)), (1 << (width - 1)) - 1))
    return ir.IntegerAttr.get(element, {"sum": 0, "prod": 1, "amax": least, "amin": most}[combine])


def _combined(combine: str, hit: ir.Value, new: ir.Value, old: ir.Value,
              unsigned: bool) -> ir.Value:
    """An element after a write that is for it where `hit` is true."""
    if combine == "write":
        return arith.SelectOp(hit, new, old).result
    element = old.type
    is_float = not isinstance(element, ir.IntegerType)
    kind = 0 if is_float else 3 if ir.IntegerType(element).width == 1 else 2 if unsigned else 1
    none = arith.ConstantOp(element, _neutral(combine, element, unsigned)).result
    term = arith.SelectOp(hit, new, none).result
    result: ir.Value = _OPS[combine][kind](old, term).result
    return result


def _lower(op: ir.Operation, dims: Sequence[int], places: Sequence[ir.Value], source: ir.Value,
           combine: str, maps: tuple[list[int], list[int]], writes: int) -> None:
    """`maps` are the loops that places and the source are read at: those of the result's
    dimensions come first, then `writes` loops over the writes."""
    result_type = builtin_type(op.results[0].type)
    rank, element = result_type.rank, result_type.element_type
    start = to_builtin(op.operands[0])
    inputs = [to_builtin(place) for place in places] + [to_builtin(source)]

    def affine(loops: Sequence[int]) -> ir.AffineMapAttr:
        exprs = [ir.AffineExpr.get_dim(loop) for loop in loops]
        return ir.AffineMapAttr.get(ir.AffineMap.get(rank + writes, 0, exprs))
    kinds = ["parallel"] * rank + ["reduction"] * writes
    reduction = linalg.GenericOp(
        [result_type], inputs, [start],
        ir.ArrayAttr.get([affine(maps[0])] * len(places) + [affine(maps[1]), affine(range(rank))]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>")
                          for kind in kinds]))
    types = [ir.RankedTensorType(value.type).element_type for value in inputs]
    body = reduction.regions[0].blocks.append(*types, element)
    with ir.InsertionPoint(body):
        *at, new, old = body.arguments
        hit = None
        for dim, place in zip(dims, at):
            index = linalg.IndexOp(dim).result
            here = arith.CmpIOp(arith.CmpIPredicate.eq,
                                arith.IndexCastOp(place.type, index).result, place).result
            hit = here if hit is None else arith.AndIOp(hit, here).result
        unsigned = ",ui" in str(op.results[0].type)
        linalg.YieldOp([_combined(combine, hit, new, old, unsigned)])
    result = ir.Operation.create("torch_c.from_builtin_tensor", [op.results[0].type],
                                 [reduction.results[0]]).result
    op.results[0].replace_all_uses_with(result)
    op.erase()


def _listed(value: ir.Value) -> list[ir.Value]:
    """The elements of a list that the graph puts together."""
    return list(value.owner.operands)


def _lower_at(ops: Sequence[ir.Operation]) -> None:
    for op in ops:
        with ir.InsertionPoint(op), op.location:
            _, dims_list, places_list, source, combine = op.operands
            dims = [integer(dim) for dim in _listed(dims_list)]
            places = _listed(places_list)
            rank = builtin_type(op.results[0].type).rank
            writes = list(range(rank, rank + builtin_type(places[0].type).rank))
            others = [d for d in range(rank) if d not in dims]
            _lower(op, dims, places, source, string(combine), (writes, writes + others),
                   len(writes))


def _lower_along(ops: Sequence[ir.Operation]) -> None:
    for op in ops:
        with ir.InsertionPoint(op), op.location:
            _, dim_value, places, source, combine = op.operands
            dim, rank = integer(dim_value), builtin_type(op.results[0].type).rank
            loops = [rank if d == dim else d for d in range(rank)]
            _lower(op, [dim], [places], source, string(combine), (loops, loops), 1)


LOWERINGS = {_AT: _lower_at, _ALONG: _lower_along}
