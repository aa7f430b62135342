"""Rewrites of a traced graph that decompositions cannot make: they need constants or other nodes.

Each keeps what is computed.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ..decompositions.scatters import spaced
from ..marks import Marks
from .uniform import fold_uniform
from .unsigned import widen_bytes

aten = torch.ops.aten

# A functional graph copies nothing, so copies and views of the whole are the value itself.
IDENTITIES = (aten.alias.default, aten.detach.default, aten.detach_.default, aten.clone.default,
              aten.lift_fresh_copy.default, aten.lift_fresh.default, aten.contiguous.default)
_NO_OPS = (aten._assert_tensor_metadata.default, aten._assert_async.msg,
           aten._assert_async.default, aten._assert_scalar.default)


def rewrite(graph: torch.fx.Graph, marks: Marks | None,
            constants: Mapping[torch.fx.Node, torch.Tensor]) -> None:
    """Rewrites the graph in place.

    Args:
        marks: of the graph's modules, if it has any.
        constants: values of placeholders that no call changes.
    """
    if marks is not None:
        marks.detach(graph)
    for node in list(graph.nodes):
        if _is_empty(node):
            _leave_empty(graph, node)
        elif node.target in IDENTITIES:
            _replace(node, node.args[0])
        elif node.target in _NO_OPS:
            graph.erase_node(node)
        elif node.target in (aten.index.Tensor, aten.index_select.default):
            _slice_constant_index(graph, node, constants)
    for node, value in constants.items():
        if value.numel() == 1 and node.users and not value.is_complex():
            _inline(graph, node, value)
    fold_uniform(graph)
    widen_bytes(graph)


def _is_empty(node: torch.fx.Node) -> bool:
    """Whether the node computes a tensor without elements."""
    value = node.meta.get("val")
    return (node.op == "call_function" and node.target is not aten.full.default
            and isinstance(value, torch.Tensor) and value.numel() == 0)


def _leave_empty(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Computes nothing where there is nothing, which torch-mlir cannot lower for all ops."""
    value = node.meta["val"]
    with graph.inserting_before(node):
        full = graph.call_function(aten.full.default, (list(value.shape), 0),
                                   {"dtype": value.dtype})
    full.meta = dict(node.meta)
    _replace(node, full)


def _replace(node: torch.fx.Node, value: Any) -> None:
    node.replace_all_uses_with(value)
    node.graph.erase_node(node)


def _inline(graph: torch.fx.Graph, node: torch.fx.Node, value: torch.Tensor) -> None:
    """Makes a constant of one element part of the program, where passes can fold it."""
    first = min(node.users, key=list(graph.nodes).index)
    with graph.inserting_before(first):
        full = graph.call_function(aten.full.default, (list(value.shape), value.item()),
                                   {"dtype": value.dtype})
    full.meta = {key: item for key, item in first.meta.items() if key == "nn_module_stack"}
    full.meta["val"] = node.meta["val"]
    if "tensor_meta" in node.meta:
        full.meta["tensor_meta"] = node.meta["tensor_meta"]
    node.replace_all_uses_with(full)


def _slice_constant_index(graph: torch.fx.Graph, node: torch.fx.Node,
                          constants: Mapping[torch.fx.Node, torch.Tensor]) -> None:
    """Turns a lookup at constant, evenly spaced, growing indices of one dimension into a slice,
    which can stay sharded."""
    source = node.args[0]
    if node.target is aten.index_select.default:
        dim, index = node.args[1], node.args[2]
    else:
        given = [d for d, index in enumerate(node.args[1]) if index is not None]
        if len(given) != 1:
            return
        dim, index = given[0], node.args[1][given[0]]
    if index not in constants:
        return
    part = spaced(constants[index], source.meta["val"].shape[dim])
    if part is None:
        return
    with graph.inserting_before(node):
        sliced = graph.call_function(aten.slice.Tensor,
                                     (source, dim, part.start, part.stop, part.step))
    sliced.meta = dict(node.meta)
    _replace(node, sliced)
