"""From a PyTorch module to a model that tp compiles.

    model = tp.export(module, (tokens,))
    model.save("llama/")

docs/model-file.md describes what is written. torch and torch-mlir are imported on the first call.
"""
from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ExportError
from ..from_jax.functions import refuse_jax
from ..model import Model

if TYPE_CHECKING:
    import torch

__all__ = ["export", "export_entries", "export_training", "join_entries"]


def export(module: torch.nn.Module, args: Sequence[Any] = (),
           kwargs: Mapping[str, Any] | None = None, *,
           lengths: Sequence[int] | None = None) -> Model:
    """The program that `module(*args, **kwargs)` runs, with its weights.

    Arguments of the program are the module's parameters and buffers, by their names in the module,
    and the tensors in `args` and `kwargs`, by the names of the parameters of `forward` (a tensor
    inside of a list or dict: `states.0`, `batch.mask`). Shapes are fixed to those given. Numbers,
    booleans, strings and None are fixed to their values. Results are the tensors that the module
    returns, then the new values of buffers and inputs that it changes in place.

    Args:
        module: any module on the CPU, transformers models included. It is not changed; its
            training mode counts. The model's weights are its tensors, not copies; only the
            buffers that the module changes are copied.
        args, kwargs: what the module is called with.
        lengths: not supported: `export_entries` exports one program for each length.

    Raises:
        ExportError: the module cannot be exported. The message names the module and the op, and
            what to write instead.
    """
    if lengths is not None:
        raise ExportError("lengths: expected None: tp.export_entries exports a program for each "
                          "length, over the same weights")
    refuse_jax(module, args)
    require("torch", "torch_mlir")
    from .module import export_module
    return export_module(module, args, dict(kwargs or {}))


def export_entries(module: torch.nn.Module,
                   entries: Mapping[str, tuple[Sequence[Any], Mapping[str, Any]]], *,
                   calls: Mapping[str, int] | None = None) -> Model:
    """Several calls of one module as one model, whose entries share weights and state.

    The parameters and buffers of the module are one tensor each over all entries: what one entry
    changes, the others read. The compiled program has the entries in `program.entries`.

    Args:
        module: as tp.export takes it.
        entries: for the name of each entry what the module is called with, `(args, kwargs)`. The
            first entry is the one that `program(...)` runs.
        calls: how often an entry runs, relative to the others, from 1 to 1000; 1 where it is not
            given. Layouts are chosen for it.

    Raises:
        ExportError: as tp.export, with the entry's name.
    """
    refuse_jax(module, entries,
               "tp.join_entries({'NAME': tp.export_jax(function, args), ...})")
    require("torch", "torch_mlir")
    from .entries import export_calls
    return export_calls(module, entries, calls or {})


def join_entries(models: Mapping[str, Model], *,
                 calls: Mapping[str, int] | None = None) -> Model:
    """Models that are exported as the entries of one model, which share weights and state.

    Arguments of one name are one tensor over all entries, if they are weights or if a result of
    some entry updates them: what one entry changes, the others read. A call of an entry gives all
    its other arguments. The compiled program has the entries in `program.entries`.

    Args:
        models: for the name of each entry its model, of tp.export_jax, tp.export or
            tp.Model.load. The first entry is the one that `program(...)` runs.
        calls: as tp.export_entries takes it.

    Raises:
        ExportError: what entries share has not one shape, type, kind and value in all of them; or
            neither torch-mlir nor jaxlib is there, one of which reads and writes programs.
    """
    from .entries import check_names, join
    for name, model in check_names(models, calls or {}).items():
        if not isinstance(model, Model):
            raise ExportError(f"entry '{name}': expected a tp.Model, got "
                              f"{type(model).__name__}{_model_of(model)}")
    return join(models, calls or {})


def _model_of(value: object) -> str:
    """How to make a model of what is given for one."""
    if isinstance(value, (str, os.PathLike)):
        return ": write tp.Model.load(folder)"
    if callable(value):
        return ": write tp.export_jax(function, args), or tp.export(module, args)"
    return ""


def export_training(module: torch.nn.Module, loss: Callable[..., Any], optimizer: Any,
                    batch: tuple[Any, Any], *, accumulate: int = 1,
                    clip_grad_norm: float | None = None, loss_scale: Any = None,
                    master_weights: bool = False, lr: str | None = None, lr_scheduler: Any = None,
                    steps: int | None = None) -> Model:
    """One training step, forward, loss, backward and optimizer, as a program.

    Arguments of the program are parameters, the optimizer's states, buffers and the tensors of the
    batch. Results are the loss and the next values of parameters, states and changed buffers, which
    stay on the ranks: each call of the compiled program trains on one batch and returns the loss.

    Args:
        module: any module that tp.export takes. It is not changed. Its training mode counts:
            dropout draws other numbers in every step (docs/random-numbers.md).
        loss: a function of the module's output and the target that returns a tensor of one
            element, made of torch's ops.
        optimizer: SGD, Adam or AdamW of torch.optim: the class, a factory such as
            `functools.partial(torch.optim.SGD, lr=0.1, momentum=0.9)`, or an optimizer of the
            module's parameters, whose states are the first ones. Groups may differ in settings.
        batch: `(inputs, target)`; inputs are a tensor, a tuple or a dict of the module's arguments.
            The target's name is `target`.
        accumulate: how many calls, each with a micro-batch of the size of `batch`, make one step of
            the optimizer, which takes the mean of their gradients.
        clip_grad_norm: gradients are clipped to this global norm, as by
            torch.nn.utils.clip_grad_norm_. A call returns the norm before that behind the loss.
        loss_scale: a number, or a torch.amp.GradScaler. Gradients are those of the scaled loss; the
            optimizer takes no step where one is not finite.
        master_weights: the optimizer works on f32 masters of parameters of bf16 and f16.
        lr: `"input"`: each call gives the learning rate, by the name `lr`; of several groups, a
            rate for each.
        lr_scheduler: a scheduler of torch.optim.lr_scheduler with its settings,
            `functools.partial(StepLR, step_size=30)`. The program holds the rates of `steps` steps.

    Raises:
        ExportError: the step cannot be exported. The message names the module and the op, or the
            optimizer's setting, and what to write instead.
    """
    refuse_jax(module, batch)
    require("torch", "torch_mlir")
    from .training import export_step
    return export_step(module, loss, optimizer, batch, {
        "accumulate": accumulate, "clip_grad_norm": clip_grad_norm, "loss_scale": loss_scale,
        "master_weights": master_weights, "lr": lr, "lr_scheduler": lr_scheduler, "steps": steps})


def require(*packages: str) -> None:
    """Raises ExportError where one of the packages cannot be imported."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            if error.name == package:
                extra = "jax" if package == "jax" else "torch"
                raise ExportError(f"the package '{package.replace('_', '-')}' is not installed: "
                                  f"install tp's wheel with the extra '{extra}', pip install "
                                  f"'tp-....whl[{extra}]'") from None
            raise ExportError(f"the package '{package.replace('_', '-')}' cannot be imported: "
                              f"{error}") from error
