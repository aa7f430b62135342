"""Regions of a traced graph that run without gradients, as `torch.no_grad()` makes them, and the
tensors that a step changes in place."""
from __future__ import annotations

from collections.abc import Iterable

import torch
from torch._functorch._aot_autograd.functional_utils import has_data_mutation

from .regions import inline_region


def inline_grad_modes(module: torch.fx.GraphModule, differentiated: bool,
                      is_on: bool = True) -> None:
    """Makes the ops of these regions ops of the graph, in place. If the graph is differentiated, it
    also turns gradients off and on as the regions do: what an op in one changes in place has the
    gradient that it had. `is_on`: whether the graph itself runs with gradients."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.target is not torch.ops.higher_order.wrap_with_set_grad_enabled:
            continue
        enabled, region, *args = node.args
        inner = getattr(module, region.target)
        inline_grad_modes(inner, differentiated, enabled)
        if differentiated:
            with graph.inserting_before(node):
                graph.call_function(torch._C._set_grad_enabled, (enabled,))
            with graph.inserting_after(node):
                graph.call_function(torch._C._set_grad_enabled, (is_on,))
        inline_region(module, node, inner, args)
        if not region.users:
            graph.erase_node(region)
    module.recompile()


def change_copies(graph: torch.fx.Graph, changed: Iterable[torch.fx.Node]) -> None:
    """Makes the graph change copies of these placeholders and put them back at its end, without a
    gradient: what a tensor is in the next step is no result that the loss depends on."""
    behind = list(graph.find_nodes(op="placeholder"))[-1]
    for node in changed:
        with graph.inserting_after(behind):
            copy = graph.call_function(torch.ops.aten.clone.default, (node,))
        behind = copy
        copy.meta = {"val": node.meta["val"]}
        node.replace_all_uses_with(copy, lambda user, copy=copy: user is not copy)
        with graph.inserting_before(graph.output_node()):
            graph.call_function(_put_back, (node, copy))


def _put_back(tensor: torch.Tensor, copy: torch.Tensor) -> None:
    """Gives a tensor the value of its copy, where that was changed."""
    if has_data_mutation(copy):
        with torch.no_grad():
            tensor.copy_(copy)
