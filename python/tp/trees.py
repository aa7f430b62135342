"""Trees of arrays, as JAX has them: dicts, lists, tuples and named tuples of arrays."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def is_tree(value: Any) -> bool:
    """Whether the value holds arrays; lists of numbers are arrays themselves."""
    if isinstance(value, Mapping) or hasattr(value, "_fields"):
        return True
    return isinstance(value, (list, tuple)) and any(
        hasattr(part, "shape") or is_tree(part) for part in value)


def leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """The names and arrays of a tree in JAX's order: `layers.0.up.kernel`."""
    if isinstance(tree, Mapping):
        for key in sorted(tree):
            yield from leaves(tree[key], (*path, str(key)))
    elif hasattr(tree, "_fields"):
        for key in tree._fields:
            yield from leaves(getattr(tree, key), (*path, key))
    elif isinstance(tree, (list, tuple)) and is_tree(tree):
        for i, part in enumerate(tree):
            yield from leaves(part, (*path, str(i)))
    elif tree is not None:
        yield ".".join(path), tree
