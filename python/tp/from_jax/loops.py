"""Loops that count, as scf.for: tp-compile keeps a long loop, whose body runs many times."""
from __future__ import annotations

from typing import Any

from .rewrites import ops_of


def write_loops(module: Any) -> None:
    """Writes every stablehlo.while that counts up to a constant as scf.for. Others stay."""
    # Inner ones first.
    for loop in reversed(ops_of(module, ("stablehlo.while",))):
        bounds = _bounds(loop)
        if bounds:
            _write(loop, *bounds)


def _number(value: Any) -> int | None:
    """The integer that a value is, where it is a constant."""
    from jaxlib.mlir import ir
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.name != "stablehlo.constant":
        return None
    elements = owner.attributes["value"]
    return int(elements[0]) if isinstance(elements, ir.DenseIntElementsAttr) else None


def _bounds(loop: Any) -> tuple[int, int, int, int] | None:
    """Which of the loop's values counts, its first number, the end and the step: the loop goes on
    while that, to which each iteration adds a constant, is less than another constant."""
    from jaxlib.mlir import ir
    condition, body = loop.regions[0].blocks[0], loop.regions[1].blocks[0]
    test = list(condition.operations)
    if len(test) != 2 or test[0].operation.name != "stablehlo.compare":
        return None
    compare = test[0].operation
    if ("LT" not in str(compare.attributes["comparison_direction"])
            or test[1].operation.operands[0] != compare.results[0]
            or not isinstance(compare.operands[0].owner, ir.Block)
            or not str(compare.operands[0].type).startswith("tensor<i")):
        return None
    number = next((i for i, argument in enumerate(condition.arguments)
                   if argument == compare.operands[0]), None)
    end = _number(compare.operands[1])
    if number is None or end is None:
        return None
    first = _number(loop.operands[number])
    following = list(body.operations)[-1].operation.operands[number].owner
    if (first is None or isinstance(following, ir.Block) or following.name != "stablehlo.add"
            or following.operands[0] != body.arguments[number]):
        return None
    step = _number(following.operands[1])
    return (number, first, end, step) if step is not None and step > 0 else None


def _write(loop: Any, number: int, first: int, end: int, step: int) -> None:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import arith, scf, stablehlo
    body = loop.regions[1].blocks[0]
    last = list(body.operations)[-1].operation
    operands = list(loop.operands)
    counter = ir.RankedTensorType(operands[number].type)
    kept = [i for i, value in enumerate(last.operands)
            if value != body.arguments[i] and i != number]
    with ir.InsertionPoint(loop), loop.location:
        index = ir.IndexType.get()
        bounds = [arith.ConstantOp(index, ir.IntegerAttr.get(index, bound)).result
                  for bound in (first, end, step)]
        made = scf.ForOp(*bounds, [operands[i] for i in kept])
        after = max(first, first + -(-(end - first) // step) * step)
        counted = stablehlo.constant(ir.DenseElementsAttr.get_splat(
            counter, ir.IntegerAttr.get(counter.element_type, after)))
    with ir.InsertionPoint(made.body), loop.location:
        current = arith.IndexCastOp(counter.element_type, made.induction_variable).result
        current = ir.Operation.create("tensor.from_elements", [counter], [current]).results[0]
    inside, outside = list(operands), list(operands)
    inside[number], outside[number] = current, counted
    for place, i in enumerate(kept):
        inside[i], outside[i] = made.inner_iter_args[place], made.results[place]
    for argument, value in zip(body.arguments, inside, strict=True):
        argument.replace_all_uses_with(value)
    yielded = [last.operands[i] for i in kept]
    for op in list(body.operations)[:-1]:
        made.body.append(op)
    with ir.InsertionPoint(made.body), loop.location:
        scf.YieldOp(yielded)
    for result, value in zip(loop.results, outside, strict=True):
        result.replace_all_uses_with(value)
    loop.operation.erase()
