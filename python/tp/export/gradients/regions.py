"""Regions of a traced graph that torch.export keeps as graphs of their own."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch


def inline_region(module: torch.fx.GraphModule, node: torch.fx.Node, region: torch.fx.GraphModule,
                  values: Sequence[Any],
                  returned: Callable[[torch.fx.Node], torch.fx.Node] = lambda value: value) -> None:
    """Makes the ops of a region ops of the module's graph, in place of the node that calls it with
    the values. `returned`: what becomes of each value that the region returns."""
    graph = module.graph
    copies = dict(zip(region.graph.find_nodes(op="placeholder"), values))
    with graph.inserting_before(node):
        for op in region.graph.nodes:
            if op.op == "get_attr":
                name = f"{node.name}_{op.target}".replace(".", "_")
                setattr(module, name, getattr(region, op.target))
                copies[op] = graph.get_attr(name)
                copies[op].meta = dict(op.meta)
            elif op.op not in ("placeholder", "output"):
                copies[op] = graph.node_copy(op, copies.__getitem__)
        results = [returned(copies[value]) for value in region.graph.output_node().args[0]]
    for user in list(node.users):
        assert user.target is operator.getitem
        user.replace_all_uses_with(results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)
