"""The graph of a training step and its ports, which grow as the optimizer is appended."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.fx import Node
from torch.fx.experimental.proxy_tensor import make_fx

from ..model import Port
from .decompositions import decomposition_table
from .joint import Joint
from .ports import port_of


class StepGraph:
    """The graph of loss and gradients, with its arguments and results in order.

    Attributes:
        weights: the first values of arguments that are no inputs, by key.
        aliases: the other names of tied weights, by key.
    """

    def __init__(self, joint: Joint) -> None:
        self._joint = joint
        self._graph = joint.graph
        self.arguments: list[tuple[Port, Node]] = []
        self.results: list[tuple[Port, Node]] = []
        self.weights: dict[str, torch.Tensor] = {}
        self.aliases: dict[str, list[str]] = {}
        self._traced: dict[Any, torch.fx.Graph] = {}

    def port(self, node: Node, name: str, kind: str) -> Port:
        """A port of the node's shape and type."""
        return port_of(node.meta["val"], name, kind)

    def add_result(self, port: Port, node: Node) -> None:
        """Appends a result."""
        self.results.append((port, node))

    def add_argument(self, port: Port, node: Node, value: torch.Tensor | None = None) -> None:
        """Appends an argument. `value` is the first one of what is no input."""
        self.arguments.append((port, node))
        if value is not None:
            key = f"{port.kind}:{port.name}" if port.kind.startswith("opt_") else port.name
            self.weights[key] = value

    def update_of(self, kind: str, name: str, old: Node, new: Node) -> None:
        """Appends the next value of an argument as a result."""
        port = self.port(old, name, f"new_{kind.removeprefix('opt_')}")
        self.add_result(replace(port, updates=f"{kind}:{name}"), new)

    def add_state(self, kind: str, name: str, old: Node, new: Node, value: torch.Tensor) -> None:
        """Appends an argument and its next value."""
        self.add_argument(self.port(old, name, kind), old, value)
        self.update_of(kind, name, old, new)

    def placeholder(self, name: str, value: torch.Tensor) -> Node:
        """A new argument's node, which is no port yet."""
        last = list(self._graph.find_nodes(op="placeholder"))[-1]
        with self._graph.inserting_after(last):
            node: Node = self._graph.placeholder(name)
        mode = self._joint.placeholders[0].meta["val"].fake_mode
        if 0 in value.stride():  # one element for all: ops see a tensor with memory of its own
            with mode:
                node.meta = {"val": torch.empty(tuple(value.shape), dtype=value.dtype)}
        else:
            node.meta = {"val": mode.from_tensor(value, static_shapes=True)}
        return node

    def call(self, function: Callable[..., Any], nodes: Sequence[Node], path: str,
             key: Any = None, before: Node | None = None) -> list[Node]:
        """Adds the ops of the function, located at `path`, at the graph's end or `before` a node.
        Functions of one key are equal."""
        graph = self._traced.get(key) if key is not None else None
        if graph is None:
            # Copies of one graph share their values, and tracing tells inputs apart by these.
            values = [node.meta["val"].detach() for node in nodes]
            graph = make_fx(lambda *tensors: _listed(function(*tensors)),
                            decomposition_table=decomposition_table())(*values).graph
            if key is not None:
                self._traced[key] = graph
        copies = dict(zip(graph.find_nodes(op="placeholder"), nodes))
        with self._graph.inserting_before(before or self._graph.output_node()):
            for node in graph.nodes:
                if node.op not in ("placeholder", "output"):
                    copy = self._graph.node_copy(node, copies.__getitem__)
                    copy.meta = {"val": node.meta["val"], "tp_path": path}
                    copies[node] = copy
        return [copies[node] for node in graph.output_node().args[0]]

    def scale_gradients(self, function: Callable[..., Any], nodes: Sequence[Node]) -> None:
        """Replaces the gradient of the loss with respect to itself, with which the backward pass
        begins, by what the function makes of it and of the nodes."""
        seed = self._joint.seed
        users = list(seed.users)
        assert users, "the backward pass begins with the gradient of the loss"
        scaled = self.call(function, [seed, *nodes], "bwd:<loss>", before=seed.next)[0]
        for user in users:
            user.replace_input_with(seed, scaled)

    def end(self) -> None:
        """Makes the graph's placeholders and output those of the ports."""
        output = self._graph.output_node()
        output.args = (tuple(node for _, node in self.results),)
        self._graph.eliminate_dead_code()
        kept = {node for _, node in self.arguments}
        for node in list(self._graph.find_nodes(op="placeholder")):
            if node not in kept:
                assert not node.users, f"{node.name} is used and is no port"
                self._graph.erase_node(node)
        first = next(iter(self._graph.nodes))
        for _, node in self.arguments:
            if node is not first:
                first.prepend(node)
            else:
                first = first.next


def _listed(value: Any) -> list[torch.Tensor]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
