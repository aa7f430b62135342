"""StableHLO ops of which jaxlib's lowering to linalg computes something else than XLA, or nothing."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_INTEGER = re.compile(r"(?P<unsigned>u?)i(?P<width>\d+)")
# Bits of the significand, of the floats that conversions to integers start from.
_PRECISION = {"f32": 24, "f64": 53}


def rewrite_ops(module: Any) -> None:
    """Writes reductions, slices and conversions by ops that linalg has a form of."""
    for op in ops_of(module, _REWRITES):
        _REWRITES[op.operation.name](op)


def ops_of(module: Any, names: Any) -> list[Any]:
    """The ops of these names, each before those inside of it."""
    from jaxlib.mlir import ir
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name in names:
            found.append(op.opview)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _drop_reduction(op: Any) -> None:
    """A reduction of no dimension changes no value: its initial value is neutral."""
    if not list(op.attributes["dimensions"]):
        values = list(op.operands)[:len(op.results)]
        for operand, result in zip(values, op.results):
            result.replace_all_uses_with(operand)
        op.erase()


def _start_at_zero(op: Any) -> None:
    """An empty slice may begin at the end of its dimension, where linalg's may not."""
    from jaxlib.mlir import ir
    begins, ends = list(op.start_indices), list(op.limit_indices)
    if not any(begin and begin == end for begin, end in zip(begins, ends)):
        return
    for name, values in (("start_indices", begins), ("limit_indices", ends)):
        op.attributes[name] = ir.DenseI64ArrayAttr.get(
            [0 if begin == end else value for value, begin, end in zip(values, begins, ends)])


def _saturate(op: Any) -> None:
    """A float beyond an integer type becomes its least or greatest number, and NaN zero, as in XLA.
    linalg's conversion is undefined there."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    source, result = ir.RankedTensorType(op.operands[0].type), ir.RankedTensorType(
        op.results[0].type)
    name, integer = str(source.element_type), _INTEGER.fullmatch(str(result.element_type))
    if not name.startswith(("f", "bf")) or not integer or integer["width"] == "1":
        return  # a conversion to i1 compares with zero
    bits = int(integer["width"]) - (not integer["unsigned"])
    shape = list(source.shape)
    with ir.InsertionPoint(op), op.location:
        value = op.operands[0]
        if name not in _PRECISION:  # f32 holds them, and what lies beyond them
            name = "f32"
            value = stablehlo.convert(ir.RankedTensorType.get(shape, ir.F32Type.get()), value)
        excess = max(0, bits - _PRECISION[name])
        last = (1 << bits) - (1 << excess)  # the last integer that is such a float too
        least = 0 if integer["unsigned"] else -(1 << bits)
        number = _compared("EQ", value, value)
        number = stablehlo.select(number, value, _splat("0.0", shape, name))
        inside = stablehlo.clamp(_splat(f"{least}.0", [], name), number,
                                 _splat(f"{last}.0", [], name))
        converted = stablehlo.convert(result, inside)
        if excess:
            beyond = _compared("GT", number, _splat(f"{last}.0", shape, name))
            greatest = _splat(str((1 << bits) - 1), shape, integer[0])
            converted = stablehlo.select(beyond, greatest, converted)
    op.results[0].replace_all_uses_with(converted)
    op.erase()


def _splat(number: str, shape: list[int], element: str) -> Any:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    type_text = "x".join([*map(str, shape), element])
    return stablehlo.constant(ir.Attribute.parse(f"dense<{number}> : tensor<{type_text}>"))


def _compared(direction: str, left: Any, right: Any) -> Any:
    from jaxlib.mlir.dialects import stablehlo
    return stablehlo.compare(left, right, stablehlo.ComparisonDirectionAttr.get(direction))


_REWRITES: dict[str, Callable[[Any], None]] = {
    "stablehlo.reduce": _drop_reduction,
    "stablehlo.slice": _start_at_zero,
    "stablehlo.convert": _saturate,
}
