"""Ops of users (torch.library.custom_op): each becomes an op of its own dialect on tensors.

`mylib::scale(Tensor x, float factor) -> Tensor` becomes `"mylib.scale"(%x) {factor = 2.0 : f64}`.
What is no tensor becomes an attribute of the argument's name. docs/custom-ops.md says how such an op
is split and computed.
"""
from __future__ import annotations

from typing import Any

import torch
from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from ...errors import ExportError
from ..refusals import in_module
from .own_ops import builtin_type, to_builtin

# Namespaces of ops that torch, torch-mlir and tp bring.
_KNOWN = ("torch.aten.", "torch.prim", "torch.prims.", "torch.tp.", "torch.torchvision.",
          "torch.quantized_decomposed.")


def lower_custom_ops(module: ir.Module) -> bool:
    """Makes every op of a user's library an op of a dialect of its namespace; whether there is one.
    Raises ExportError."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "torch.operator" and _schema(_name(op)) is not None:
            found.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    if not found:
        return False
    with module.context:
        empty = ir.Module.create(ir.Location.unknown())
        PassManager.parse("builtin.module(torch-func-backend-type-conversion)").run(empty.operation)
        for op in found:
            with ir.InsertionPoint(op), op.location:
                _lower(op)
    return True


def _name(op: ir.Operation) -> str:
    name: str = ir.StringAttr(op.attributes["name"]).value
    return name


def _schema(name: str) -> Any:
    """The schema of an op that a user's library defines; None of others."""
    if name.startswith(_KNOWN) or not name.startswith("torch."):
        return None
    namespace, _, rest = name.removeprefix("torch.").partition(".")
    op, _, overload = rest.partition(".")
    packet = getattr(getattr(torch.ops, namespace), op, None)
    return None if packet is None else getattr(packet, overload or "default")._schema


def _lower(op: ir.Operation) -> None:
    name = _name(op)
    attributes: dict[str, ir.Attribute] = {}
    tensors: list[ir.Value] = []
    for argument, operand in zip(_schema(name).arguments, op.operands):
        if str(operand.type).startswith("!torch.vtensor"):
            tensors.append(to_builtin(operand))
        elif (attribute := _attribute(name, argument.name, operand)) is not None:
            attributes[argument.name] = attribute
    types = [builtin_type(result.type) for result in op.results]
    made = ir.Operation.create(name.removeprefix("torch."), types, tensors, attributes)
    for old, new in zip(op.results, made.results):
        old.replace_all_uses_with(
            ir.Operation.create("torch_c.from_builtin_tensor", [old.type], [new]).result)
    op.erase()


def _attribute(name: str, argument: str, value: ir.Value) -> ir.Attribute | None:
    """A constant operand as an attribute; None of None, which is left out."""
    owner = value.owner
    kind = owner.name.removeprefix("torch.")
    if kind == "constant.none":
        return None
    if kind in ("constant.int", "constant.float", "constant.str", "constant.bool"):
        return owner.attributes["value"]
    if kind == "prim.ListConstruct" and all(item.owner.name in ("torch.constant.int",
                                                                "torch.constant.float",
                                                                "torch.constant.bool")
                                            for item in owner.operands):
        return ir.ArrayAttr.get([item.owner.attributes["value"] for item in owner.operands])
    op = name.removeprefix("torch.")
    raise ExportError(f"{in_module('')}: {op}: argument '{argument}' is no tensor and no constant: "
                      "expected numbers, texts or lists of numbers", op=op)
