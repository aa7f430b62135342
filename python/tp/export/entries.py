"""Several models as the entries of one."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import ExportError, near
from ..model import Model
from ..weights import OwnWeights
from .joined_text import joined_text
from .shared_arguments import share

if TYPE_CHECKING:
    import torch

_MOST_CALLS = 1000
_Given = TypeVar("_Given")


def check_names(entries: Mapping[str, _Given],
                calls: Mapping[str, int]) -> Mapping[str, _Given]:
    """The entries, where they have names and these run as often as an entry may. Raises
    ExportError."""
    if not isinstance(entries, Mapping):
        raise ExportError("expected a dict from names of entries, such as {'prefill': ..., "
                          f"'decode': ...}}, got {type(entries).__name__}")
    for name in entries:
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise ExportError(f"entry {name!r}: expected a name of letters, digits and '_'")
    if not isinstance(calls, Mapping):
        raise ExportError("calls: expected a dict from names of entries to numbers, got "
                          f"{type(calls).__name__}")
    for name, count in calls.items():
        if name not in entries:
            raise ExportError(f"calls: there is no entry '{name}'{near(str(name), entries)}")
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_CALLS:
            raise ExportError(f"calls of '{name}': expected a number from 1 to {_MOST_CALLS}, got "
                              f"{count!r}")
    if not entries:
        raise ExportError("expected an entry, got none")
    return entries


def export_calls(module: torch.nn.Module,
                 entries: Mapping[str, tuple[Sequence[Any], Mapping[str, Any]]],
                 calls: Mapping[str, int]) -> Model:
    """tp.export_entries, where torch and torch-mlir can be imported."""
    from .module import export_module
    models = {}
    for name, (args, kwargs) in check_names(entries, calls).items():
        try:
            models[name] = export_module(module, args, kwargs)
        except ExportError as error:
            raise ExportError(f"entry '{name}': {error}", module=error.module,
                              op=error.op) from error
    return join(models, calls)


def join(models: Mapping[str, Model], calls: Mapping[str, int]) -> Model:
    """The models as entries of one, of their names. They share arguments as
    docs/model-file.md says; the module tables are the entries' own. Raises ExportError where they
    disagree on what they share."""
    shared = share(models)
    text = joined_text({name: model.mlir for name, model in models.items()}, calls, shared.renamed)
    results = [port for model in models.values() for port in model.results]
    plan, experts = (next((own for own in owned if own is not None), None)
                     for owned in ([model.own_plan for model in models.values()],
                                   [model.own_expert_plan for model in models.values()]))
    of_modules = [model.weights for model in models.values()
                  if isinstance(model.weights, OwnWeights)]
    weights = OwnWeights(shared.weights, of_modules[0].module) if of_modules else shared.weights
    return Model(text, shared.arguments, results, weights, plan, experts)
