"""Where the ops of a JAX program are from: the module of a contraction or a lookup, and lines.

JAX has no modules. A parameter `layers.0.up.kernel` is one of the module `layers.0.up`, and the op
that reads it is the module's. Plans need this where a training step reads a weight several times.
Other ops are named by the user's line, their scope and the primitive: `model.py:14 mlp/tanh`.
"""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Container
from typing import Any

from ..model import Port

# Ops that only move elements of a parameter or change their type, as an iteration of a scan that
# takes its layer out of a stack.
_MOVES = ("stablehlo.transpose", "stablehlo.convert", "stablehlo.broadcast_in_dim",
          "stablehlo.reshape", "stablehlo.slice", "stablehlo.dynamic_slice")
_READERS = ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.gather",
            "stablehlo.convolution")
_ALIAS = re.compile(r"^(#loc\d*) = (loc\(.*\))$", re.MULTILINE)
_MARKED = re.compile(r'loc\("([^"]*)"\("([^"]* op \d+)"\)\)')
_KEPT = re.compile(_MARKED.pattern + r'|loc\("[^"]*"\)')
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_FILE = re.compile(r'"([^"]+\.\w+|<\w+>)":(\d+):\d+')
# In a location of JAX `jit(f)/transpose(jvp(mlp))/tanh`: functions, and what is done to a scope.
_STACK = re.compile(r'loc\((?:callsite\()*"([^"]+)"\(')
_FUNCTION = re.compile(r"\bp?jit\([^()]*\)")
_TRANSFORM = re.compile(r"\w*\(|\)")
_LOOP = re.compile(r"(^|/)while/(body|cond)(?=/|$)")
# What holds ops of the program, not those of one element.
_PROGRAM = ("func.func", "scf.for", "scf.if")


def mark_modules(function: Any, arguments: list[Port]) -> None:
    """Gives the readers of parameters the locations that docs/model-file.md describes; the node is
    named by the line of the user's. `function` is of StableHLO."""
    from jaxlib.mlir import ir
    number = 0
    for port, value in zip(arguments, function.arguments, strict=True):
        module, dot, _ = port.name.rpartition(".")
        if port.kind != "parameter" or not dot:
            continue
        for op in readers(value):
            if op.name in _READERS and not _is_marked(op):
                location = str(op.location)
                op.location = ir.Location.name(
                    _backward(location) + module,
                    ir.Location.name(f"{_line(location)} op {number}"))
                number += 1


def readers(value: Any) -> list[Any]:
    """The ops that read a value, or one that has nothing but its elements."""
    found: list[Any] = []
    reached = [value]
    for moved in reached:
        for use in moved.uses:
            op = use.owner.operation
            found.append(op)
            if op.name in _MOVES:
                reached.extend(op.results)
    return found


def mark_lines(module: Any) -> None:
    """Gives every other op of the functions and of loops the name of its line; those that compute an
    element have none, nor those of JAX's own functions: tp names these by the call."""
    from jaxlib.mlir import ir
    names: dict[str, Any] = {}
    is_called = False

    def visit(op: Any) -> Any:
        location = str(op.location)
        if op.name == "func.func":
            return ir.WalkResult.ADVANCE
        if op.parent.name not in _PROGRAM or is_called and not user_line(location):
            if not _MARKED.search(location):
                op.location = ir.Location.unknown()
            return ir.WalkResult.ADVANCE
        if location not in names:
            marked = _MARKED.search(location)
            names[location] = (
                ir.Location.name(marked.group(1), ir.Location.name(marked.group(2))) if marked
                else ir.Location.name(_place(location)))
        op.location = names[location]
        return ir.WalkResult.ADVANCE
    for function in module.body.operations:
        is_called = is_private(function)
        function.operation.walk(visit, ir.WalkOrder.PRE_ORDER)


def place_in_caller(op: Any, call: Any) -> None:
    """Gives an op of a called function, and those inside of it, the scopes of the call's location.
    An op of a function of JAX's own has the location of its call."""
    from jaxlib.mlir import ir
    outer = _STACK.search(str(call))

    def visit(each: Any) -> Any:
        location = str(each.location)
        inner = _STACK.search(location)
        if not user_line(location):
            each.location = call
        elif outer:
            name = f"{outer.group(1)}/{inner.group(1)}" if inner else outer.group(1)
            each.location = ir.Location.name(name, each.location)
        return ir.WalkResult.ADVANCE
    op.walk(visit, ir.WalkOrder.PRE_ORDER)


def is_private(function: Any) -> bool:
    """Whether only functions of the module may call it."""
    attributes = function.operation.attributes
    return "sym_visibility" in attributes and "private" in str(attributes["sym_visibility"])


def _place(location: str) -> str:
    """`model.py:14 mlp/tanh` of a location of JAX."""
    stack = _STACK.search(location)
    scopes = _LOOP.sub("", _TRANSFORM.sub("", _FUNCTION.sub("", stack.group(1)))) if stack else ""
    name = "/".join(scope for scope in scopes.split("/") if scope)
    return f"{_line(location)} {_backward(location)}{name}".rstrip(" :")


def user_line(location: str) -> tuple[str, str] | None:
    """The file and the line of the innermost line of the user's: jax leaves its own lines out of
    locations."""
    return next(((path, line) for path, line in _FILE.findall(location)
                 if not path.startswith(_PACKAGE)), None)


def _line(location: str) -> str:
    found = user_line(location)
    return f"{os.path.basename(found[0])}:{found[1]}" if found else "jax"


def _backward(location: str) -> str:
    return "bwd:" if "transpose(" in location else ""


def _is_marked(op: Any) -> bool:
    return _MARKED.fullmatch(str(op.location)) is not None


def text_with_modules(module: Any) -> str:
    """The text of a module whose other locations are left out."""
    return text_with_locations(module, lambda location: _KEPT.fullmatch(location) is not None)


def text_with_locations(module: Any, is_kept: Callable[[str], bool]) -> str:
    """The text of a module with those locations that are kept, as `loc("model.py:24 tanh")`."""
    text = str(module.operation.get_asm(enable_debug_info=True))
    aliases = dict(_ALIAS.findall(text))

    def whole(location: str) -> str:
        return re.sub(r"#loc\d*", lambda match: whole(aliases[match.group()])[4:-1], location)
    kept = {alias: f"{alias} = {whole(location)}" for alias, location in aliases.items()
            if is_kept(whole(location))}
    lines = [_without_locations(line, kept) for line in text.splitlines()
             if not line.startswith("#loc")]
    return "\n".join([*kept.values(), *lines]) + "\n"


def _without_locations(line: str, kept: Container[str]) -> str:
    """The line with none but the kept locations. `loc(` in a string is text."""
    parts: list[str] = []
    end = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"| loc\(', line):
        if match.start() < end or match.group() != " loc(":
            continue
        close = _close(line, match.end())
        if line[match.end():close - 1] not in kept:
            parts.append(line[end:match.start()])
            end = close
    return "".join(parts) + line[end:]


def _close(line: str, begin: int) -> int:
    """Behind the parenthesis that closes the one before `begin`."""
    depth = 1
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[()]', line[begin:]):
        depth += {"(": 1, ")": -1}.get(match.group(), 0)
        if depth == 0:
            return begin + match.end()
    raise AssertionError(f"a location without an end: {line}")
