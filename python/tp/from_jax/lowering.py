"""StableHLO as linalg on tensors, by jaxlib's own passes."""
from __future__ import annotations

import re
from typing import Any

from ..errors import ExportError, shortened
from ..model import Port
from .bits import pack_bits
from .calls import inline_own, inline_readers
from .checkpoints import keep_residuals
from .loops import write_loops
from .modules import mark_lines, mark_modules, text_with_modules, user_line
from .rewrites import ops_of, rewrite_ops
from .scatter import Unsupported, replace_scatter

_TO_CALLS = ("func.func(stablehlo-legalize-composite-to-call)",)
_SIMPLIFY = ("symbol-dce", "func.func(chlo-legalize-to-stablehlo)", "canonicalize")
_TO_LINALG = ("inline", "func.func(stablehlo-complex-math-expander)", "canonicalize",
              "stablehlo-legalize-to-linalg", "inline", "canonicalize", "cse", "symbol-dce")
# Ops of these dialects are left where linalg has no form.
_FOREIGN = ("stablehlo", "chlo", "mhlo", "sdy", "mpmd", "shape")
# What takes the place of a function of JAX, by what its ops' locations have in them.
_INSTEAD = (
    (r"random_bits|\b_(gamma|poisson|binomial)|rng_", "jax.random",
     "draw random numbers outside of the function, and pass them as an argument"),
    (r"_callback", "a callback", "compute it outside of the function, and pass the result as an "
     "argument"),
    (r"lapack_|triangular_solve|\bcholesky\b",
     "jax.numpy.linalg", "compute it outside of the function, and pass the result as an argument"),
)
_INSTEAD_OF_OPS = {
    "stablehlo.while": "its end depends on data: write jax.lax.scan or fori_loop of a fixed length, "
                       "and keep what is done by jax.numpy.where",
    "stablehlo.fft": "compute it outside of the function, and pass the result as an argument",
    "stablehlo.select_and_scatter": "write the windows as slices of a padded array",
    "stablehlo.rng_bit_generator": "draw random numbers outside of the function, and pass them as "
                                   "an argument",
    "sdy.sharding_constraint": "leave with_sharding_constraint out, and write an entry of the plan "
                               "for the module or the argument",
    **dict.fromkeys(("stablehlo.all_reduce", "stablehlo.all_gather", "stablehlo.reduce_scatter",
                     "stablehlo.all_to_all", "stablehlo.collective_permute",
                     "stablehlo.collective_broadcast", "stablehlo.partition_id",
                     "stablehlo.replica_id"),
                    "write the function for one device: tp inserts the collectives of the plan"),
}


def to_linalg(lowered: Any, arguments: list[Port], results: list[Port]) -> str:
    """The program's text (docs/model-file.md) of what `jax.jit(function).lower` returns.

    Raises ExportError where an op has no form in linalg.
    """
    from jaxlib.mlir import ir
    module = lowered.compiler_ir("stablehlo")
    with module.context, ir.Location.unknown():
        load_linalg()
        _run(module, _TO_CALLS)
        inline_own(module)
        _run(module, _SIMPLIFY)
        _replace_scatters(module)
        keep_residuals(module, _main(module), arguments)
        rewrite_ops(module)
        write_loops(module)
        inline_readers(module, _main(module), arguments)
        mark_modules(_main(module), arguments)
        _run(module, _TO_LINALG)
        _refuse_foreign_ops(module)
        _describe(module, arguments, results)
        mark_lines(module)
        return pack_bits(text_with_modules(module))


def load_linalg() -> None:
    """Loads the dialect linalg into the current context of JAX, which does not know it."""
    from jaxlib.mlir import ir
    from jaxlib.mlir._mlir_libs import _stablehlo
    _stablehlo.register_stablehlo_passes()
    with ir.Location.unknown():
        _run(ir.Module.create(), ("stablehlo-legalize-to-linalg",))


def _run(module: Any, passes: tuple[str, ...]) -> None:
    from jaxlib.mlir import ir
    from jaxlib.mlir.passmanager import PassManager
    found: list[tuple[str, str]] = []

    def note(diagnostic: Any) -> bool:
        found.append((diagnostic.message, _line(diagnostic.location)))
        return True
    handler = module.context.attach_diagnostic_handler(note)
    try:
        PassManager.parse(f"builtin.module({','.join(passes)})").run(module.operation)
    except ir.MLIRError as error:
        found += [(each.message, _line(each.location)) for each in error.error_diagnostics]
        message, line = (found or [(str(error), "")])[0]
        raise ExportError(f"{line}the function cannot be lowered to linalg: "
                          f"{shortened(message.splitlines()[0])}") from error
    finally:
        handler.detach()


def _line(location: Any) -> str:
    """`FILE:LINE: ` of the innermost line of the user's, or nothing."""
    found = user_line(str(location))
    return f"{found[0]}:{found[1]}: " if found else ""


def _locations(op: Any) -> list[str]:
    """The locations of an op and of those around it. A private function has no place of its own:
    its name, and the locations of its first call."""
    from jaxlib.mlir import ir
    found: list[str] = []
    while op is not None:
        operation = op.operation
        found.append(str(operation.location))
        op = operation.parent
        if operation.name == "func.func" and op is not None:
            name = ir.StringAttr(operation.attributes["sym_name"]).value
            found.append(name)
            op = _first_call(op, name) or op
    return found


def _first_call(module: Any, name: str) -> Any:
    from jaxlib.mlir import ir
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name == "func.call" and str(op.attributes["callee"]) == f"@{name}":
            found.append(op.opview)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found[0] if found else None


def _replace_scatters(module: Any) -> None:
    for number, op in enumerate(ops_of(module, ("stablehlo.scatter",))):
        line = _line(_locations(op))
        try:
            replace_scatter(op, module, number)
        except Unsupported as error:
            raise ExportError(f"{line}stablehlo.scatter: tp does not export {error}",
                              op="stablehlo.scatter") from error


def _refuse_foreign_ops(module: Any) -> None:
    from jaxlib.mlir import ir
    found: list[Any] = []

    def visit(op: Any) -> Any:
        if op.name.partition(".")[0] in _FOREIGN and op.name != "sdy.mesh":
            found.append(op.opview)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    for op in found:
        operation = op.operation
        attributes = operation.attributes
        target = str(attributes["call_target_name"]) if "call_target_name" in attributes else ""
        name = operation.name + (f" {target}" if target else "")
        locations = _locations(op)
        text = " ".join(locations) + target
        instead = _INSTEAD_OF_OPS.get(operation.name, "write it by simpler functions of jax.numpy")
        for pattern, function, advice in _INSTEAD:
            if re.search(pattern, text):
                name, instead = f"{function} ({name})", advice
                break
        raise ExportError(f"{_line(locations)}{name} has no form in linalg: {instead}",
                          op=operation.name)


def _main(module: Any) -> Any:
    from jaxlib.mlir import ir
    return next(op for op in module.body.operations if op.operation.name == "func.func"
                and ir.StringAttr(op.attributes["sym_name"]).value == "main")


def _describe(module: Any, arguments: list[Port], results: list[Port]) -> None:
    """Sets the attributes that docs/model-file.md describes, and drops jax's own."""
    from jaxlib.mlir import ir
    function = _main(module)
    for side, ports in (("arg_attrs", arguments), ("res_attrs", results)):
        rows = []
        for port in ports:
            row = {"tp.name": port.name, "tp.kind": port.kind}
            if port.updates is not None:
                row["tp.updates"] = port.updates
            rows.append(ir.DictAttr.get({key: ir.StringAttr.get(value)
                                         for key, value in row.items()}))
        function.attributes[side] = ir.ArrayAttr.get(rows)
    for name in list(module.operation.attributes):
        if name.startswith(("mhlo.", "jax.", "sdy.")):
            del module.operation.attributes[name]
