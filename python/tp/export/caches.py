"""Caches of transformers as trees of tensors, so that they can be inputs and results."""
from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree


@contextmanager
def caches_as_trees() -> Iterator[None]:
    """Registers the cache classes of transformers with torch's pytrees, where transformers is
    loaded. A cache is the list of its layers' tensors."""
    module = sys.modules.get("transformers.cache_utils")
    if module is not None:
        for name in ("DynamicCache", "StaticCache", "EncoderDecoderCache"):
            kind = getattr(module, name, None)
            if kind is not None and kind not in pytree.SUPPORTED_NODES:
                pytree.register_pytree_node(
                    kind, _flatten, _unflatten, serialized_type_name=f"transformers.{name}",
                    flatten_with_keys_fn=_flatten_with_keys)
    yield


def tensors_of(cache: Any) -> list[tuple[str, Any]]:
    """Names and values of the leaves of a cache that was made from leaves; none for other
    objects."""
    return list(getattr(cache, "_tp_leaves", []))


def _tensors(cache: Any) -> list[tuple[str, Any, str]]:
    """The cache's tensors: name, owner and attribute."""
    found = []
    for name, layer in _layers(cache):
        for attribute, value in vars(layer).items():
            if isinstance(value, torch.Tensor):
                found.append((f"{name}.{attribute}", layer, attribute))
    return found


def _layers(cache: Any) -> list[tuple[str, Any]]:
    if hasattr(cache, "self_attention_cache"):
        return [(f"{name}.{inner}", layer)
                for name in ("self_attention_cache", "cross_attention_cache")
                for inner, layer in _layers(getattr(cache, name))]
    return [(str(i), layer) for i, layer in enumerate(cache.layers)]


def _flatten(cache: Any) -> tuple[list[Any], Any]:
    values = [getattr(owner, attribute) for _, owner, attribute in _tensors(cache)]
    return values, _Shell(cache)


def _flatten_with_keys(cache: Any) -> tuple[list[Any], Any]:
    values, shell = _flatten(cache)
    return [(pytree.MappingKey(name), value) for name, value in zip(shell.names, values)], shell


def _unflatten(values: Any, shell: _Shell) -> Any:
    cache = _copy(shell.cache)
    layers = dict(_layers(cache))
    for name, value in zip(shell.names, values):
        layer, _, attribute = name.rpartition(".")
        setattr(layers[layer], attribute, value)
    cache._tp_leaves = list(zip(shell.names, values))
    return cache


def _copy(cache: Any) -> Any:
    """A cache with layers of its own and the same tensors."""
    result = copy.copy(cache)
    vars(result).pop("_tp_leaves", None)
    if hasattr(cache, "self_attention_cache"):
        result.self_attention_cache = _copy(cache.self_attention_cache)
        result.cross_attention_cache = _copy(cache.cross_attention_cache)
    else:
        result.layers = [copy.copy(layer) for layer in cache.layers]
    return result


class _Shell:
    """A cache without its tensors, as the context of a tree; equal where the classes and the
    tensors' names are."""

    def __init__(self, cache: Any) -> None:
        self.names = [name for name, _, _ in _tensors(cache)]
        self.cache = _copy(cache)
        for _, layer, attribute in _tensors(self.cache):
            setattr(layer, attribute, None)

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, _Shell) and self.names == other.names
                and type(self.cache) is type(other.cache))

    def __hash__(self) -> int:
        return hash(tuple(self.names))
