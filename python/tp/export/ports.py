"""Names and kinds of a program's arguments and results."""
from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass, replace
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from ..dtypes import name_of_torch
from ..errors import ExportError
from ..model import Port, keys_of
from .input_names import input_names, walk

KINDS = {InputKind.PARAMETER: "parameter", InputKind.BUFFER: "buffer",
          InputKind.CONSTANT_TENSOR: "constant_tensor", InputKind.USER_INPUT: "user_input"}


@dataclass
class Ports:
    """The ports of a traced program.

    Attributes:
        arguments: in order of the graph's placeholders that are tensors.
        placeholders: these placeholders.
        results: what the module returns, then what it changes.
        result_nodes: their nodes.
        weights: values of parameters, buffers and constants, by key.
    """
    arguments: list[Port]
    placeholders: list[torch.fx.Node]
    results: list[Port]
    result_nodes: list[torch.fx.Node]
    weights: dict[str, torch.Tensor]


def port_of(tensor: torch.Tensor, name: str, kind: str, updates: str | None = None) -> Port:
    """The port of a tensor. A complex one is fed as its parts, in a last dimension of 2."""
    shape, dtype = tuple(tensor.shape), tensor.dtype
    if dtype.is_complex:
        shape, dtype = shape + (2,), dtype.to_real()
    return Port(name, kind, shape, name_of_torch(dtype), updates)


def table_names(arguments: Iterable[tuple[Port, torch.fx.Node]]) -> dict[torch.fx.Node, str]:
    """What the module table calls the arguments (docs/model-file.md)."""
    prefix = {"parameter": "p_", "buffer": "b_"}
    return {node: prefix[port.kind] + port.name.replace(".", "_") if port.kind in prefix
            else port.name for port, node in arguments}


def ports_of(program: ExportedProgram, module: torch.nn.Module) -> Ports:
    """The ports of an exported program of `module`. Raises ExportError for inputs or outputs that
    are neither tensors nor constants. What the module changes in a cache that it is given is state:
    the cache's tensors are buffers, whose values are those given."""
    placeholders = {node.name: node for node in program.graph.nodes if node.op == "placeholder"}
    changed = {spec.target for spec in program.graph_signature.output_specs
               if spec.kind == OutputKind.USER_INPUT_MUTATION}
    inputs = iter(zip(*input_names(program, module), _example(program)))
    arguments: list[Port] = []
    nodes: list[torch.fx.Node] = []
    values: list[torch.Tensor | None] = []
    port_of_node: dict[str, int] = {}
    for spec in program.graph_signature.input_specs:
        node = placeholders[spec.arg.name]
        kind, value = KINDS.get(spec.kind), None
        if spec.kind == InputKind.USER_INPUT:
            name, of_cache, given = next(inputs)
            if of_cache and node.name in changed:
                kind, value = "buffer", given
        else:
            name = spec.target
        tensor = node.meta.get("val")
        if kind is None:
            raise ExportError(f"argument '{name}' is an object of kind {spec.kind.name}: expected "
                              "tensors, numbers, strings, and lists and dicts of these")
        if not isinstance(tensor, torch.Tensor):
            continue
        port_of_node[node.name] = len(arguments)
        arguments.append(port_of(tensor, name, kind))
        nodes.append(node)
        values.append(value if spec.kind == InputKind.USER_INPUT else value_of(program, spec))
    keys = keys_of(arguments)
    weights = {key: value for key, value in zip(keys, values) if value is not None}
    results, result_nodes = _results(program, arguments, keys, port_of_node)
    for port in results:  # a later call of the module changes its own tensors
        if port.updates in weights:
            weights[port.updates] = weights[port.updates].clone()
    return Ports(arguments, nodes, results, result_nodes, weights)


def _example(program: ExportedProgram) -> list[Any]:
    """The leaves of the arguments that the module was traced with."""
    leaves: list[Any] = pytree.tree_leaves(program.example_inputs)
    return leaves


def value_of(program: ExportedProgram, spec: Any) -> torch.Tensor:
    for source in (program.state_dict, program.constants):
        if spec.target in source:
            value = source[spec.target].detach()
            return torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
    raise ExportError(f"{KINDS[spec.kind]} '{spec.target}' has no value")


def _results(program: ExportedProgram, arguments: list[Port], keys: list[str],
             port_of_node: Mapping[str, int]) -> tuple[list[Port], list[torch.fx.Node]]:
    output = next(node for node in program.graph.nodes if node.op == "output")
    names = iter(_output_names(program))
    by_target = {port.name: i for i, port in enumerate(arguments)
                 if port.kind in ("parameter", "buffer")}
    returned: list[tuple[Port, torch.fx.Node]] = []
    changed: list[tuple[Port, torch.fx.Node]] = []
    for spec, node in zip(program.graph_signature.output_specs, output.args[0]):
        if spec.kind == OutputKind.USER_OUTPUT:
            name = next(names)
            if isinstance(node, torch.fx.Node) and isinstance(node.meta.get("val"), torch.Tensor):
                returned.append((port_of(node.meta["val"], name, "user_output"), node))
            continue
        if spec.kind == OutputKind.USER_INPUT_MUTATION:
            i = port_of_node[spec.target]
        elif spec.kind in (OutputKind.BUFFER_MUTATION, getattr(OutputKind, "PARAMETER_MUTATION",
                                                               None)):
            i = by_target[spec.target]
        else:
            raise ExportError(f"a result is of kind {spec.kind.name}: export the module itself, "
                              "and a training step by tp.export_training")
        port = replace(arguments[i], kind=f"new_{arguments[i].kind}", updates=keys[i])
        changed.append((port, node))
    if not returned and not changed:
        raise ExportError("the module returns no tensor: expected at least one")
    # A cache that is returned and changed in place is one result.
    updated = {(port.name, node) for port, node in changed}
    ordered = [(port, node) for port, node in returned if (port.name, node) not in updated]
    ordered += changed
    return [port for port, _ in ordered], [node for _, node in ordered]


def _output_names(program: ExportedProgram) -> list[str]:
    """A name for every leaf of what the module returns: the key in a dict or ModelOutput, the
    field of a named tuple, `output` for a single tensor, `output.0` in a tuple."""
    spec = program.call_spec.out_spec
    tree = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
    names: dict[int, str] = {}
    is_named = isinstance(tree, Mapping) or is_dataclass(tree) or hasattr(tree, "_fields")
    walk(tree, "" if is_named else "output", names)
    return [names.get(i, f"output.{i}") for i in range(spec.num_leaves)]
