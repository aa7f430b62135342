"""The programs of several models as one module of MLIR, by torch-mlir or by jaxlib."""
from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..errors import ExportError, listed, shortened
from ..from_jax.bits import pack_bits, unpack_bits
from ..from_jax.lowering import load_linalg
from ..from_jax.modules import is_private, text_with_locations

# The place of an op in a text that is parsed.
_PARSED = '"-":'


def joined_text(texts: Mapping[str, str], calls: Mapping[str, int],
                renamed: Mapping[str, Mapping[int, str]]) -> str:
    """The text of a module with the functions of others as its entries.

    Args:
        texts: of each entry the text of its module.
        calls: how often an entry runs, where that is known.
        renamed: of each entry new names of arguments, by their positions.

    Raises:
        ExportError: a module has not one entry, or neither torch-mlir nor jaxlib reads all of them.
    """
    unread: ExportError | None = None
    for ir, context in _contexts():
        with context, ir.Location.unknown():
            try:
                modules = {name: _parsed(ir, name, text) for name, text in texts.items()}
            except ExportError as error:
                unread = unread or error
                continue
            joined = ir.Module.create()
            for name, module in modules.items():
                _add(ir, joined, name, module, calls.get(name), renamed[name])
            return pack_bits(text_with_locations(joined, lambda place: _PARSED not in place))
    raise unread or ExportError(
        "neither the package 'torch-mlir' nor 'jax' is installed, and one of them reads and writes "
        "programs: install tp's wheel with the extra 'torch' or 'jax', pip install "
        "'tp-....whl[jax]'")


def _contexts() -> Iterator[tuple[Any, Any]]:
    """The packages of MLIR that are there, each with a context: first the one that is in use, which
    has probably written the programs."""
    makers: dict[str, Callable[[], tuple[Any, Any]]] = {
        "torch_mlir": _context_of_torch, "jaxlib": _context_of_jax}
    for package in sorted(makers, key=lambda package: package not in sys.modules):
        try:
            ir, context = makers[package]()
        except ImportError:
            continue
        context.allow_unregistered_dialects = True
        yield ir, context


def _context_of_torch() -> tuple[Any, Any]:
    from torch_mlir import ir
    return ir, ir.Context()


def _context_of_jax() -> tuple[Any, Any]:
    from jax.interpreters.mlir import make_ir_context
    from jaxlib.mlir import ir
    context = make_ir_context()
    with context:
        load_linalg()
    return ir, context


def _parsed(ir: Any, name: str, text: str) -> Any:
    try:
        return ir.Module.parse(unpack_bits(text) if _has_bytes_of_bits(ir) else text)
    except ir.MLIRError as error:
        raise ExportError(f"entry '{name}': the program cannot be read: "
                          f"{shortened(' '.join(str(error).split()))}") from error


def _has_bytes_of_bits(ir: Any) -> bool:
    """Whether this version of MLIR has a byte for every bit of a constant."""
    try:
        ir.Attribute.parse(f'dense<"0x{"0001" * 8}"> : tensor<16xi1>')
    except ir.MLIRError:
        return False
    return True


def _add(ir: Any, joined: Any, name: str, module: Any, calls: int | None,
         renamed: Mapping[int, str]) -> None:
    """Adds a module's function as an entry, and what it calls under names of its own."""
    own = _entry(ir, name, module)
    for op in module.body.operations:
        if "sym_name" in op.operation.attributes:
            old = _symbol(ir, op)
            # No name of an entry has a dot.
            new = name if old == own else f"{name}.{old}"
            ir.SymbolTable.replace_all_symbol_uses(old, new, module.operation)
            ir.SymbolTable.set_symbol_name(op, new)
    for op in module.body.operations:
        copy = op.operation.clone(ir.InsertionPoint(joined.body))
        if op.operation.name == "func.func" and _symbol(ir, op) == name:
            _describe(ir, copy.attributes, module, calls, renamed)


def _describe(ir: Any, attributes: Any, module: Any, calls: int | None,
              renamed: Mapping[int, str]) -> None:
    """Sets the attributes of an entry that docs/model-file.md describes."""
    table = module.operation.attributes
    if "tp.modules" in table:
        attributes["tp.modules"] = table["tp.modules"]
    if calls is not None:
        attributes["tp.calls"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), calls)
    if renamed:
        rows = list(attributes["arg_attrs"])
        for number, argument in renamed.items():
            fields = {row.name: row.attr for row in rows[number]}
            rows[number] = ir.DictAttr.get({**fields, "tp.name": ir.StringAttr.get(argument)})
        attributes["arg_attrs"] = ir.ArrayAttr.get(rows)


def _entry(ir: Any, name: str, module: Any) -> str:
    """The name of the public function that no other one calls."""
    called: set[str] = set()

    def visit(op: Any) -> Any:
        if op.name == "func.call":
            called.add(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    found = [_symbol(ir, op) for op in module.body.operations
             if op.operation.name == "func.func" and not is_private(op)
             and len(op.operation.regions[0].blocks)]
    found = [function for function in found if function not in called]
    if len(found) != 1:
        raise ExportError(f"entry '{name}': expected a model of one entry, got "
                          f"{listed(found) or 'none'}: join the models that it is made of")
    return found[0]


def _symbol(ir: Any, op: Any) -> str:
    name: str = ir.StringAttr(op.operation.attributes["sym_name"]).value
    return name
