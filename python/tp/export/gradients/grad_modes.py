"""Regions of a traced graph that run without gradients, as `torch.no_grad()` makes them."""
from __future__ import annotations

import torch

from ...errors import ExportError
from ..refusals import in_module, module_path
from .regions import inline_region


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
        inline_region(module, node, inner, args, _detached if differentiated else lambda value: value)
        if not region.users:
            graph.erase_node(region)
    module.recompile()


def _detached(node: torch.fx.Node) -> torch.fx.Node:
    detached = node.graph.call_function(torch.ops.aten.detach.default, (node,))
    detached.meta = dict(node.meta)
    return detached
