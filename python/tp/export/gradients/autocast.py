"""Regions of a traced graph that run under `torch.autocast`.

torch.export keeps such a region as a graph of its own, whose ops are called with what the code
gives them; autocast casts it when they run. No gradient flows through the operator that holds the
region. Here its ops, and the casts, become ops of the graph around it.
"""
from __future__ import annotations

from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.traceback import preserve_node_meta

from .regions import inline_region

_AUTOCAST = torch.ops.higher_order.wrap_with_autocast
_GRAD_MODE = torch.ops.higher_order.wrap_with_set_grad_enabled


class _Region(torch.fx.Interpreter):
    """Runs a region and those inside of it, each under its autocast and its mode of gradients."""

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        """One op; of a region, the values that it returns."""
        if target is _AUTOCAST:
            device, dtype, enabled, _, region, *values = args
            # Without a cache, which would outlive the trace.
            with torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=False):
                return _Region(region).run(*values)
        if target is _GRAD_MODE:
            enabled, region, *values = args
            returned = _Region(region).run(*values)
            return returned if enabled else tuple(
                value.detach() if isinstance(value, torch.Tensor) else value
                for value in returned)
        return super().call_function(target, args, kwargs)


def inline_autocast(module: torch.fx.GraphModule) -> None:
    """Makes the ops of regions under autocast ops of the graph, in place, with their casts."""
    graph = module.graph
    for node in list(graph.nodes):
        if node.target is not _AUTOCAST:
            continue
        if not node.users:
            graph.erase_node(node)
            continue
        values = [value.meta["val"] if isinstance(value, torch.fx.Node) else value
                  for value in node.args[5:]]
        traced = _traced(node, getattr(module, node.args[4].target), values, _mode_of(graph))
        inline_region(module, node, traced, node.args[5:])
    for node in graph.find_nodes(op="get_attr"):
        if not node.users:
            graph.erase_node(node)
    module.recompile()


def _mode_of(graph: torch.fx.Graph) -> FakeTensorMode:
    """The mode of the graph's fake tensors."""
    values = (node.meta.get("val") for node in graph.nodes)
    return next(value.fake_mode for value in values if isinstance(value, FakeTensor))


def _traced(node: torch.fx.Node, region: torch.fx.GraphModule,
            values: list[Any], mode: FakeTensorMode) -> torch.fx.GraphModule:
    """The region's ops and casts as one graph, which names the modules that the region's does."""
    device, dtype, enabled = node.args[:3]

    def run(*arguments: Any) -> Any:
        with torch.autocast(device, dtype=dtype, enabled=enabled, cache_enabled=False):
            return _Region(region).run(*arguments)
    with preserve_node_meta(), torch.no_grad(), mode:
        traced: torch.fx.GraphModule = make_fx(run)(*values)
    return traced
