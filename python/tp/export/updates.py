"""From gradients to the next parameters: accumulation, loss scaling, clipping, the optimizer."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.fx import Node

from ..errors import ExportError
from .optimizers import Rule, steps_before
from .step_graph import StepGraph
from .training_options import TrainingOptions

PATH = "<optim>"


@dataclass
class Trained:
    """A parameter that the optimizer trains, its gradient, and the value that the gradient changes:
    the parameter itself, or what the forward pass made of it."""
    name: str
    node: Node
    gradient: Node
    parameter: torch.nn.Parameter
    value: Node


class Updates:
    """Appends to a step what follows the gradients. A state goes on only in a call that ends a step
    of the optimizer, and only where all gradients are finite if the loss is scaled."""

    def __init__(self, graph: StepGraph, optimizer: torch.optim.Optimizer,
                 rules: Mapping[int, Rule], options: TrainingOptions) -> None:
        self._graph = graph
        self._optimizer = optimizer
        self._rules = rules
        self._options = options
        self._last: Node | None = None
        self._applies: Node | None = None
        self._step: Node | None = None
        self._rate: Node | None = None
        self._scale: Node | None = None
        self._rate_input: Node | None = None
        self._rate_table: Node | None = None
        # What is appended behind the parameters and the states of their shapes.
        self._scalars: list[tuple[str, str, Node, Node, torch.Tensor]] = []
        self._sums: list[tuple[Trained, Node, Node, torch.Tensor]] = []

    def scale_loss(self) -> None:
        """Makes the backward pass begin with the scale, divided by the number of micro-batches.
        Comes before rewrites of the graph, which fold the constant that is scaled."""
        count, scaling = self._options.accumulate, self._options.loss_scale
        if scaling is not None and not scaling.is_fixed:
            self._scale = self._scalar("opt_loss_scale", "loss_scale", torch.tensor(scaling.scale))
            self._graph.scale_gradients(
                lambda seed, scale: (seed * (scale / count)).to(seed.dtype), [self._scale])
        elif scaling is not None or count > 1:
            factor = (1.0 if scaling is None else scaling.scale) / count
            self._graph.scale_gradients(lambda seed: seed * factor, [])

    def add(self, trained: Sequence[Trained]) -> None:
        """Appends arguments and results for all of these parameters."""
        options, graph = self._options, self._graph
        self._count(trained)
        gradients = [self._accumulated(row) for row in trained]
        self._end_scaling(trained, gradients)
        gradients = self._clipped(trained, self._unscaled(trained, gradients))
        updated = [self._update(row, gradient) for row, gradient in zip(trained, gradients)]
        for row, (new, _) in zip(trained, updated):
            graph.update_of("parameter", row.name, row.node, new)
        for kind in dict.fromkeys(state for _, states in updated for state in states):
            for row, (_, states) in zip(trained, updated):
                if kind in states:
                    self._add_state(row, f"opt_{kind}", *states[kind])
        for row, old, new, value in self._sums:
            self._add_state(row, "opt_accumulated_grad", old, new, value)
        if self._step is not None:
            new = self._where(self._applies, self._call(lambda step: step + 1, self._step),
                              self._step)
            graph.add_state("opt_step", "step", self._step, new,
                            torch.tensor(steps_before(self._optimizer)))
        for scalar in self._scalars:
            graph.add_state(*scalar)
        if self._rate_table is not None:
            assert options.rates is not None
            port = graph.port(self._rate_table, "lr_schedule", "constant_tensor")
            graph.add_argument(port, self._rate_table, options.rates)

    @property
    def has_rate_input(self) -> bool:
        """Whether there is an input `lr`."""
        return self._rate_input is not None

    def add_inputs(self) -> None:
        """Appends what each call gives beside the batch."""
        if self._rate_input is not None:
            port = self._graph.port(self._rate_input, "lr", "user_input")
            self._graph.add_argument(port, self._rate_input)

    def _add_state(self, row: Trained, kind: str, old: Node, new: Node,
                   value: torch.Tensor) -> None:
        self._graph.add_state(kind, row.name, old, new, value)
        self._graph.aliases[f"{kind}:{row.name}"] = self._graph.aliases[row.name]

    def _call(self, function: Any, *nodes: Node, path: str = PATH, key: Any = None) -> Node:
        return self._graph.call(function, nodes, path, key)[0]

    def _where(self, condition: Node | None, new: Node, old: Node, path: str = PATH) -> Node:
        if condition is None:
            return new
        value = new.meta["val"]
        return self._call(torch.where, condition, new, old, path=path,
                          key=("where", tuple(value.shape), value.dtype))

    def _scalar(self, kind: str, name: str, value: torch.Tensor) -> Node:
        """A new state of one element; what it becomes is said by `_becomes`."""
        return self._graph.placeholder(f"{kind}_{name}", value)

    def _becomes(self, kind: str, name: str, old: Node, new: Node, value: torch.Tensor) -> None:
        self._scalars.append((kind, name, old, new, value))

    def _count(self, trained: Sequence[Trained]) -> None:
        """The number of steps before, the micro-batch of this call, and the learning rate."""
        options = self._options
        if options.rates is not None or any(self._rules[id(row.parameter)].counts
                                            for row in trained):
            self._step = self._graph.placeholder(
                "step", torch.tensor(steps_before(self._optimizer)))
        if options.accumulate > 1:
            first, count = torch.tensor(0), options.accumulate
            old = self._scalar("opt_micro_batch", "micro_batch", first)
            self._last = self._call(lambda number: number == count - 1, old)
            new = self._call(lambda number, last: torch.where(last, 0, number + 1), old,
                             self._last)
            self._becomes("opt_micro_batch", "micro_batch", old, new, first)
        self._applies = self._last
        groups = len(self._optimizer.param_groups)
        if options.lr_is_input:
            self._rate_input = self._graph.placeholder("lr", torch.zeros(
                () if groups == 1 else (groups,)))
            self._rate = self._call(lambda lr: lr.to(torch.float64).reshape(groups),
                                    self._rate_input)
        elif options.rates is not None:
            assert self._step is not None
            self._rate_table = self._graph.placeholder("lr_schedule", options.rates)
            last = len(options.rates) - 1
            self._rate = self._call(
                lambda table, step: table[step.to(torch.int64).clamp(0, last).reshape(1)].reshape(
                    groups), self._rate_table, self._step)

    def _accumulated(self, row: Trained) -> Node:
        """The sum of the gradients of this step's micro-batches, in f32 where there is a master."""
        value = row.gradient.meta["val"]
        wide = torch.float32 if self._has_master(row) else value.dtype
        key = ("sum", tuple(value.shape), value.dtype, wide)
        if self._last is None:
            return row.gradient if wide == value.dtype else self._call(
                lambda gradient: gradient.to(wide), row.gradient, path=self._path(row),
                key=("wide", *key))
        first = _zeros(value.shape, wide)
        old = self._graph.placeholder(f"accumulated_grad_{row.node.name}", first)
        total, new = self._graph.call(
            lambda old, gradient, last: [old + gradient.to(wide), torch.where(
                last, torch.zeros((), dtype=wide), old + gradient.to(wide))],
            [old, row.gradient, self._last], self._path(row), key)
        self._sums.append((row, old, new, first))
        return total

    def _end_scaling(self, trained: Sequence[Trained], gradients: Sequence[Node]) -> None:
        """Whether all gradients are finite, and the next scale: torch.amp.GradScaler's rules."""
        scaling = self._options.loss_scale
        if scaling is None:
            return
        counts = []
        for row, gradient in zip(trained, gradients):
            value = gradient.meta["val"]
            counts.append(self._call(
                lambda gradient: torch.where(gradient.abs() < torch.inf, 0.0, 1.0).sum(), gradient,
                path=self._path(row), key=("count", tuple(value.shape), value.dtype)))
        is_finite = self._call(lambda *counts: sum(counts[1:], counts[0]) == 0, *counts)
        last = self._last
        self._applies = is_finite if last is None else self._call(torch.logical_and, is_finite, last)
        if self._scale is None:
            return
        settings, first = scaling, torch.tensor(scaling.tracker, dtype=torch.int32)
        tracker = self._scalar("opt_growth_tracker", "growth_tracker", first)

        def update(scale: torch.Tensor, tracker: torch.Tensor,
                   is_finite: torch.Tensor) -> list[torch.Tensor]:
            grows = tracker + 1 == settings.growth_interval
            grown = scale * settings.growth_factor
            grown = torch.where(grows & (grown < torch.inf), grown, scale)
            return [torch.where(is_finite, grown, scale * settings.backoff_factor),
                    torch.where(is_finite & ~grows, tracker + 1, torch.zeros_like(tracker))]
        new = self._graph.call(update, [self._scale, tracker, is_finite], PATH)
        for name, old, new_value, value in (
                ("loss_scale", self._scale, new[0], torch.tensor(settings.scale)),
                ("growth_tracker", tracker, new[1], first)):
            self._becomes(f"opt_{name}", name, old, self._where(last, new_value, old), value)

    def _unscaled(self, trained: Sequence[Trained], gradients: Sequence[Node]) -> list[Node]:
        scaling = self._options.loss_scale
        if scaling is None:
            return list(gradients)
        if self._scale is not None:
            factor = self._call(lambda scale: 1.0 / scale.to(torch.float64), self._scale)
        return [self._scaled(row, gradient, factor if self._scale is not None
                             else 1.0 / scaling.scale) for row, gradient in zip(trained, gradients)]

    def _scaled(self, row: Trained, gradient: Node, factor: Node | float) -> Node:
        """The gradient times a number, rounded once."""
        value = gradient.meta["val"]
        wide = _wide(value.dtype)
        key = (tuple(value.shape), value.dtype)
        if isinstance(factor, float):
            return self._call(lambda gradient: (gradient.to(wide) * factor).to(value.dtype),
                              gradient, path=self._path(row), key=("by", factor, *key))
        return self._call(
            lambda gradient, factor: (gradient.to(wide) * factor.to(wide)).to(value.dtype),
            gradient, factor, path=self._path(row), key=("by", factor.meta["val"].dtype, *key))

    def _clipped(self, trained: Sequence[Trained], gradients: Sequence[Node]) -> list[Node]:
        """As torch.nn.utils.clip_grad_norm_, whose result is a result of the step."""
        most = self._options.max_norm
        if most is None:
            return list(gradients)
        squares = []
        for row, gradient in zip(trained, gradients):
            value = gradient.meta["val"]
            wide = _wide(value.dtype)
            squares.append(self._call(
                lambda gradient, wide=wide: (gradient.to(wide) * gradient.to(wide)).sum(), gradient,
                path=self._path(row), key=("squares", tuple(value.shape), value.dtype)))
        norm = self._call(lambda *squares: torch.sqrt(sum(squares[1:], squares[0])), *squares)
        self._graph.add_result(self._graph.port(norm, "grad_norm", "grad_norm"), norm)
        factor = self._call(lambda norm: torch.clamp(most / (norm + 1e-6), max=1.0), norm)
        return [self._scaled(row, gradient, factor) for row, gradient in zip(trained, gradients)]

    def _has_master(self, row: Trained) -> bool:
        return self._options.master_weights and row.parameter.dtype in (torch.float16,
                                                                        torch.bfloat16)

    def _update(self, row: Trained,
                gradient: Node) -> tuple[Node, dict[str, tuple[Node, Node, torch.Tensor]]]:
        """The parameter's next value, and of each state the old and the next value's nodes and the
        first value."""
        rule = self._rules[id(row.parameter)]
        values: dict[str, torch.Tensor] = {}
        target, like = row.value, row.parameter.detach()
        if self._has_master(row):
            if row.value is not row.node:
                raise ExportError(f"parameter '{row.name}': the forward pass changes it in place, "
                                  "which its f32 master does not follow: export without "
                                  "master_weights")
            like = like.float()
            values["master"] = like
        given = self._optimizer.state.get(row.parameter, {})
        for state in rule.states:
            first = given.get("max_exp_avg_sqs" if state == "max_exp_avg_sq" else state)
            values[state] = (_zeros(like.shape, like.dtype) if first is None
                             else first.detach().to(like.dtype))
        old = {state: self._graph.placeholder(f"{state}_{row.node.name}", value)
               for state, value in values.items()}
        if "master" in old:
            target = old["master"]
        own = [old[state] for state in rule.states]
        more = ([self._step] if rule.counts and self._step is not None else [])
        rates = [] if self._rate is None else [self._rate]
        applies = [] if self._applies is None else [self._applies]

        def update(*tensors: torch.Tensor) -> list[torch.Tensor]:
            parameter, gradient, *rest = tensors
            states = dict(zip(rule.states, rest))
            rest = rest[len(rule.states):]
            used = rule
            if rates:
                rate = rest[-1 - len(applies)][rule.group]
                used = replace(rule, settings={**rule.settings, "lr": rate})
            new, found = used.update(parameter, gradient, states, rest[0] if more else None)
            after = [new, *(found[state] for state in rule.states)]
            if applies:
                after = [torch.where(rest[-1], value, before)
                         for value, before in zip(after, [parameter, *states.values()])]
            return [after[0].to(row.parameter.dtype), *after]
        key = (id(rule), tuple(row.parameter.shape), row.parameter.dtype)
        new, *states_after = self._graph.call(
            update, [target, gradient, *own, *more, *rates, *applies], self._path(row), key)
        if "master" not in old:
            states_after = states_after[1:]
        return new, {state: (old[state], after, values[state])
                     for state, after in zip(values, states_after)}

    @staticmethod
    def _path(row: Trained) -> str:
        return f"{PATH}.{row.name}"


def _zeros(shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor:
    """Zeros in the memory of one: the first states of a model take none of the process."""
    return torch.zeros((), dtype=dtype).expand(tuple(shape))


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32
