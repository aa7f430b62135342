"""What an optimizer of torch does in one step, as functions of tensors.

    rule = rule_of(torch.optim.AdamW, module)
    new, states = rule.update(name, parameter, gradient, states, step)
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import ExportError, described, source_line

States = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Rule:
    """How one parameter is updated.

    Attributes:
        settings: of its group, as torch names them. The rate may be a tensor, f64[].
        group: the number of its group.
        states: names of its states of the parameter's shape.
        counts: whether the update depends on the number of steps before.
        function: from the settings, parameter, gradient, states and the number of steps before
            (f32[]) to the next value and the next states.
    """
    settings: Mapping[str, Any]
    group: int
    states: tuple[str, ...]
    counts: bool
    function: Callable[..., tuple[torch.Tensor, States]]

    def update(self, parameter: torch.Tensor, gradient: torch.Tensor, states: States,
               step: torch.Tensor | None) -> tuple[torch.Tensor, States]:
        """The parameter's and the states' next values."""
        return self.function(self.settings, parameter, gradient, states, step)


def make_optimizer(optimizer: Any, module: torch.nn.Module) -> torch.optim.Optimizer:
    """The optimizer itself, or what the class or factory makes of the module's parameters. Raises
    ExportError where it is none of these."""
    if isinstance(optimizer, torch.optim.Optimizer):
        own = {id(parameter) for parameter in module.parameters()}
        for group in optimizer.param_groups:
            if any(id(parameter) not in own for parameter in group["params"]):
                raise ExportError("optimizer: it has parameters that the module has not: make it "
                                  "from module.parameters(), or give its class")
        return optimizer
    if not callable(optimizer):
        raise ExportError("optimizer: expected a class of torch.optim, a factory such as "
                          "functools.partial(torch.optim.AdamW, lr=1e-3), or an optimizer, got "
                          f"{type(optimizer).__name__}")
    try:
        made = optimizer([parameter for parameter in module.parameters()
                          if parameter.requires_grad])
    except Exception as error:
        raise ExportError(
            f"{source_line(error.__traceback__, torch)}optimizer: called with a list of the module's "
            f"parameters, it raises {described(error)}") from error
    if not isinstance(made, torch.optim.Optimizer):
        raise ExportError("optimizer: expected one of torch.optim, the factory returns "
                          f"{type(made).__name__}")
    return made


def rules_of(optimizer: torch.optim.Optimizer) -> dict[int, Rule]:
    """The rule of every parameter, by the parameter's id. Raises ExportError for optimizers and
    settings that are not supported."""
    kind = type(optimizer)
    if kind not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        reason = ", which calls the model several times in a step," * (kind is torch.optim.LBFGS)
        raise ExportError(f"optimizer: {kind.__name__}{reason} is not supported: use SGD, Adam or "
                          "AdamW of torch.optim")
    rules = {}
    for number, group in enumerate(optimizer.param_groups):
        settings = {key: value for key, value in group.items() if key != "params"}
        for key, value in settings.items():
            if isinstance(value, torch.Tensor):
                hint = ", or export with lr='input'" if key == "lr" else ""
                raise ExportError(f"optimizer: {key} is a tensor: write a number, which the "
                                  f"program holds{hint}")
        if settings.get("differentiable"):
            raise ExportError("optimizer: differentiable=True is not supported: leave it out")
        make_rule = _sgd_rule if kind is torch.optim.SGD else _adam_rule
        rule = make_rule(settings, number)
        rules.update({id(parameter): rule for parameter in group["params"]})
    return rules


def steps_before(optimizer: torch.optim.Optimizer) -> float:
    """How many steps the optimizer has done. Raises ExportError where its parameters differ."""
    counts = {float(state.get("step", 1.0)) for state in optimizer.state.values()}
    if len(counts) > 1:
        raise ExportError("optimizer: its parameters have had different numbers of steps, "
                          f"{sorted(counts)}: expected one number")
    return counts.pop() if counts else 0.0


def _sgd_rule(settings: Mapping[str, Any], group: int) -> Rule:
    if not settings["momentum"]:
        return Rule(settings, group, (), False, _sgd)
    return Rule(settings, group, ("momentum_buffer",), settings["dampening"] != 0, _sgd)


def _rounded(number: Any, like: torch.Tensor) -> Any:
    """A number that a tensor is multiplied by, rounded once, as torch rounds numbers."""
    if not isinstance(number, torch.Tensor):
        return number
    wide = torch.float64 if like.dtype == torch.float64 else torch.float32
    return number.to(wide).to(like.dtype)


def _sgd(settings: Mapping[str, Any], parameter: torch.Tensor, gradient: torch.Tensor,
         states: States, step: torch.Tensor | None) -> tuple[torch.Tensor, States]:
    gradient = _directed(settings, parameter, gradient)
    rate = _rounded(settings["lr"], parameter)
    if not states:
        return parameter - gradient * rate, {}
    momentum, dampening = settings["momentum"], settings["dampening"]
    added = gradient
    if step is not None:
        # The first step takes the whole gradient.
        added = gradient * torch.where(step == 0, 1.0, 1.0 - dampening).to(gradient.dtype)
    buffer = states["momentum_buffer"] * momentum + added
    moved = gradient + buffer * momentum if settings["nesterov"] else buffer
    return parameter - moved * rate, {"momentum_buffer": buffer}


def _directed(settings: Mapping[str, Any], parameter: torch.Tensor,
              gradient: torch.Tensor) -> torch.Tensor:
    if settings["maximize"]:
        gradient = -gradient
    if settings["weight_decay"] and not settings.get("decoupled_weight_decay"):
        gradient = gradient + parameter * settings["weight_decay"]
    return gradient


def _adam_rule(settings: Mapping[str, Any], group: int) -> Rule:
    states = ("exp_avg", "exp_avg_sq") + (("max_exp_avg_sq",) if settings["amsgrad"] else ())
    return Rule(settings, group, states, True, _adam)


def _adam(settings: Mapping[str, Any], parameter: torch.Tensor, gradient: torch.Tensor,
          states: States, step: torch.Tensor) -> tuple[torch.Tensor, States]:
    rate, (beta1, beta2) = settings["lr"], settings["betas"]
    gradient = _directed(settings, parameter, gradient)
    if settings["weight_decay"] and settings.get("decoupled_weight_decay"):
        parameter = parameter * _rounded(1 - rate * settings["weight_decay"], parameter)
    mean = states["exp_avg"] + (gradient - states["exp_avg"]) * (1 - beta1)
    square = states["exp_avg_sq"] * beta2 + gradient * gradient * (1 - beta2)
    found = {"exp_avg": mean, "exp_avg_sq": square}
    if settings["amsgrad"]:
        square = torch.maximum(states["max_exp_avg_sq"], square)
        found["max_exp_avg_sq"] = square
    # As torch: corrections of the bias in f64, from the number of this step.
    count = (step + 1).to(torch.float64)
    size = rate / (1 - torch.pow(beta1, count))
    root = torch.sqrt(1 - torch.pow(beta2, count))
    divisor = square.sqrt() / _rounded(root, parameter) + settings["eps"]
    moved = mean / divisor * _rounded(size, parameter)
    return parameter - moved, found
