"""Functions of JAX that are given to an export of torch. Needs neither."""
from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from ..errors import ExportError

_EXPORT = "tp.export_jax(function, args)"
_PACKAGES = ("jax", "jaxlib", "flax", "equinox", "haiku")


def refuse_jax(function: Any, call: Any, instead: str = _EXPORT) -> None:
    """Raises ExportError where no module is given, but what JAX calls. `call` is a tree of
    arguments, `instead` what to write. Comes before torch is imported, which need not be there
    then."""
    if _is_of(function, ("torch",)):
        return
    if _is_of(function, _PACKAGES) or _uses_jax(function) or any(
            _is_of(leaf, _PACKAGES) for leaf in _leaves(call)):
        raise ExportError("expected a torch.nn.Module, got a function of JAX: write " + instead)


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, (Mapping, list, tuple)):
        for part in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _leaves(part)
    else:
        yield tree


def _is_of(value: Any, packages: tuple[str, ...]) -> bool:
    return any(base.__module__.partition(".")[0] in packages for base in type(value).__mro__)


def _uses_jax(function: Any) -> bool:
    """Whether the file of a function imports JAX, and not torch."""
    while isinstance(function, functools.partial):
        function = function.func
    imported = {value.__name__.partition(".")[0]
                for value in getattr(function, "__globals__", {}).values()
                if isinstance(value, ModuleType)}
    return "jax" in imported and "torch" not in imported
