"""Ops of tp's own in a graph of torch's ops. They become ops of linalg before torch-mlir's passes
run, so that none of these can take one for an op of torch's."""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import torch
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

LIBRARY = torch.library.Library("tp", "FRAGMENT")

# Takes all ops of one name, in order. Each is erased.
Lowering = Callable[[Sequence[ir.Operation]], None]


def lower_own_ops(module: ir.Module, lowerings: Mapping[str, Lowering]) -> None:
    """Makes every op `tp.NAME` of an imported graph ops of linalg, by the lowering of its name."""
    found: dict[str, list[ir.Operation]] = {f"torch.tp.{name}": [] for name in lowerings}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "torch.operator":
            ops = found.get(ir.StringAttr(op.attributes["name"]).value)
            if ops is not None:
                ops.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    if not any(found.values()):
        return
    with module.context:
        # Only passes load the dialect that casts between torch's tensors and MLIR's.
        empty = ir.Module.create(ir.Location.unknown())
        PassManager.parse("builtin.module(torch-func-backend-type-conversion)").run(empty.operation)
        for name, lowering in lowerings.items():
            lowering(found[f"torch.tp.{name}"])


def builtin_type(vtensor: ir.Type) -> ir.RankedTensorType:
    """MLIR's tensor type of one of torch's: `!torch.vtensor<[8,4],f32>` has it in its text."""
    match = re.fullmatch(r"!torch\.vtensor<\[([0-9,]*)\],(\w+)>", str(vtensor))
    assert match, str(vtensor)
    sizes = [int(size) for size in match.group(1).split(",") if size]
    element = match.group(2)
    # torch's integers have signs, linalg's have none.
    return ir.RankedTensorType.get(sizes, ir.Type.parse(re.sub(r"^[su]i", "i", element)))


def to_builtin(value: ir.Value) -> ir.Value:
    """MLIR's tensor of one of torch's."""
    return ir.Operation.create("torch_c.to_builtin_tensor", [builtin_type(value.type)],
                               [value]).result


def integer(value: ir.Value) -> int:
    """The number that a constant operand is."""
    number: int = ir.IntegerAttr(value.owner.attributes["value"]).value
    return number


def real(value: ir.Value) -> float:
    """The number that a constant operand is, of a type with a fraction."""
    number: float = ir.FloatAttr(value.owner.attributes["value"]).value
    return number


def string(value: ir.Value) -> str:
    """The text that a constant operand is."""
    text: str = ir.StringAttr(value.owner.attributes["value"]).value
    return text
