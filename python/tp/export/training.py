"""The steps of tp.export_training."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.export.graph_signature import InputKind
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from ..errors import ExportError
from ..model import Model, Port
from .checks import check_call, check_tensors
from .decompositions import decomposition_table
from .joint import Joint, Step, own_name, step_path, trace_step
from .lower import lower
from .marks import positional_names
from .optimizers import Rule, make_optimizer, rules_of, steps_before
from .own_plan import own_plan_of
from .ports import KINDS, port_of, table_names, value_of, walk
from .random_state import give_state
from .rewrites import rewrite


def export_step(module: Any, loss: Callable[..., Any], optimizer: Any, batch: Any) -> Model:
    """tp.export_training, where torch and torch-mlir can be imported."""
    args, kwargs, target = _split(batch)
    args = check_call(module, args, kwargs)
    if not callable(loss):
        raise ExportError("loss: expected a function of the module's output and the target, got "
                          f"{type(loss).__name__}")
    check_tensors(target)
    made = make_optimizer(optimizer, module)
    rules = rules_of(made)
    joint = trace_step(Step(module, loss), args, kwargs, target)
    return _Builder(module, joint, made, rules).model()


def _split(batch: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any]:
    """The module's arguments and the target of a batch."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        got = f"{len(batch)} values" if isinstance(batch, (tuple, list)) else type(batch).__name__
        raise ExportError("batch: expected (inputs, target), where inputs is a tensor, a tuple or "
                          f"a dict of the module's arguments, got {got}")
    inputs, target = batch
    if isinstance(inputs, Mapping):
        return (), dict(inputs), target
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), {}, target


class _Builder:
    """Appends the optimizer to the graph of loss and gradients, and orders its ports: parameters,
    states, buffers and constants, inputs."""

    def __init__(self, module: torch.nn.Module, joint: Joint, optimizer: torch.optim.Optimizer,
                 rules: Mapping[int, Rule]) -> None:
        self._module = module
        self._joint = joint
        self._graph = joint.graph
        self._optimizer = optimizer
        self._rules = rules
        self._arguments: list[tuple[Port, torch.fx.Node]] = []
        self._results: list[tuple[Port, torch.fx.Node]] = []
        self._weights: dict[str, torch.Tensor] = {}
        self._aliases: dict[str, list[str]] = {}
        self._step: torch.fx.Node | None = None
        self._traced: dict[Any, torch.fx.Graph] = {}

    def model(self) -> Model:
        """The step as a model."""
        specs = self._joint.program.graph_signature.input_specs
        rewrite(self._graph, self._joint.marks, self._constants())
        self._add_result(self._port(self._joint.loss, "loss", "loss"), self._joint.loss)
        self._add_parameters([i for i, spec in enumerate(specs)
                              if spec.kind == InputKind.PARAMETER])
        self._add_others([i for i, spec in enumerate(specs) if spec.kind != InputKind.PARAMETER])
        self._add_random_state()
        modules = self._joint.marks.take(self._graph, table_names(self._arguments))
        self._order()
        ports = [port for port, _ in self._arguments]
        mlir = lower(self._graph, ports, [port for port, _ in self._results], modules,
                     self._aliases, step_path)
        return Model(mlir, ports, [port for port, _ in self._results], self._weights,
                     own_plan_of(self._module))

    def _constants(self) -> dict[torch.fx.Node, torch.Tensor]:
        """The values of constants of the module's code."""
        program, joint = self._joint.program, self._joint
        return {joint.placeholders[i]: value_of(program, spec)
                for i, spec in enumerate(program.graph_signature.input_specs)
                if spec.kind == InputKind.CONSTANT_TENSOR and i not in joint.updates}

    def _port(self, node: torch.fx.Node, name: str, kind: str) -> Port:
        return port_of(node.meta["val"], name, kind)

    def _add_result(self, port: Port, node: torch.fx.Node) -> None:
        self._results.append((port, node))

    def _add_argument(self, port: Port, node: torch.fx.Node,
                      value: torch.Tensor | None = None) -> None:
        self._arguments.append((port, node))
        if value is not None:
            key = f"{port.kind}:{port.name}" if port.kind.startswith("opt_") else port.name
            self._weights[key] = value

    def _add_parameters(self, positions: Sequence[int]) -> None:
        """Parameters, their states, and what the optimizer makes of them. A tied parameter has the
        name that the graph reads."""
        joint, program = self._joint, self._joint.program
        specs = program.graph_signature.input_specs
        names: dict[int, list[int]] = {}
        for i in positions:
            names.setdefault(id(self._owner(specs[i].target)), []).append(i)
        trained = []
        for tied in names.values():
            i = next((i for i in tied if joint.placeholders[i].users), tied[0])
            node, name = joint.placeholders[i], own_name(specs[i].target)
            self._aliases[name] = [own_name(specs[other].target) for other in tied if other != i]
            self._add_argument(self._port(node, name, "parameter"), node,
                               value_of(program, specs[i]))
            parameter = self._owner(specs[i].target)
            found = [joint.gradients[j] for j in tied if j in joint.gradients]
            assert len(found) <= 1, "a tied parameter is read by several names"
            if found and id(parameter) in self._rules:
                trained.append((name, node, found[0], parameter))
        if not trained:
            raise ExportError("optimizer: no parameter that the loss depends on is in its groups")
        self._add_updates(trained)

    def _owner(self, target: str) -> torch.nn.Parameter:
        if not target.startswith("module."):
            raise ExportError(f"loss: parameter '{target}' is not the module's: make the loss's "
                              "parameters the module's own")
        return self._module.get_parameter(own_name(target))

    def _add_updates(self, trained: Sequence[tuple[str, torch.fx.Node, torch.fx.Node,
                                                   torch.nn.Parameter]]) -> None:
        if any(self._rules[id(parameter)].counts for *_, parameter in trained):
            before = torch.tensor(steps_before(self._optimizer))
            self._step = self._placeholder("step", before)
        updated = [(name, node, self._update(name, node, gradient, parameter))
                   for name, node, gradient, parameter in trained]
        for name, node, (new, _) in updated:
            self._update_of("parameter", name, node, new)
        kinds = dict.fromkeys(state for *_, (_, states) in updated for state in states)
        for kind in kinds:
            for name, _, (_, states) in updated:
                if kind in states:
                    old, new, value = states[kind]
                    self._add_argument(self._port(old, name, f"opt_{kind}"), old, value)
                    self._aliases[f"opt_{kind}:{name}"] = self._aliases[name]
                    self._update_of(f"opt_{kind}", name, old, new)
        if self._step is not None:
            self._add_argument(self._port(self._step, "step", "opt_step"), self._step, before)
            new = self._call(lambda step: step + 1, [self._step], "<optim>")[0]
            self._update_of("opt_step", "step", self._step, new)

    def _update_of(self, kind: str, name: str, old: torch.fx.Node, new: torch.fx.Node) -> None:
        port = self._port(old, name, f"new_{kind.removeprefix('opt_')}")
        self._add_result(replace(port, updates=f"{kind}:{name}"), new)

    def _update(self, name: str, node: torch.fx.Node, gradient: torch.fx.Node,
                parameter: torch.nn.Parameter) -> tuple[torch.fx.Node, dict[str, Any]]:
        """The parameter's next value, and of each state the old and the next value's nodes and the
        first value."""
        rule = self._rules[id(parameter)]
        given = self._optimizer.state.get(parameter, {})
        first = {state: given.get("max_exp_avg_sqs" if state == "max_exp_avg_sq" else state)
                 for state in rule.states}
        values = {state: torch.zeros_like(parameter).detach() if value is None else value.detach()
                  for state, value in first.items()}
        old = {state: self._placeholder(f"{state}_{node.name}", value)
               for state, value in values.items()}
        step = [self._step] if rule.counts else []

        def update(*tensors: torch.Tensor) -> Any:
            states = dict(zip(rule.states, tensors[2:]))
            counted = tensors[-1] if rule.counts else None
            new, found = rule.update(tensors[0], tensors[1], states, counted)
            return [new] + [found[state] for state in rule.states]
        key = (id(rule), tuple(parameter.shape), parameter.dtype)
        new, *states = self._call(update, [node, gradient, *old.values(), *step],
                                  f"<optim>.{name}", key)
        return new, {state: (old[state], states[i], values[state])
                     for i, state in enumerate(rule.states)}

    def _placeholder(self, name: str, value: torch.Tensor) -> torch.fx.Node:
        last = list(self._graph.find_nodes(op="placeholder"))[-1]
        with self._graph.inserting_after(last):
            node = self._graph.placeholder(name)
        mode = self._joint.placeholders[0].meta["val"].fake_mode
        node.meta = {"val": mode.from_tensor(value, static_shapes=True)}
        return node

    def _call(self, function: Callable[..., Any], nodes: Sequence[Any], path: str,
              key: Any = None) -> list[torch.fx.Node]:
        """Appends the ops of the function, located at `path`. Functions of one key are equal."""
        graph = self._traced.get(key) if key is not None else None
        if graph is None:
            values = [node.meta["val"] for node in nodes]
            graph = make_fx(lambda *tensors: _listed(function(*tensors)),
                            decomposition_table=decomposition_table())(*values).graph
            if key is not None:
                self._traced[key] = graph
        copies = dict(zip(graph.find_nodes(op="placeholder"), nodes))
        with self._graph.inserting_before(self._graph.output_node()):
            for node in graph.nodes:
                if node.op not in ("placeholder", "output"):
                    copy = self._graph.node_copy(node, copies.__getitem__)
                    copy.meta = {"val": node.meta["val"], "tp_path": path}
                    copies[node] = copy
        return [copies[node] for node in graph.output_node().args[0]]

    def _add_others(self, positions: Sequence[int]) -> None:
        """Buffers, constants and inputs, and those that the step changes."""
        program, joint = self._joint.program, self._joint
        specs = program.graph_signature.input_specs
        inputs = iter(self._input_names())
        for i in positions:
            spec, node = specs[i], joint.placeholders[i]
            kind, is_input = KINDS.get(spec.kind), spec.kind == InputKind.USER_INPUT
            name = next(inputs) if is_input else own_name(spec.target or "")
            if kind is None:
                raise ExportError(f"argument '{name}' is an object of kind {spec.kind.name}: "
                                  "expected tensors, numbers, strings, and lists and dicts of these")
            if not isinstance(node.meta.get("val"), torch.Tensor):
                continue
            if not node.users and kind == "constant_tensor":
                continue
            self._add_argument(self._port(node, name, kind), node,
                               None if is_input else value_of(program, spec))
            if i in joint.updates:
                self._update_of(kind, name, node, joint.updates[i])

    def _add_random_state(self) -> None:
        state = give_state(self._graph, (port.name for port, _ in self._arguments), step_path)
        if state is not None:
            self._add_argument(state.argument, state.old, state.value)
            self._add_result(state.result, state.new)

    def _input_names(self) -> list[str]:
        spec = self._joint.program.call_spec.in_spec
        (args, kwargs, target), _ = pytree.tree_unflatten(list(range(spec.num_leaves)), spec)
        names: dict[int, str] = {}
        for name, value in zip(positional_names(self._module, len(args)), args):
            walk(value, name, names)
        for name, value in kwargs.items():
            walk(value, name, names)
        walk(target, "target", names)
        return [names.get(i, f"input.{i}") for i in range(spec.num_leaves)]

    def _order(self) -> None:
        """Makes the graph's placeholders and output those of the ports."""
        output = self._graph.output_node()
        output.args = (tuple(node for _, node in self._results),)
        self._graph.eliminate_dead_code()
        kept = {node for _, node in self._arguments}
        for node in list(self._graph.find_nodes(op="placeholder")):
            if node not in kept:
                assert not node.users, f"{node.name} is used and is no port"
                self._graph.erase_node(node)
        first = next(iter(self._graph.nodes))
        for _, node in self._arguments:
            if node is not first:
                first.prepend(node)
            else:
                first = first.next


def _listed(value: Any) -> list[torch.Tensor]:
    return list(value) if isinstance(value, (list, tuple)) else [value]
