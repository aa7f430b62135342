"""Which graph nodes are the inputs and outputs of every module.

While torch traces a module, hooks record the tensors that every submodule is called with and
returns, as marks in the graph. After the decompositions the marks name the nodes that the tensors
became, and are removed.
"""
from __future__ import annotations

import inspect
import operator
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._export.wrappers import _export_tracepoint
from torch.utils import _pytree as pytree


@dataclass
class ModuleRow:
    """A row of the module table. A port is the name of a graph node, "" for one that is no
    tensor. `positional`: the names of the arguments that the module is called with by position.
    `output_sizes`: how many of the outputs each of the module's results has."""
    name: str
    class_name: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    input_names: list[str] = field(default_factory=list)
    positional: list[str] = field(default_factory=list)
    output_sizes: list[int] = field(default_factory=list)


@dataclass
class _Call:
    """What a module is called with, or returns. A leaf is the number of a tensor among the mark's,
    or None; `sizes`: how many leaves each value has."""
    path: str
    positional: list[str]
    leaves: list[int | None] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


class Marks:
    """The marks of one trace."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self._calls: list[_Call] = []

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Marks are set for calls of the module and its submodules inside of the context. Of a
        module that is called several times the first call counts."""
        handles = []
        try:
            for path, module in self.module.named_modules():
                handles.append(module.register_forward_pre_hook(self._before(path),
                                                                with_kwargs=True))
                handles.append(module.register_forward_hook(self._after(path), with_kwargs=True))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _before(self, path: str) -> Any:
        def hook(module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            positional = positional_names(module, len(args))
            self._mark("inputs", path, [*zip(positional, args), *kwargs.items()], positional)
        return hook

    def _after(self, path: str) -> Any:
        def hook(module: torch.nn.Module, args: Any, kwargs: Any, output: Any) -> None:
            # A tuple has one result for each element, a list and a dict too.
            results = pytree.tree_leaves(output, is_leaf=lambda value: value is not output)
            self._mark("outputs", path, [("", result) for result in results])
        return hook

    def _mark(self, kind: str, path: str, values: list[tuple[str, Any]],
              positional: list[str] | None = None) -> None:
        tensors: list[torch.Tensor] = []
        call = _Call(path, positional or [])
        for name, value in values:
            leaves = pytree.tree_leaves(value)
            call.sizes.append(len(leaves))
            for leaf in leaves:
                call.names.append(name)
                if isinstance(leaf, torch.Tensor):
                    call.leaves.append(len(tensors))
                    tensors.append(leaf)
                else:
                    call.leaves.append(None)
        # Inside of torch.vmap tensors have no batch, and marks no rule for one.
        if tensors and torch._C._functorch.peek_interpreter_stack() is None:
            _export_tracepoint(*tensors, kind=kind, path=str(len(self._calls)))
        self._calls.append(call)

    def detach(self, graph: torch.fx.Graph) -> None:
        """Makes every use of what a mark returns a use of what it is given. The marks stay, so that
        rewrites of the graph rewrite them too."""
        for node in _marks(graph):
            for user in list(node.users):
                assert user.target is operator.getitem
                user.replace_all_uses_with(node.args[user.args[1]])
                graph.erase_node(user)

    def take(self, graph: torch.fx.Graph,
             names: Mapping[torch.fx.Node, str]) -> list[ModuleRow]:
        """Removes the marks from the graph. Returns a row for every module, in order of the
        modules' names in the module; modules that are not called have no ports. `names` has what
        the table calls placeholders."""
        rows = {path: ModuleRow(path, type(module).__name__)
                for path, module in self.module.named_modules()}
        seen: set[tuple[str, str]] = set()
        for node in _marks(graph):
            call = self._calls[int(node.kwargs["path"])]
            row, kind = rows[call.path], node.kwargs["kind"]
            if (call.path, kind) not in seen:
                seen.add((call.path, kind))
                nodes = [None if leaf is None else node.args[leaf] for leaf in call.leaves]
                ports = ["" if port is None else names.get(port, port.name) for port in nodes]
                if kind == "inputs":
                    row.inputs, row.input_names = ports, call.names
                    row.positional = call.positional
                else:
                    row.outputs, row.output_sizes = ports, call.sizes
            graph.erase_node(node)
        return list(rows.values())


def _marks(graph: torch.fx.Graph) -> list[torch.fx.Node]:
    return [node for node in graph.nodes if node.target is _export_tracepoint]


def positional_names(module: torch.nn.Module, count: int) -> list[str]:
    """Names of the first `count` positional arguments of the module's forward."""
    try:
        parameters = list(inspect.signature(module.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}.{i}" for i in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return (names + [str(i) for i in range(len(names), count)])[:count]
