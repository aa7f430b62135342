"""Rewrites of a traced graph that decompositions cannot make: they need constants or other nodes.

Each keeps what is computed.
"""
from __future__ import annotations

import torch

from .marks import Marks

aten = torch.ops.aten

# A functional graph copies nothing, so copies and views of the whole are the value itself.
_IDENTITIES = (aten.alias.default, aten.detach.default, aten.clone.default,
               aten.lift_fresh_copy.default, aten.lift_fresh.default, aten.contiguous.default)
_NO_OPS = (aten._assert_tensor_metadata.default, aten._assert_async.msg,
           aten._assert_scalar.default)


def rewrite(graph: torch.fx.Graph, marks: Marks, constants: dict[torch.fx.Node, torch.Tensor],
            ) -> None:
    """Rewrites the graph in place.

    Args:
        marks: of the graph's modules.
        constants: values of placeholders that no call changes.
    """
    marks.detach(graph)
    for node in list(graph.nodes):
        if node.target in _IDENTITIES:
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
        elif node.target in _NO_OPS:
            graph.erase_node(node)
