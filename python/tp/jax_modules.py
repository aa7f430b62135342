"""The modules of a JAX program: which of them a contraction or a lookup belongs to.

JAX has no modules. A parameter `layers.0.up.kernel` is one of the module `layers.0.up`, and the op
that reads it is the module's. Plans need this where a training step reads a weight several times.
"""
from __future__ import annotations

import os
import re
from collections.abc import Container
from typing import Any

from .model import Port

# Ops that only move the elements of a parameter or change their type.
_MOVES = ("stablehlo.transpose", "stablehlo.convert", "stablehlo.broadcast_in_dim",
          "stablehlo.reshape")
_READERS = ("stablehlo.dot_general", "stablehlo.dot", "stablehlo.gather",
            "stablehlo.convolution")
_ALIAS = re.compile(r"^(#loc\d*) = (loc\(.*\))$", re.MULTILINE)
_KEPT = re.compile(r'loc\("[^"]*"\("[^"]* op \d+"\)\)')
_FILE = re.compile(r'"([^"]+)":(\d+):\d+')


def mark_modules(function: Any, arguments: list[Port]) -> None:
    """Gives the readers of parameters the locations that docs/model-file.md describes; the node is
    named by the line of the user's. `function` is of StableHLO."""
    from jaxlib.mlir import ir
    number = 0
    for port, value in zip(arguments, function.arguments):
        module, dot, _ = port.name.rpartition(".")
        if port.kind != "parameter" or not dot:
            continue
        reached = [value]
        for moved in reached:
            for use in moved.uses:
                op = use.owner.operation
                if op.name in _MOVES:
                    reached.extend(op.results)
                elif op.name in _READERS and not _is_marked(op):
                    location = str(op.location)
                    line = _FILE.search(location)
                    where = f"{os.path.basename(line.group(1))}:{line.group(2)}" if line else "jax"
                    back = "bwd:" if "transpose(" in location else ""
                    op.location = ir.Location.name(
                        back + module, ir.Location.name(f"{where} op {number}"))
                    number += 1


def _is_marked(op: Any) -> bool:
    return _KEPT.fullmatch(str(op.location)) is not None


def text_with_modules(module: Any) -> str:
    """The text of a module whose other locations are left out."""
    text = str(module.operation.get_asm(enable_debug_info=True))
    aliases = dict(_ALIAS.findall(text))
    kept = {}
    for alias, location in aliases.items():
        whole = re.sub(r"#loc\d*", lambda match: aliases[match.group()][4:-1], location)
        if _KEPT.fullmatch(whole):
            kept[alias] = f"{alias} = {whole}"
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
