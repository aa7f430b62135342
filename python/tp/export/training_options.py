"""The options of tp.export_training, checked: gradient accumulation, clipping, loss scaling, masters
and learning rates."""
from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ..errors import ExportError, described, plural, source_line


@dataclass(frozen=True)
class LossScale:
    """How the loss is scaled: torch.amp.GradScaler's settings. A fixed scale has factors of 1.

    Attributes:
        scale, tracker: the first values.
        is_fixed: whether no step changes the scale.
    """
    scale: float
    growth_factor: float = 1.0
    backoff_factor: float = 1.0
    growth_interval: int = 1
    tracker: int = 0
    is_fixed: bool = True


@dataclass(frozen=True)
class TrainingOptions:
    """What a step does with gradients between the backward pass and the optimizer.

    Attributes:
        accumulate: how many calls, each with a micro-batch, make one step of the optimizer.
        max_norm: the global norm that gradients are clipped to; None: they are not clipped.
        loss_scale: None where the loss is not scaled.
        master_weights: whether parameters of f16 and bf16 have f32 masters.
        lr_is_input: whether each call gives the learning rate.
        rates: for every step the rate of each group of the optimizer; None without a scheduler.
    """
    accumulate: int = 1
    max_norm: float | None = None
    loss_scale: LossScale | None = None
    master_weights: bool = False
    lr_is_input: bool = False
    rates: torch.Tensor | None = None


def check_options(optimizer: torch.optim.Optimizer, *, accumulate: Any, clip_grad_norm: Any,
                  loss_scale: Any, master_weights: Any, lr: Any, lr_scheduler: Any,
                  steps: Any) -> TrainingOptions:
    """The options of tp.export_training. Raises ExportError for those that mean nothing."""
    if not isinstance(accumulate, int) or isinstance(accumulate, bool) or accumulate < 1:
        raise ExportError("accumulate: expected how many micro-batches make a step of the "
                          f"optimizer, an integer of at least 1, got {accumulate!r}")
    if clip_grad_norm is not None and not _is_positive(clip_grad_norm):
        raise ExportError("clip_grad_norm: expected the largest norm, a number above 0, as "
                          f"clip_grad_norm_'s max_norm, got {clip_grad_norm!r}")
    if not isinstance(master_weights, bool):
        raise ExportError(f"master_weights: expected True or False, got {master_weights!r}")
    narrow = {torch.float16, torch.bfloat16}
    if master_weights and not any(parameter.dtype in narrow for group in optimizer.param_groups
                                  for parameter in group["params"]):
        raise ExportError("master_weights: no parameter that the optimizer trains is bf16 or f16, "
                          "so there is nothing to keep an f32 copy of: leave it out, or export "
                          "module.to(torch.bfloat16)")
    if lr is not None and lr != "input":
        raise ExportError("lr: expected 'input', so that each call gives the rate, got "
                          f"{lr!r}: a fixed rate is the optimizer's, partial(torch.optim.AdamW, "
                          "lr=1e-3)")
    if lr is not None and lr_scheduler is not None:
        raise ExportError("lr, lr_scheduler: expected one of them: with lr='input' each call gives "
                          "the rate, such as scheduler.get_last_lr()[0]")
    if lr_scheduler is None and steps is not None:
        raise ExportError("steps: it is how many rates of an lr_scheduler the program holds, and "
                          "there is no lr_scheduler: leave it out")
    return TrainingOptions(
        accumulate, None if clip_grad_norm is None else float(clip_grad_norm),
        None if loss_scale is None else _loss_scale(loss_scale), master_weights, lr == "input",
        None if lr_scheduler is None else _rates(optimizer, lr_scheduler, steps))


def _is_positive(value: Any) -> bool:
    return (isinstance(value, (int, float)) and not isinstance(value, bool)
            and math.isfinite(value) and value > 0)


def _loss_scale(given: Any) -> LossScale:
    if _is_positive(given):
        return LossScale(float(given))
    if not isinstance(given, torch.amp.GradScaler):
        raise ExportError("loss_scale: expected a number above 0, or a torch.amp.GradScaler, got "
                          f"{given!r}")
    if not given.is_enabled():
        raise ExportError("loss_scale: the GradScaler is not enabled, so it scales nothing: write "
                          "torch.amp.GradScaler('cpu'), which needs no device")
    return LossScale(given.get_scale(), given.get_growth_factor(), given.get_backoff_factor(),
                     given.get_growth_interval(), int(given.state_dict()["_growth_tracker"]),
                     is_fixed=False)


def _rates(optimizer: torch.optim.Optimizer, factory: Any, steps: Any) -> torch.Tensor:
    """What the scheduler makes of the groups' rates, step by step: f64[steps, groups]."""
    if isinstance(factory, (torch.optim.lr_scheduler.LRScheduler,
                            torch.optim.lr_scheduler.ReduceLROnPlateau)):
        raise ExportError(f"lr_scheduler: expected a function from an optimizer to a scheduler, "
                          f"got a {type(factory).__name__}: write partial(torch.optim.lr_scheduler."
                          f"{type(factory).__name__}, ...), or export with lr='input' and call "
                          "step(..., lr=scheduler.get_last_lr()[0])")
    if not callable(factory):
        raise ExportError("lr_scheduler: expected a class of torch.optim.lr_scheduler with its "
                          "settings, such as partial(torch.optim.lr_scheduler.StepLR, "
                          f"step_size=30), got {factory!r}")
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise ExportError("steps: expected how many steps the lr_scheduler is for, an integer of at "
                          f"least 1, got {steps!r}: later steps have the last rate")
    kind: Callable[..., torch.optim.Optimizer] = type(optimizer)
    settings = [{key: value for key, value in group.items() if key != "params"}
                for group in optimizer.param_groups]
    stand_in = kind([{**group, "params": [torch.zeros(1, requires_grad=True)]}
                     for group in settings])
    rates = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scheduler = factory(stand_in)
            if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                raise ExportError("lr_scheduler: ReduceLROnPlateau depends on what is measured: "
                                  "export with lr='input' and call step(..., "
                                  "lr=scheduler.get_last_lr()[0])")
            if not isinstance(scheduler, torch.optim.lr_scheduler.LRScheduler):
                raise ExportError("lr_scheduler: expected a scheduler of torch.optim.lr_scheduler, "
                                  f"the function returns {type(scheduler).__name__}")
            for _ in range(steps):
                rates.append([float(group["lr"]) for group in stand_in.param_groups])
                _refuse_other_changes(scheduler, settings, stand_in)
                stand_in.step()
                scheduler.step()
    except ExportError:
        raise
    except Exception as error:
        raise ExportError(
            f"{source_line(error.__traceback__, torch)}lr_scheduler: called with an optimizer, to "
            f"make {plural(steps, 'step')}, it raises {described(error)}") from error
    return torch.tensor(rates, dtype=torch.float64)


def _refuse_other_changes(scheduler: Any, settings: list[dict[str, Any]],
                          optimizer: torch.optim.Optimizer) -> None:
    for before, group in zip(settings, optimizer.param_groups):
        for key, value in before.items():
            if key not in ("lr", "initial_lr") and group[key] != value:
                raise ExportError(f"lr_scheduler: {type(scheduler).__name__} changes the setting "
                                  f"'{key}' too, which is a constant of the step: write "
                                  "cycle_momentum=False")
