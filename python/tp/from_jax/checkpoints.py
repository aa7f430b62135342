"""What jax.checkpoint computes again, and what from.

JAX writes the second computation into the program: it starts at the results of a
`stablehlo.optimization_barrier` in the backward pass. A barrier changes no value, but without it
the second computation is merged with the first. `tp.kept` (docs/model-file.md) does for one value
what a barrier does for several.
"""
from __future__ import annotations

from typing import Any

from ..model import Port

# Ops that only choose or move elements of a value, or change their type.
_MOVES = ("stablehlo.transpose", "stablehlo.convert", "stablehlo.broadcast_in_dim",
          "stablehlo.reshape", "stablehlo.slice", "stablehlo.dynamic_slice")


def keep_residuals(module: Any, function: Any, arguments: list[Port]) -> None:
    """Writes `tp.kept` in place of barriers. `module` is of StableHLO before `write_loops`,
    `function` its main function, which has these arguments.

    What a barrier alone reads is not kept, as most cotangents are: nothing else is computed from
    it that could be merged. Nor are weights, which are there at any time.
    """
    from jaxlib.mlir import ir

    from .rewrites import ops_of
    module.context.allow_unregistered_dialects = True
    functions = ir.SymbolTable(module.operation)
    weights = [value for value, port in zip(function.arguments, arguments)
               if port.kind in ("parameter", "constant_tensor")]
    for op in ops_of(module, ("stablehlo.optimization_barrier",)):
        for operand, result in zip(list(op.operands), list(op.results)):
            value = operand
            if (_is_merged(operand, result, functions)
                    and not _is_weight(operand, weights, functions)):
                value = ir.Operation.create(
                    "tp.kept", results=[operand.type], operands=[operand], loc=op.location,
                    ip=ir.InsertionPoint(op)).result
            result.replace_all_uses_with(value)
        op.erase()


def _is_merged(operand: Any, result: Any, functions: Any) -> bool:
    """Whether something may be computed both of what the barrier reads and of its result. An
    iteration of a scan reads its part of what the iterations of the forward pass have stacked, which
    is what these read where both loops are unrolled."""
    from jaxlib.mlir import ir
    tensor = ir.RankedTensorType(operand.type)
    # jaxlib's lowering does not convert unsigned types of ops that it does not know.
    if not tensor.shape or str(tensor.element_type).startswith("ui"):
        return False
    if not any(True for _ in result.uses):
        return False
    return len(list(operand.uses)) > 1 or _moved(operand, functions) is not None


def _moved(value: Any, functions: Any) -> Any:
    """What a value has nothing but elements of, or None; jax slices by functions, too."""
    from jaxlib.mlir import ir
    if isinstance(value, ir.BlockArgument):
        return None
    op = value.owner
    if op.name != "func.call":
        return op.operands[0] if op.name in _MOVES else None
    body = list(functions[ir.FlatSymbolRefAttr(op.attributes["callee"]).value].regions[0].blocks[0])
    inner = body[-1].operands[value.result_number]
    while inner is not None and not isinstance(inner, ir.BlockArgument):
        inner = _moved(inner, functions)
    return None if inner is None else op.operands[inner.arg_number]


def _is_weight(value: Any, weights: list[Any], functions: Any) -> bool:
    """Whether a value has nothing but elements of one weight."""
    from jaxlib.mlir import ir
    while value is not None and value not in weights:
        if isinstance(value, ir.BlockArgument):
            loop, number = value.owner.owner, value.arg_number
            # What a loop passes on as it is.
            if (loop.name != "stablehlo.while"
                    or list(value.owner.operations)[-1].operands[number] != value):
                return False
            value = loop.operands[number]
        else:
            value = _moved(value, functions)
    return value is not None
