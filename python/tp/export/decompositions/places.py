"""Checks of the places that a program writes to.

torch raises where a place is outside of its dimension. A graph of selections would write nothing
there, so it has an op of tp's, `tp.checked_places`, which becomes an assertion for each place. No
value of the program depends on it: a write of one slice stays one.
"""
from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_mlir import ir
from torch_mlir.dialects import arith, linalg, tensor

from .own_ops import LIBRARY, integer, string, to_builtin

_NAME = "checked_places"
LIBRARY.define(f"{_NAME}(Tensor places, int low, int high, str op) -> Tensor")


def _result(places: torch.Tensor, low: int, high: int, op: str) -> torch.Tensor:
    """A tensor of the result's shape and type."""
    return torch.empty_like(places)


# Graphs are lowered, so no kernel computes it.
LIBRARY.impl(_NAME, _result, "Meta")

OP = torch.ops.tp.checked_places.default


def checked(places: torch.Tensor, low: int, high: int, op: str) -> torch.Tensor:
    """The places that `op` writes to; the program fails where one is not from `low` to `high`."""
    result: torch.Tensor = OP(places, low, high, op)
    return result


def _lower(ops: Sequence[ir.Operation]) -> None:
    made: set[tuple[ir.Value, int, int, str]] = set()
    for op in ops:
        places, low, high = op.operands[0], integer(op.operands[1]), integer(op.operands[2])
        name = string(op.operands[3])
        # All layers of a model write their caches at one place.
        if (places, low, high, name) not in made:
            made.add((places, low, high, name))
            with _behind(places), op.location:
                _check(to_builtin(places), low, high, name)
        op.results[0].replace_all_uses_with(places)
        op.erase()


def _behind(value: ir.Value) -> ir.InsertionPoint:
    """Before all layers, so that these stay alike."""
    if isinstance(value.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(value.owner)
    return ir.InsertionPoint.after(value.owner)


def _check(places: ir.Value, low: int, high: int, name: str) -> None:
    """An op with a body that asserts. What it makes is not read."""
    place_type = ir.RankedTensorType(places.type)
    truth = ir.IntegerType.get_signless(1)
    empty = tensor.EmptyOp(place_type.shape, truth).result
    same = ir.AffineMapAttr.get(ir.AffineMap.get_identity(place_type.rank))
    check = linalg.GenericOp(
        [empty.type], [places], [empty], ir.ArrayAttr.get([same, same]),
        ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * place_type.rank))
    element = place_type.element_type
    body = check.regions[0].blocks.append(element, truth)
    with ir.InsertionPoint(body):
        def number(value: int) -> ir.Value:
            return arith.ConstantOp(element, ir.IntegerAttr.get(element, value)).result
        place = body.arguments[0]
        is_inside = arith.AndIOp(
            arith.CmpIOp(arith.CmpIPredicate.sge, place, number(low)).result,
            arith.CmpIOp(arith.CmpIPredicate.sle, place, number(high)).result).result
        ir.Operation.create("cf.assert", [], [is_inside], {
            "msg": ir.StringAttr.get(f"{name}: expected places from {low} to {high}")})
        linalg.YieldOp([is_inside])


LOWERINGS = {_NAME: _lower}
