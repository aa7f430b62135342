"""The steps of tp.export_training."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.export.graph_signature import InputKind

from ..errors import ExportError
from ..model import Model
from ..progress import Stages
from ..weights import OwnWeights
from .checks import check_call, check_tensors, distinct
from .gradients.own_code import check_hooks
from .input_names import step_input_names
from .joint import Joint, Step, own_name, step_path, trace_step
from .lower import lower
from .optimizers import Rule, make_optimizer, rules_of
from .own_plan import own_plan_of
from .ports import KINDS, table_names, value_of
from .random_state import give_state
from .rewrites import rewrite
from .step_graph import StepGraph
from .training_options import TrainingOptions, check_options
from .updates import Trained, Updates


def export_step(module: Any, loss: Callable[..., Any], optimizer: Any, batch: Any,
                options: Mapping[str, Any]) -> Model:
    """tp.export_training, where torch and torch-mlir can be imported."""
    args, kwargs, target = _split(batch)
    args = check_call(module, args, kwargs)
    if not callable(loss):
        raise ExportError("loss: expected a function of the module's output and the target, got "
                          f"{type(loss).__name__}")
    if isinstance(loss, type):
        raise ExportError("loss: expected a function of the module's output and the target, got the "
                          f"class {loss.__name__}: write {loss.__name__}()")
    check_tensors(target)
    args, kwargs, target = distinct((args, kwargs, target))
    made = make_optimizer(optimizer, module)
    check_hooks(module, made)
    rules = rules_of(made)
    checked = check_options(made, **options)
    with Stages("tp.export_training", 3) as stages:
        stages.begin("trace forward and backward")
        joint = trace_step(Step(module, loss), args, kwargs, target)
        stages.begin("optimizer")
        return _Builder(module, joint, made, rules, checked).model(stages)


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
                 rules: Mapping[int, Rule], options: TrainingOptions) -> None:
        self._module = module
        self._joint = joint
        self._rules = rules
        self._step = StepGraph(joint)
        self._updates = Updates(self._step, optimizer, rules, options)

    def model(self, stages: Stages) -> Model:
        """The step as a model."""
        specs = self._joint.program.graph_signature.input_specs
        graph, step = self._joint.graph, self._step
        self._updates.scale_loss()
        rewrite(graph, self._joint.marks, self._constants())
        step.add_result(step.port(self._joint.loss, "loss", "loss"), self._joint.loss)
        self._add_parameters([i for i, spec in enumerate(specs)
                              if spec.kind == InputKind.PARAMETER])
        self._add_others([i for i, spec in enumerate(specs) if spec.kind != InputKind.PARAMETER])
        self._add_random_state()
        self._updates.add_inputs()
        modules = self._joint.marks.take(graph, table_names(step.arguments))
        step.end()
        ports = [port for port, _ in step.arguments]
        results = [port for port, _ in step.results]
        stages.begin("lower to MLIR")
        mlir = lower(graph, ports, results, modules, step.aliases, step_path,
                     self._joint.recomputed)
        return Model(mlir, ports, results, OwnWeights(step.weights, self._module),
                     own_plan_of(self._module), own_plan_of(self._module, experts=True))

    def _constants(self) -> dict[torch.fx.Node, torch.Tensor]:
        """The values of constants of the module's code."""
        program, joint = self._joint.program, self._joint
        return {joint.placeholders[i]: value_of(program, spec)
                for i, spec in enumerate(program.graph_signature.input_specs)
                if spec.kind == InputKind.CONSTANT_TENSOR and i not in joint.updates}

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
            self._step.aliases[name] = [own_name(specs[other].target) for other in tied if other != i]
            self._step.add_argument(self._step.port(node, name, "parameter"), node,
                                    value_of(program, specs[i]))
            parameter = self._owner(specs[i].target)
            found = [joint.gradients[j] for j in tied if j in joint.gradients]
            assert len(found) <= 1, "a tied parameter is read by several names"
            changed = next((joint.updates[j] for j in tied if j in joint.updates), None)
            if found and id(parameter) in self._rules:
                trained.append(Trained(name, node, found[0], parameter, changed or node))
            elif changed is not None:
                self._step.update_of("parameter", name, node, changed)
        if not trained:
            raise ExportError("optimizer: no parameter that the loss depends on is in its groups")
        self._updates.add(trained)

    def _owner(self, target: str) -> torch.nn.Parameter:
        if not target.startswith("module."):
            raise ExportError(f"loss: parameter '{target}' is not the module's: make the loss's "
                              "parameters the module's own")
        return self._module.get_parameter(own_name(target))

    def _add_others(self, positions: Sequence[int]) -> None:
        """Buffers, constants and inputs, and those that the step changes."""
        program, joint = self._joint.program, self._joint
        specs = program.graph_signature.input_specs
        inputs = iter(step_input_names(self._joint.program, self._module))
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
            if is_input and name == "lr" and self._updates.has_rate_input:
                raise ExportError("lr: the module or the target has an input of the name 'lr', "
                                  "which is the rate's with lr='input': rename it")
            self._step.add_argument(self._step.port(node, name, kind), node,
                                    None if is_input else value_of(program, spec))
            if i in joint.updates:
                self._step.update_of(kind, name, node, joint.updates[i])

    def _add_random_state(self) -> None:
        step = self._step
        state = give_state(self._joint.graph, (port.name for port, _ in step.arguments), step_path)
        if state is not None:
            step.add_argument(state.argument, state.old, state.value)
            step.add_result(state.result, state.new)
