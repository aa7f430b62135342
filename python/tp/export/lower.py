"""A graph of torch ops as linalg on tensors, by torch-mlir.

The graph may come from torch.export or from make_fx; every placeholder is a tensor and becomes an
argument, so no weight is frozen into a constant.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_dialect
from torch_mlir.extras.fx_importer import ContextCache, FxImporter
from torch_mlir.passmanager import PassManager

from ..errors import ExportError
from ..model import Port, keys_of
from .decompositions import assertions, philox, written_rows
from .decompositions.custom_ops import lower_custom_ops
from .decompositions.own_ops import lower_own_ops
from .marks import ModuleRow
from .refusals import in_module, module_path

_TO_BACKEND = ("builtin.module(func.func(torch-match-quantized-custom-ops),"
               "torchdynamo-export-to-torch-backend-pipeline{extra-library=})")
_TO_LINALG = ("builtin.module(torch-backend-to-linalg-on-tensors-backend-pipeline"
              "{allow-non-finites=true})")

# Its last pass, which knows no dialect of a user; _refuse_foreign_ops looks for what is left.
_VERIFY = ",torch-verify-linalg-on-tensors-backend-contract"


class _LocatedNodes(ContextCache):
    """Gives every op the location "module path"("graph node")."""

    __slots__ = ["path_of"]

    def get_node_location(self, node: torch.fx.Node) -> ir.Location:
        inner = ir.Location.name(node.name, context=self._c)
        return ir.Location.name(self.path_of(node), inner, context=self._c)


def lower(graph: torch.fx.Graph, arguments: Sequence[Port], results: Sequence[Port],
          modules: Sequence[ModuleRow], aliases: Mapping[str, Sequence[str]],
          path_of: Callable[[torch.fx.Node], str] = module_path,
          recomputed: Sequence[str] = ()) -> str:
    """The text of a module whose function `main` computes the graph.

    Args:
        graph: functional, of ops that decompositions.py leaves. Its placeholders are the
            arguments; its output is a tuple of the results.
        arguments, results: their ports, in order.
        modules: the rows of the module table; none where the graph has no table.
        aliases: of a tied weight that the graph reads, its other names.
        path_of: the module that a node is located in; `bwd:PATH` for a node of the backward pass.
        recomputed: the modules that the backward pass computes again.

    Raises:
        ExportError: an op has no form in linalg.
    """
    context = ir.Context()
    context.allow_unregistered_dialects = True
    torch_dialect.register_dialect(context)
    importer = FxImporter(context=context)
    cache = _LocatedNodes(context, py_attr_tracker=importer._py_attr_tracker)
    cache.path_of = path_of
    importer._cc = cache
    try:
        importer.import_stateless_graph(graph, func_name="main")
    except ExportError:
        raise
    except Exception as error:
        raise _import_error(graph, path_of, error) from error
    module = importer.module
    lower_own_ops(module, {**written_rows.LOWERINGS, **assertions.LOWERINGS, **philox.LOWERINGS})
    has_custom_ops = lower_custom_ops(module)
    for pipeline in (_TO_BACKEND, _TO_LINALG):
        _run(module, pipeline, without=_VERIFY if has_custom_ops else "")
    with context, ir.Location.unknown(context):
        _refuse_foreign_ops(module)
        _describe(module, arguments, results, modules, aliases, recomputed)
        text: str = module.operation.get_asm(enable_debug_info=True)
        return text


def _run(module: ir.Module, pipeline: str, without: str = "") -> None:
    """Runs the passes, but for those in `without`. Raises ExportError with the op that stopped them."""
    found: list[tuple[str, str]] = []

    def note(diagnostic: Any) -> bool:
        if diagnostic.severity == ir.DiagnosticSeverity.ERROR:
            found.append((str(diagnostic.location), diagnostic.message))
        return True
    handler = module.context.attach_diagnostic_handler(note)
    module.context.emit_error_diagnostics = True
    try:
        passes = PassManager.parse(pipeline, module.context)
        if without and without in str(passes):
            passes = PassManager.parse(str(passes).replace(without, ""), module.context)
        passes.run(module.operation)
    except ir.MLIRError as error:
        location, message = found[0] if found else ("", str(error))
        raise _pipeline_error(location, message, _readers_at(module, location)) from error
    finally:
        handler.detach()


def _readers_at(module: ir.Module, location: str) -> list[str]:
    """The ops that read a constant of torch's graph with this location."""
    names: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.startswith("torch.constant.") and str(op.location) == location:
            for use in op.results[0].uses:
                name = use.owner.operation.name.removeprefix("torch.")
                if name.startswith("aten.") and name not in names:
                    names.append(name)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return names


def _pipeline_error(location: str, message: str, readers: Sequence[str]) -> ExportError:
    """What stopped torch-mlir: the op, and the module of its location. Where it names a constant,
    it means an op that reads it."""
    path = _first(r'loc\("([^"]*)"\(', location)
    op = (_first(r'name = "torch\.([^"]+)"', message)
          or _first(r"operator '(?:torch\.)?([^']+)'", message)
          or _first(r"legalize operation '(?:torch\.)?([^']+)'", message)
          or _first(r"'torch\.([a-z0-9_.A-Z]+)'", message))
    if op and not op.startswith("aten.") and readers:
        op = " or ".join(readers)
    if op:
        return ExportError(f"{in_module(path)}: {op} has no form in linalg that torch-mlir knows: "
                           "write it by simpler ops", module=path, op=op)
    return ExportError(f"{in_module(path)}: {message.splitlines()[0]}", module=path)


def _first(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match.group(1) if match else None


def _import_error(graph: torch.fx.Graph, path_of: Callable[[torch.fx.Node], str],
                  error: Exception) -> ExportError:
    """What torch-mlir's importer did not take, with the node if the message names its op."""
    text = str(error) or type(error).__name__
    for node in graph.nodes:
        if node.op == "call_function" and str(node.target) in text:
            path = path_of(node)
            return ExportError(f"{in_module(path)}: {node.target} cannot be imported: {text}",
                               module=path, op=str(node.target))
    return ExportError(f"torch-mlir cannot import the graph: {text}")


# Dialects of torch-mlir of which nothing may be left.
_FOREIGN = ("tm_tensor", "torch", "torch_c")


def _refuse_foreign_ops(module: ir.Module) -> None:
    found: list[tuple[str, str]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name.partition(".")[0] not in _FOREIGN:
            return ir.WalkResult.ADVANCE
        found.append((op.name, str(op.location)))
        return ir.WalkResult.INTERRUPT
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for name, location in found:
        path = _first(r'loc\("([^"]*)"\(', location)
        raise ExportError(f"{in_module(path)}: {name} has no form in linalg: write it by simpler "
                          "ops", module=path, op=name)


def _describe(module: ir.Module, arguments: Sequence[Port], results: Sequence[Port],
              modules: Sequence[ModuleRow], aliases: Mapping[str, Sequence[str]],
              recomputed: Sequence[str]) -> None:
    """Sets the attributes that docs/model-file.md describes."""
    function = next(op for op in module.body.operations if op.operation.name == "func.func")
    names = {name for port, key in zip(arguments, keys_of(arguments))
             for name in (key, f"{port.kind}:{port.name}")}
    function.attributes["arg_attrs"] = ir.ArrayAttr.get(
        [_port(port, aliases.get(key, ())) for port, key in zip(arguments, keys_of(arguments))])
    function.attributes["res_attrs"] = ir.ArrayAttr.get([_port(port) for port in results])
    assert len(function.arguments) == len(arguments) and len(function.type.results) == len(results)
    _restore_unsigned(function, arguments, results)
    assert all(port.updates is None or port.updates in names for port in results)
    if recomputed:
        function.attributes["tp.recompute"] = ir.ArrayAttr.get(
            [ir.StringAttr.get(name) for name in recomputed])
    if modules:
        module.operation.attributes["tp.modules"] = ir.ArrayAttr.get([_row(row) for row in modules])


def _restore_unsigned(function: Any, arguments: Sequence[Port], results: Sequence[Port]) -> None:
    """Gives unsigned ports their types back: torch-mlir's passes drop the sign, and files of
    unsigned numbers would not fit."""
    body = function.entry_block
    with ir.InsertionPoint.at_block_begin(body):
        for argument, port in zip(body.arguments, arguments):
            if port.dtype.startswith("u"):
                signless = argument.type
                argument.set_type(_unsigned(signless))
                cast = ir.Operation.create("builtin.unrealized_conversion_cast", [signless],
                                           [argument], loc=argument.location)
                argument.replace_all_uses_except(cast.result, cast)
    last = body.operations[len(body.operations) - 1]
    with ir.InsertionPoint(last):
        for i, port in enumerate(results):
            if port.dtype.startswith("u"):
                value = last.operands[i]
                last.operands[i] = ir.Operation.create(
                    "builtin.unrealized_conversion_cast", [_unsigned(value.type)], [value],
                    loc=last.location).result
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(
        [argument.type for argument in body.arguments],
        [operand.type for operand in last.operands]))


def _unsigned(signless: Any) -> ir.Type:
    kind = ir.RankedTensorType(signless)
    width = ir.IntegerType(kind.element_type).width
    return ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_unsigned(width))


def _port(port: Port, aliases: Sequence[str] = ()) -> ir.DictAttr:
    fields: dict[str, Any] = {"tp.name": port.name, "tp.kind": port.kind}
    if aliases:
        fields["tp.aliases"] = aliases
    if port.updates is not None:
        fields["tp.updates"] = port.updates
    return _dictionary(fields)


def _row(row: ModuleRow) -> ir.DictAttr:
    return _dictionary({"name": row.name, "class": row.class_name, "inputs": row.inputs,
                        "outputs": row.outputs, "input_names": row.input_names,
                        "positional": row.positional,
                        "output_sizes": ir.DenseI64ArrayAttr.get(row.output_sizes)})


def _dictionary(fields: dict[str, Any]) -> ir.DictAttr:
    return ir.DictAttr.get({
        key: value if isinstance(value, ir.Attribute)
        else ir.StringAttr.get(value) if isinstance(value, str)
        else ir.ArrayAttr.get([ir.StringAttr.get(item) for item in value])
        for key, value in fields.items()})
