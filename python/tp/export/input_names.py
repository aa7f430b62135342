"""What the inputs of a traced call are named."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree as pytree

from .caches import tensors_of
from .marks import positional_names


def input_names(program: ExportedProgram,
                module: torch.nn.Module) -> tuple[list[str], list[bool]]:
    """For every leaf of the call's arguments, in order: a name, and whether it is of a cache."""
    spec = program.call_spec.in_spec
    args, kwargs = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    names = _names_of_call(module, args, kwargs)
    of_cache: set[int] = set()
    for tree in pytree.tree_leaves((args, kwargs), is_leaf=lambda tree: bool(tensors_of(tree))):
        of_cache.update(leaf for _, leaf in tensors_of(tree))
    leaves = range(spec.num_leaves)
    return [names.get(i, f"input.{i}") for i in leaves], [i in of_cache for i in leaves]


def step_input_names(program: ExportedProgram, module: torch.nn.Module) -> list[str]:
    """The same of a step, which is called with the module's arguments and the loss's target."""
    spec = program.call_spec.in_spec
    (args, kwargs, target), _ = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    names = _names_of_call(module, args, kwargs)
    # The module may have an input of this name.
    of_target = "target"
    while any(name.split(".")[0] == of_target for name in names.values()):
        of_target = f"loss_{of_target}"
    walk(target, of_target, names)
    return [names.get(i, f"input.{i}") for i in range(spec.num_leaves)]


def _names_of_call(module: torch.nn.Module, args: Sequence[Any],
                   kwargs: Mapping[str, Any]) -> dict[int, str]:
    names: dict[int, str] = {}
    for name, value in zip(positional_names(module, len(args)), args):
        walk(value, name, names)
    for name, value in kwargs.items():
        walk(value, name, names)
    return names


def walk(tree: Any, path: str, names: dict[int, str]) -> None:
    """Names the leaves, which are numbers, by the keys that lead to them."""
    def below(key: Any) -> str:
        return f"{path}.{key}" if path else str(key)
    if isinstance(tree, int) and not isinstance(tree, bool):
        names[tree] = path
    elif isinstance(tree, Mapping):
        for key, value in tree.items():
            walk(value, below(key), names)
    elif isinstance(tree, (list, tuple)):
        keys: Sequence[Any] = getattr(tree, "_fields", range(len(tree)))
        for key, value in zip(keys, tree):
            walk(value, below(key), names)
    elif is_dataclass(tree):
        for entry in fields(tree):
            walk(getattr(tree, entry.name), below(entry.name), names)
    elif tree is not None:
        for key, value in tensors_of(tree):
            walk(value, below(key), names)
