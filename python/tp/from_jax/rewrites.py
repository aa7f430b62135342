"""StableHLO ops of which jaxlib's lowering to linalg computes something else than XLA, or nothing."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_INTEGER = re.compile(r"(?P<unsigned>u?)i(?P<width>\d+)")
# Of a product, where its operands are of types of MLIR; `parts` is how many products it is made of.
_ALGORITHM = re.compile(
    r"lhs_precision_type = (?P<left>b?f\d\w*), rhs_precision_type = (?P<right>b?f\d\w*), .*"
    r"num_primitive_operations = (?P<parts>\d+)")
# Ops that have no elements as they are, or do more than to compute them.
_KEPT = ("stablehlo.constant", "stablehlo.custom_call")
# Bits of the significand, of the floats that conversions to integers start from.
_PRECISION = {"f32": 24, "f64": 53}


def rewrite_ops(module: Any) -> None:
    """Writes reductions, padding, conversions and what has no elements by ops that linalg has a form
    of."""
    _write_empty(module)
    # Inner ones first: an op goes with those inside of it.
    for op in reversed(ops_of(module, _REWRITES)):
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


def _is_empty(value: Any) -> bool:
    from jaxlib.mlir import ir
    return isinstance(value.type, ir.RankedTensorType) and 0 in value.type.shape


def _write_empty(module: Any) -> None:
    """An array without elements is a constant, whatever computes it."""
    from jaxlib.mlir import ir
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name.startswith("stablehlo.") and op.name not in _KEPT and any(
                map(_is_empty, op.results)):
            found.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in reversed(found):
        empty = list(filter(_is_empty, op.results))
        for result in empty:
            # Attributes of complex numbers have no class in Python.
            constant = ir.Operation.parse(f"stablehlo.constant dense<> : {result.type}")
            constant.location = op.location
            ir.InsertionPoint(op).insert(constant)
            result.replace_all_uses_with(constant.results[0])
        if len(empty) == len(op.results):
            op.erase()


def _fill(op: Any, results: Any, values: Any) -> None:
    """Writes results whose elements are all one scalar."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    with ir.InsertionPoint(op), op.location:
        for result, value in zip(results, values, strict=True):
            result.replace_all_uses_with(stablehlo.broadcast_in_dim(result.type, value, []))
    op.erase()


def _drop_reduction(op: Any) -> None:
    """A reduction of no dimension changes no value, and one of no elements is its initial value,
    which is neutral."""
    count = len(op.results)
    values, initial = list(op.operands)[:count], list(op.operands)[count:]
    if _is_empty(values[0]):
        _fill(op, op.results, initial)
    elif not list(op.attributes["dimensions"]):
        for operand, result in zip(values, op.results):
            result.replace_all_uses_with(operand)
        op.erase()


def _fill_windows(op: Any) -> None:
    """Windows without elements have the initial value, as in XLA, where padding has it too."""
    if _is_empty(op.operands[0]):
        _fill(op, op.results, list(op.operands)[len(op.results):])


def _fill_padding(op: Any) -> None:
    """What is around and between no elements is padding alone."""
    if _is_empty(op.operands[0]):
        _fill(op, op.results, [op.operands[1]])


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


def _leave_algorithm(op: Any) -> None:
    """A product as an algorithm of XLA has it (`BF16_BF16_F32`, as jax.nn.dot_product_attention
    takes): operands are rounded to the algorithm's type, and sums are at least as wide in any case.
    Algorithms that make one wide product of several narrow ones are the wide product. What rounds to
    a type that MLIR has no tensors of (TF32) stays, and is refused."""
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo
    if "algorithm" not in op.attributes:
        return
    algorithm = _ALGORITHM.search(str(op.attributes["algorithm"]))
    if algorithm is None:
        return
    if algorithm["parts"] == "1":
        for number, name in enumerate((algorithm["left"], algorithm["right"])):
            operand = op.operands[number]
            narrow = ir.Type.parse(name)
            if operand.type.element_type == narrow:
                continue
            with ir.InsertionPoint(op), op.location:
                rounded = stablehlo.convert(
                    ir.RankedTensorType.get(operand.type.shape, narrow), operand)
                op.operands[number] = stablehlo.convert(operand.type, rounded)
    del op.attributes["algorithm"]


_REWRITES: dict[str, Callable[[Any], None]] = {
    "stablehlo.reduce": _drop_reduction,
    "stablehlo.reduce_window": _fill_windows,
    "stablehlo.pad": _fill_padding,
    "stablehlo.convert": _saturate,
    "stablehlo.dot_general": _leave_algorithm,
}
