"""Calls of jitted functions, written out: `jax.jit` in a function makes a private function of the
program, and a weight that it is given is read there.

Functions of JAX's own that read no weight stay, as those of `jax.random`: tp writes them out itself.
"""
from __future__ import annotations

from typing import Any

from ..model import Port
from .modules import place_in_caller, readers, user_line
from .rewrites import ops_of


def inline_own(module: Any) -> None:
    """Writes out the calls of functions that have lines of the user's. `module` is of StableHLO."""
    functions = _functions(module)
    own: dict[str, bool] = {}

    def is_own(name: str) -> bool:
        if name not in own:
            own[name] = _has_line(functions[name]) or any(
                is_own(_callee(call)) for call in _calls(functions[name]))
        return own[name]
    calls = _calls(functions["main"])
    for call in calls:
        if is_own(_callee(call)):
            calls.extend(_inline(call, functions[_callee(call)]))


def inline_readers(module: Any, function: Any, arguments: list[Port]) -> None:
    """Writes out the calls of other functions that are given a parameter, as that of `jnp.take`."""
    functions = _functions(module)
    for port, value in zip(arguments, function.arguments, strict=True):
        if port.kind != "parameter":
            continue
        while calls := [op for op in readers(value) if op.name == "func.call"]:
            _inline(calls[0], functions[_callee(calls[0])])


def _functions(module: Any) -> dict[str, Any]:
    from jaxlib.mlir import ir
    return {ir.StringAttr(op.attributes["sym_name"]).value: op.operation
            for op in module.body.operations if op.operation.name == "func.func"}


def _callee(call: Any) -> str:
    from jaxlib.mlir import ir
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def _calls(op: Any) -> list[Any]:
    return [found.operation for found in ops_of(op, ("func.call",))]


def _has_line(function: Any) -> bool:
    """Whether an op in a function is of the user's code."""
    from jaxlib.mlir import ir
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "func.func" or not user_line(str(op.location)):
            return ir.WalkResult.ADVANCE
        found.append(op)
        return ir.WalkResult.INTERRUPT
    function.walk(visit, ir.WalkOrder.PRE_ORDER)
    return bool(found)


def _inline(call: Any, callee: Any) -> list[Any]:
    """Writes the ops of a function in place of its call; returns the calls among them."""
    copy = callee.clone()
    block = copy.regions[0].blocks[0]
    for argument, operand in zip(block.arguments, call.operands, strict=True):
        argument.replace_all_uses_with(operand)
    *ops, returned = (op.operation for op in block.operations)
    calls: list[Any] = []
    for op in ops:
        op.move_before(call)
        place_in_caller(op, call.location)
        calls += _calls(op)
    for result, value in zip(call.results, returned.operands, strict=True):
        result.replace_all_uses_with(value)
    copy.erase()
    call.erase()
    return calls
