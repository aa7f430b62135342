"""From a JAX function to a model that tp compiles, by jaxlib's own lowering."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import DTYPES, name_of_numpy
from .errors import ExportError
from .export import require
from .model import Model, Port, keys_of

# From StableHLO to linalg on tensors.
_PASSES = ("inline", "func.func(stablehlo-legalize-composite-to-call)",
           "func.func(chlo-legalize-to-stablehlo)", "func.func(stablehlo-complex-math-expander)",
           "canonicalize", "stablehlo-legalize-to-linalg", "canonicalize", "cse", "symbol-dce")
# Ops of these dialects are left where linalg has no form; what takes their place.
_INSTEAD = {"stablehlo.scatter": "write jax.lax.dynamic_update_slice or jax.numpy.where",
            "stablehlo.while": "write a Python loop, which is unrolled",
            "stablehlo.sort": "sort before the call"}
_FOREIGN = ("stablehlo", "chlo", "mhlo", "sdy", "mpmd", "shape")


def export_jax(function: Callable[..., Any], args: Sequence[Any], *,
               parameters: int | str | Sequence[int | str] = ()) -> Model:
    """The program that `jax.jit(function)(*args)` runs.

    Args:
        function: traceable by jax.jit.
        args: arrays, jax.ShapeDtypeStruct, numbers, and trees of these.
        parameters: which arguments are the model's parameters, by position or name. Their leaves
            are arguments of kind `parameter`, named by the path inside the tree
            (`layers.0.wq.kernel`); their values are the model's weights. Leaves of the others are
            inputs, named by the argument and the path (`batch.mask`).

    Raises:
        ExportError: the function cannot be traced or lowered.
    """
    require("jax")
    if not callable(function):
        raise ExportError(f"expected a function, got {type(function).__name__}")
    if not isinstance(args, (tuple, list)):
        raise ExportError(f"args: expected a tuple of the function's arguments, got "
                          f"{type(args).__name__}: write tp.export_jax(function, (x,))")
    names = _names(function, len(args))
    arguments, leaves = _arguments(args, names, _positions(parameters, names))
    lowered = _lowered(function, tuple(args))
    results = _results(lowered)
    mlir = _linalg(lowered, arguments, results)
    weights = {key: _array(leaf, key) for key, port, leaf in zip(
        keys_of(arguments), arguments, leaves) if port.kind == "parameter"}
    return Model(mlir, arguments, results, weights)


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """Names of the positional arguments."""
    try:
        bound = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        bound = []
    names = [parameter.name for parameter in bound if parameter.kind in (
        parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)]
    return (names + [f"arg{i}" for i in range(len(names), count)])[:count]


def _positions(parameters: int | str | Sequence[int | str], names: list[str]) -> set[int]:
    given = [parameters] if isinstance(parameters, (int, str)) else list(parameters)
    positions = set()
    for item in given:
        if item in names:
            positions.add(names.index(str(item)))
        elif isinstance(item, int) and -len(names) <= item < len(names):
            positions.add(item % len(names))
        else:
            raise ExportError(f"parameters: expected positions or names among {names}, got "
                              f"{item!r}")
    return positions


def _arguments(args: Sequence[Any], names: list[str],
               parameters: set[int]) -> tuple[list[Port], list[Any]]:
    import jax
    ports, leaves = [], []
    for i, (name, arg) in enumerate(zip(names, args)):
        for path, leaf in jax.tree_util.tree_flatten_with_path(arg)[0]:
            keys = [_key(entry) for entry in path]
            kind = "parameter" if i in parameters else "user_input"
            full = ".".join(keys if kind == "parameter" and keys else [name, *keys])
            ports.append(_port(leaf, full, kind))
            leaves.append(leaf)
    if not ports:
        raise ExportError("the call has no array: the program would have no argument")
    return ports, leaves


def _key(entry: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(entry, attribute):
            return str(getattr(entry, attribute))
    return str(entry)


def _port(leaf: Any, name: str, kind: str) -> Port:
    """The port of an array. A complex one is fed as its parts, in a last dimension of 2."""
    import jax
    try:
        spec = jax.eval_shape(lambda x: x, leaf)
    except TypeError as error:
        raise ExportError(f"argument '{name}': expected an array or a number, got "
                          f"{type(leaf).__name__}") from error
    shape, dtype = tuple(spec.shape), name_of_numpy(np.dtype(spec.dtype)) if isinstance(
        spec.dtype, np.dtype) else str(spec.dtype)
    if dtype in ("complex64", "complex128"):
        shape, dtype = shape + (2,), {"complex64": "f32", "complex128": "f64"}[dtype]
    if dtype not in DTYPES:
        raise ExportError(f"'{name}' has elements of {dtype}, which files and programs of tp do "
                          "not have")
    return Port(name, kind, shape, dtype)


def _array(leaf: Any, name: str) -> np.ndarray[Any, Any]:
    if not hasattr(leaf, "__array__") and not isinstance(leaf, (int, float, bool, complex)):
        raise ExportError(f"parameter '{name}' has no value: pass the array")
    import jax
    array = np.asarray(jax.numpy.asarray(leaf))
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag], -1)
    return array


def _lowered(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    import jax
    try:
        return jax.jit(function, keep_unused=True).lower(*args)
    except jax.errors.JAXTypeError as error:
        raise ExportError(
            f"the function cannot be traced: {_first_line(error)}: write jax.numpy.where or "
            "jax.lax.select instead of a branch that depends on an array") from error
    except (TypeError, ValueError) as error:
        raise ExportError(f"the function cannot be traced: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _results(lowered: Any) -> list[Port]:
    import jax
    ports = []
    for path, info in jax.tree_util.tree_flatten_with_path(lowered.out_info)[0]:
        keys = [_key(entry) for entry in path]
        named = bool(path) and hasattr(path[0], "key")
        ports.append(_port(jax.ShapeDtypeStruct(info.shape, info.dtype),
                           ".".join(keys if named else ["output", *keys]), "user_output"))
    if not ports:
        raise ExportError("the function returns no array: expected at least one")
    return ports


def _linalg(lowered: Any, arguments: list[Port], results: list[Port]) -> str:
    """The program's text, lowered by jaxlib's passes."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _stablehlo
    from jaxlib.mlir.passmanager import PassManager
    _stablehlo.register_stablehlo_passes()
    module = lowered.compiler_ir("stablehlo")
    with module.context, ir.Location.unknown():
        found: list[str] = []

        def note(diagnostic: Any) -> bool:
            found.append(diagnostic.message)
            return True
        handler = module.context.attach_diagnostic_handler(note)
        try:
            PassManager.parse(f"builtin.module({','.join(_PASSES)})").run(module.operation)
        except ir.MLIRError as error:
            message = (found or [str(error)])[0].splitlines()[0]
            raise ExportError(f"the function cannot be lowered to linalg: {message}") from error
        finally:
            handler.detach()
        _refuse_foreign_ops(module)
        _describe(module, arguments, results)
        return str(module.operation.get_asm(enable_debug_info=False))


def _refuse_foreign_ops(module: Any) -> None:
    from jaxlib.mlir import ir
    found: list[tuple[str, str]] = []

    def visit(op: Any) -> Any:
        if op.name.partition(".")[0] not in _FOREIGN:
            return ir.WalkResult.ADVANCE
        target = op.attributes["call_target_name"] if "call_target_name" in op.attributes else ""
        found.append((op.name, f" {target}" if target else ""))
        return ir.WalkResult.INTERRUPT
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for name, target in found:
        instead = _INSTEAD.get(name, "write it by simpler functions of jax.numpy")
        raise ExportError(f"{name}{target} has no form in linalg: {instead}", op=name)


def _describe(module: Any, arguments: list[Port], results: list[Port]) -> None:
    """Sets the attributes that docs/model-file.md describes, and drops jax's own."""
    from jaxlib.mlir import ir
    function = next(op for op in module.body.operations if op.operation.name == "func.func"
                    and ir.StringAttr(op.attributes["sym_name"]).value == "main")
    for side, ports in (("arg_attrs", arguments), ("res_attrs", results)):
        function.attributes[side] = ir.ArrayAttr.get([ir.DictAttr.get({
            "tp.name": ir.StringAttr.get(port.name), "tp.kind": ir.StringAttr.get(port.kind)})
            for port in ports])
    for name in list(module.operation.attributes):
        if name.startswith(("mhlo.", "jax.", "sdy.")):
            del module.operation.attributes[name]
