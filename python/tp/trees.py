"""Trees of arrays, as JAX has them: dicts, lists, tuples and named tuples of arrays."""
from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
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


def named_tuple(names: tuple[str, ...], values: Sequence[Any]) -> tuple[Any, ...]:
    """The values as a named tuple, if a name is a word; others count as `_0`. Else a tuple."""
    return _type(names)(*values) if any(map(str.isidentifier, names)) else tuple(values)


@cache
def _type(names: tuple[str, ...]) -> type[Any]:
    make: Callable[..., Any] = namedtuple
    made: type[Any] = make("Results", names, rename=True, module=__name__)
    # pickle does not find the class by its name.
    setattr(made, "__reduce__", lambda results: (named_tuple, (names, tuple(results))))
    return made
