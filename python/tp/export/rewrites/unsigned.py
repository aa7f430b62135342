"""Arithmetic of torch.uint8 in i64.

linalg's integers have no signs, and torch-mlir's forms of many ops take bytes for signed ones: 200
was compared and divided as -56. So such an op computes in i64, where each byte is itself, and its
result is converted back: modulo 256, as torch's is.
"""
from __future__ import annotations

import operator
from typing import Any

import torch

aten = torch.ops.aten

# What moves bytes, or takes them for what they are: a mask is no number, and bits are no value.
_KEPT = {
    getattr(aten, name) for name in (
        "alias", "as_strided", "cat", "clone", "constant_pad_nd", "copy", "detach", "diagonal",
        "expand", "flip", "gather", "index", "index_select", "masked_fill", "narrow", "permute",
        "repeat", "reshape", "roll", "select", "select_scatter", "slice", "slice_scatter", "split",
        "split_with_sizes", "squeeze", "stack", "t", "transpose", "unbind", "unfold", "unsqueeze",
        "view", "_reshape_alias", "_unsafe_view")
}
_CONVERSIONS = {aten._to_copy, torch.ops.prims.convert_element_type}
_KEPT |= _CONVERSIONS
# What makes bytes of a number.
_MAKERS = {aten.full, aten.full_like, aten.scalar_tensor, aten.arange}


def widen_bytes(graph: torch.fx.Graph) -> None:
    """Rewrites the graph in place."""
    for node in list(graph.nodes):
        packet = getattr(node.target, "overloadpacket", None)
        if node.op != "call_function" or packet is None:
            continue
        if node.target.namespace not in ("aten", "prims"):
            continue
        if packet in _CONVERSIONS and _is_bytes(node.meta.get("val")):
            _convert_by_words(graph, node)
            continue
        if packet in _KEPT:
            continue
        if packet in _MAKERS:
            if _is_bytes(node.meta.get("val")):
                node.kwargs = {**node.kwargs, "dtype": torch.int64}
                _narrow(graph, node)
        elif any(_is_bytes(argument.meta.get("val")) for argument in node.all_input_nodes):
            _widen(graph, node)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype == torch.uint8


def _convert_by_words(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Gives a conversion of floats to bytes i64 in between: torch-mlir's has signs."""
    source = node.args[0]
    if isinstance(source, torch.fx.Node) and source.meta["val"].is_floating_point():
        with graph.inserting_before(node):
            node.replace_input_with(source, _converted(graph, source, torch.int64, node))


def _widen(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Gives the op i64 for its bytes, and its readers what they read before."""
    with graph.inserting_before(node):
        def wide(argument: torch.fx.Node) -> torch.fx.Node:
            value = argument.meta.get("val")
            return _converted(graph, argument, torch.int64, node) if _is_bytes(value) else argument
        node.args = torch.fx.map_arg(node.args, wide)
        node.kwargs = torch.fx.map_arg(node.kwargs, wide)
    if node.kwargs.get("dtype") == torch.uint8:
        node.kwargs = {**node.kwargs, "dtype": torch.int64}
    if isinstance(node.meta.get("val"), (tuple, list)):
        for user in list(node.users):
            if user.target is operator.getitem:
                _narrow(graph, user)
        node.meta["val"] = type(node.meta["val"])(
            value.to(torch.int64) if _is_bytes(value) else value for value in node.meta["val"])
        return
    _narrow(graph, node)


def _narrow(graph: torch.fx.Graph, node: torch.fx.Node) -> None:
    """Converts what the op makes now to what it made."""
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or value.is_floating_point() or value.dtype in (
            torch.int64, torch.bool):
        return
    is_truth = getattr(node.target, "overloadpacket", None) in (aten.any, aten.all)
    node.meta["val"] = value.to(torch.bool if is_truth else torch.int64)
    node.meta.pop("tensor_meta", None)
    users = list(node.users)
    with graph.inserting_after(node):
        narrow = _converted(graph, node, value.dtype, node)
    for user in users:
        user.replace_input_with(node, narrow)


def _converted(graph: torch.fx.Graph, node: torch.fx.Node, dtype: torch.dtype,
               of: torch.fx.Node) -> torch.fx.Node:
    made = graph.call_function(torch.ops.prims.convert_element_type.default, (node, dtype))
    made.meta = {key: item for key, item in of.meta.items() if key != "tensor_meta"}
    made.meta["val"] = node.meta["val"].to(dtype)
    return made
