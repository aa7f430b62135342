"""Assertions where torch raises an error for the values of a tensor.

A graph of selections would write nothing at a place that is outside of its dimension, and a
division of integers by 0 has some result. So graphs have ops of tp's, which return what they are
given and become assertions for each element. No value of the program depends on these: a write of
one slice stays one.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch_mlir import ir
from torch_mlir.dialects import arith, linalg, tensor

from .own_ops import LIBRARY, integer, string, to_builtin

_PLACES, _CLASSES, _DIVISOR = "checked_places", "checked_classes", "checked_divisor"
LIBRARY.define(f"{_PLACES}(Tensor places, int low, int high, str op) -> Tensor")
LIBRARY.define(f"{_CLASSES}(Tensor classes, int count, int ignored, str op) -> Tensor")
LIBRARY.define(f"{_DIVISOR}(Tensor divisor, str op) -> Tensor")

LIBRARY.impl(_PLACES, lambda places, low, high, op: torch.empty_like(places), "Meta")
LIBRARY.impl(_CLASSES, lambda classes, count, ignored, op: torch.empty_like(classes), "Meta")
LIBRARY.impl(_DIVISOR, lambda divisor, op: torch.empty_like(divisor), "Meta")


# Graphs are lowered, so kernels compute constants alone, which a trace knows.


def _constant_places(places: torch.Tensor, low: int, high: int, op: str) -> torch.Tensor:
    if not bool(((places >= low) & (places <= high)).all()):
        raise IndexError(f"{op}: expected places from {low} to {high}, got {places.tolist()}")
    return places.clone()


def _constant_classes(classes: torch.Tensor, count: int, ignored: int, op: str) -> torch.Tensor:
    if not bool((((classes >= 0) & (classes < count)) | (classes == ignored)).all()):
        raise IndexError(f"{_class_message(op, count, ignored)}, got {classes.tolist()}")
    return classes.clone()


def _class_message(op: str, count: int, ignored: int) -> str:
    also = "" if 0 <= ignored < count else f", or {ignored}, which is ignored"
    return f"{op}: expected classes from 0 to {count - 1}{also}"


def _constant_divisor(divisor: torch.Tensor, op: str) -> torch.Tensor:
    if not bool((divisor != 0).all()):
        raise ZeroDivisionError(f"{op}: expected divisors other than 0")
    return divisor.clone()


LIBRARY.impl(_PLACES, _constant_places, "CPU")
LIBRARY.impl(_CLASSES, _constant_classes, "CPU")
LIBRARY.impl(_DIVISOR, _constant_divisor, "CPU")

CHECKED_PLACES = torch.ops.tp.checked_places.default
CHECKED_CLASSES = torch.ops.tp.checked_classes.default
CHECKED_DIVISOR = torch.ops.tp.checked_divisor.default


def checked(places: torch.Tensor, low: int, high: int, op: str) -> torch.Tensor:
    """The places that `op` writes to; the program fails where one is not from `low` to `high`."""
    result: torch.Tensor = CHECKED_PLACES(places, low, high, op)
    return result


# What has to hold of an element, by the operands of tp's op.
_Condition = Callable[[ir.Value], ir.Value]


def _are_inside(operands: Sequence[ir.Value]) -> tuple[str, _Condition]:
    low, high, op = integer(operands[1]), integer(operands[2]), string(operands[3])

    def condition(place: ir.Value) -> ir.Value:
        def number(value: int) -> ir.Value:
            return arith.ConstantOp(place.type, ir.IntegerAttr.get(place.type, value)).result
        return arith.AndIOp(
            arith.CmpIOp(arith.CmpIPredicate.sge, place, number(low)).result,
            arith.CmpIOp(arith.CmpIPredicate.sle, place, number(high)).result).result
    return f"{op}: expected places from {low} to {high}", condition


def _are_classes(operands: Sequence[ir.Value]) -> tuple[str, _Condition]:
    count, ignored, op = integer(operands[1]), integer(operands[2]), string(operands[3])

    def condition(place: ir.Value) -> ir.Value:
        def compared(predicate: arith.CmpIPredicate, value: int) -> ir.Value:
            number = arith.ConstantOp(place.type, ir.IntegerAttr.get(place.type, value)).result
            return arith.CmpIOp(predicate, place, number).result
        inside = arith.AndIOp(compared(arith.CmpIPredicate.sge, 0),
                              compared(arith.CmpIPredicate.slt, count)).result
        return arith.OrIOp(inside, compared(arith.CmpIPredicate.eq, ignored)).result
    return _class_message(op, count, ignored), condition


def _are_not_zero(operands: Sequence[ir.Value]) -> tuple[str, _Condition]:
    def condition(divisor: ir.Value) -> ir.Value:
        zero = arith.ConstantOp(divisor.type, ir.IntegerAttr.get(divisor.type, 0)).result
        return arith.CmpIOp(arith.CmpIPredicate.ne, divisor, zero).result
    return f"{string(operands[1])}: expected divisors other than 0", condition


def _lowering(
        meaning: Callable[[Sequence[ir.Value]], tuple[str, _Condition]]
) -> Callable[[Sequence[ir.Operation]], None]:
    def lower(ops: Sequence[ir.Operation]) -> None:
        made: set[tuple[ir.Value, str]] = set()
        for op in ops:
            value = op.operands[0]
            message, condition = meaning(list(op.operands))
            # All layers of a model write their caches at one place.
            if (value, message) not in made:
                made.add((value, message))
                with _behind(value), op.location:
                    _assert(to_builtin(value), message, condition)
            op.results[0].replace_all_uses_with(value)
            op.erase()
    return lower


def _behind(value: ir.Value) -> ir.InsertionPoint:
    """Before all layers, so that these stay alike."""
    if isinstance(value.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(value.owner)
    return ir.InsertionPoint.after(value.owner)


def _assert(value: ir.Value, message: str, condition: _Condition) -> None:
    """An op with a body that asserts. What it makes is not read."""
    value_type = ir.RankedTensorType(value.type)
    truth = ir.IntegerType.get_signless(1)
    empty = tensor.EmptyOp(value_type.shape, truth).result
    same = ir.AffineMapAttr.get(ir.AffineMap.get_identity(value_type.rank))
    check = linalg.GenericOp(
        [empty.type], [value], [empty], ir.ArrayAttr.get([same, same]),
        ir.ArrayAttr.get([ir.Attribute.parse("#linalg.iterator_type<parallel>")] * value_type.rank))
    body = check.regions[0].blocks.append(value_type.element_type, truth)
    with ir.InsertionPoint(body):
        holds = condition(body.arguments[0])
        ir.Operation.create("cf.assert", [], [holds], {"msg": ir.StringAttr.get(message)})
        linalg.YieldOp([holds])


LOWERINGS = {_PLACES: _lowering(_are_inside), _CLASSES: _lowering(_are_classes),
             _DIVISOR: _lowering(_are_not_zero)}
