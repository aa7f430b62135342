"""Several calls of one module as the entries of one model."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch_mlir import ir

from ..errors import ExportError
from ..model import Model, Port, keys_of
from ..weights import OwnWeights
from .module import export_module

_MOST_CALLS = 1000


def export_calls(module: torch.nn.Module,
                 entries: Mapping[str, tuple[Sequence[Any], Mapping[str, Any]]],
                 calls: Mapping[str, int]) -> Model:
    """tp.export_entries, where torch and torch-mlir can be imported."""
    for name in entries:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ExportError(f"entry {name!r}: expected a name of letters, digits and '_'")
    for name, count in calls.items():
        if name not in entries:
            raise ExportError(f"calls: there is no entry '{name}'")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_CALLS:
            raise ExportError(f"calls of '{name}': expected a number from 1 to {_MOST_CALLS}, got "
                              f"{count!r}")
    models = {}
    for name, (args, kwargs) in entries.items():
        try:
            models[name] = export_module(module, args, kwargs)
        except ExportError as error:
            raise ExportError(f"entry '{name}': {error}", module=error.module,
                              op=error.op) from error
    if not models:
        raise ExportError("expected an entry, got none")
    return join(models, calls)


def join(models: Mapping[str, Model], calls: Mapping[str, int]) -> Model:
    """The models as entries of one, of their names. They share arguments of one name that have
    weights; the module tables are the entries' own."""
    context = ir.Context()
    context.allow_unregistered_dialects = True
    with context, ir.Location.unknown(context):
        joined = ir.Module.create()
        for name, model in models.items():
            own = ir.Module.parse(model.mlir, context)
            table = own.operation.attributes
            for op in own.body.operations:
                copy = op.operation.clone(ir.InsertionPoint(joined.body))
                if op.operation.name != "func.func":
                    continue
                copy.attributes["sym_name"] = ir.StringAttr.get(name)
                if "tp.modules" in table:
                    copy.attributes["tp.modules"] = table["tp.modules"]
                if name in calls:
                    copy.attributes["tp.calls"] = ir.IntegerAttr.get(
                        ir.IntegerType.get_signless(64), calls[name])
        text = joined.operation.get_asm(enable_debug_info=True)
    arguments: list[Port] = []
    weights: dict[str, Any] = {}
    for model in models.values():
        for port, key in zip(model.arguments, keys_of(model.arguments)):
            if key not in model.weights:
                arguments.append(port)
            elif key not in weights:
                arguments.append(port)
                weights[key] = model.weights[key]
    results = [port for model in models.values() for port in model.results]
    plan, experts = (next((own for own in owned if own is not None), None)
                     for owned in ([model.own_plan for model in models.values()],
                                   [model.own_expert_plan for model in models.values()]))
    module = next((model.weights.module for model in models.values()
                   if isinstance(model.weights, OwnWeights)), None)
    return Model(text, arguments, results, OwnWeights(weights, module), plan, experts)
