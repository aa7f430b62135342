"""Regions of a traced graph that run without gradients, as `torch.no_grad()` makes them."""
from __future__ import annotations

import operator

import torch

from ...errors import ExportError
from ..refusals import in_module, module_path


def inline_grad_modes(module: torch.fx.GraphModule, differentiated: bool) -> None:
    """Makes the ops of these regions ops of the graph, in place. If the graph is differentiated, no
    gradient flows through what a region returns, and a region with gradients inside of one without
    is an ExportError."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.target is not torch.ops.higher_order.wrap_with_set_grad_enabled:
            continue
        enabled, region, *args = node.args
        inner = getattr(module, region.target)
        inline_grad_modes(inner, differentiated)
        if enabled and differentiated:
            path = module_path(node)
            raise ExportError(f"{in_module(path)}: torch.enable_grad() inside of torch.no_grad() "
                              "is not supported: leave no_grad before", module=path)
        copies = dict(zip(inner.graph.find_nodes(op="placeholder"), args))
        with graph.inserting_before(node):
            for op in inner.graph.nodes:
                if op.op == "get_attr":
                    name = f"{region.target}_{op.target}".replace(".", "_")
                    setattr(module, name, getattr(inner, op.target))
                    copies[op] = graph.get_attr(name)
                    copies[op].meta = dict(op.meta)
                elif op.op not in ("placeholder", "output"):
                    copies[op] = graph.node_copy(op, copies.__getitem__)
            returned = [copies[value] for value in inner.graph.output_node().args[0]]
            if differentiated:
                returned = [_detached(graph, value) for value in returned]
        for user in list(node.users):
            assert user.target is operator.getitem
            user.replace_all_uses_with(returned[user.args[1]])
            graph.erase_node(user)
        graph.erase_node(node)
        if not region.users:
            graph.erase_node(region)
    module.recompile()


def _detached(graph: torch.fx.Graph, node: torch.fx.Node) -> torch.fx.Node:
    detached = graph.call_function(torch.ops.aten.detach.default, (node,))
    detached.meta = dict(node.meta)
    return detached
