"""The steps of tp.export."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ..model import Model, Port, aliases_of, keys_of
from ..progress import Stages
from ..weights import OwnWeights
from .checks import check_call, distinct
from .lower import lower
from .own_plan import own_plan_of
from .ports import Ports, ports_of, table_names
from .random_state import give_state
from .rewrites import rewrite
from .trace import trace


def export_module(module: torch.nn.Module, args: Sequence[Any],
                  kwargs: Mapping[str, Any]) -> Model:
    """tp.export, where torch and torch-mlir can be imported."""
    with Stages("tp.export", 3) as stages:
        return _exported(module, args, kwargs, stages)


def _exported(module: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any],
              stages: Stages) -> Model:
    if isinstance(module, torch._dynamo.OptimizedModule):  # of torch.compile
        module = module._orig_mod
    given, kwargs = distinct((check_call(module, args, kwargs), kwargs))
    stages.begin("trace")
    traced = trace(module, given, kwargs)
    program = traced.program
    stages.begin("rewrite")
    ports = ports_of(program, module)
    graph = program.graph
    set_ports(graph, ports)
    constants = {node: ports.weights[key] for key, node, port in zip(
        keys_of(ports.arguments), ports.placeholders, ports.arguments)
        if port.kind == "constant_tensor"}
    rewrite(graph, traced.marks, constants)
    add_random_state(graph, ports)
    modules = traced.marks.take(graph, table_names(zip(ports.arguments, ports.placeholders)))
    graph.eliminate_dead_code()
    drop_dead_constants(graph, ports)
    weights = live_first(ports)
    stages.begin("lower to MLIR")
    mlir = lower(graph, ports.arguments, ports.results, modules, tied_names(ports.arguments, weights))
    return Model(mlir, ports.arguments, ports.results, OwnWeights(weights, module),
                 own_plan_of(module), own_plan_of(module, experts=True))


def add_random_state(graph: torch.fx.Graph, ports: Ports) -> None:
    """Adds the state of random numbers to the ports, where the program draws some."""
    state = give_state(graph, (port.name for port in ports.arguments))
    if state is None:
        return
    ports.arguments.append(state.argument)
    ports.placeholders.append(state.old)
    ports.weights[state.argument.name] = state.value
    ports.results.append(state.result)
    output = graph.output_node()
    output.args = ((*output.args[0], state.new),)


def drop_dead_constants(graph: torch.fx.Graph, ports: Ports) -> None:
    """Removes the constants of the module's code that rewrites have made part of the program."""
    keys = keys_of(ports.arguments)
    dead = [i for i, port in enumerate(ports.arguments)
            if port.kind == "constant_tensor" and not ports.placeholders[i].users]
    for i in reversed(dead):
        graph.erase_node(ports.placeholders.pop(i))
        del ports.arguments[i], ports.weights[keys[i]]


def live_first(ports: Ports) -> dict[str, torch.Tensor]:
    """The weights, those that the graph reads before those that it does not: of a tied weight,
    whose names the module has all, the graph reads one, and a file holds its first name."""
    keys = keys_of(ports.arguments)
    live = {key for key, node in zip(keys, ports.placeholders) if node.users}
    return dict(sorted(ports.weights.items(), key=lambda item: item[0] not in live))


def tied_names(arguments: Sequence[Port],
               weights: Mapping[str, torch.Tensor]) -> dict[str, list[str]]:
    """The other names of every tied weight, by each of its keys."""
    names = {key: port.name for key, port in zip(keys_of(arguments), arguments)}
    groups: dict[str, list[str]] = {}
    for alias, first in aliases_of(weights).items():
        groups.setdefault(first, [first]).append(alias)
    return {key: [names[other] for other in tied if other != key]
            for tied in groups.values() for key in tied}


def set_ports(graph: torch.fx.Graph, ports: Ports) -> None:
    """Makes the graph's placeholders and outputs the ports, in their order."""
    kept = set(ports.placeholders)
    for node in list(graph.nodes):
        if node.op == "placeholder" and node not in kept:
            assert not node.users, f"{node.name} is a constant and is used"
            graph.erase_node(node)
    output = next(node for node in graph.nodes if node.op == "output")
    output.args = (tuple(ports.result_nodes),)
