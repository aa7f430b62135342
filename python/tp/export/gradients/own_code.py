"""What a user's code does to gradients and a traced step would leave out, found before it does.

torch.export keeps the operations of the forward pass. The backward pass of a step is made of them,
so hooks and backward functions in Python would be dropped without a word.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from ...errors import ExportError
from .functions import Call, described, is_derivative

_HOOK = ("is called with a gradient, which a step computes without Python: remove it (what "
         "register_hook returned has remove()), or scale the loss or its gradient by tensor "
         "operations")
_INFERENCE = ("torch.inference_mode() inside of what is trained: write torch.no_grad(), which a step "
              "knows")


def check_hooks(module: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
    """Raises ExportError for hooks of parameters, modules and the optimizer that a step would not
    call. Hooks of the forward pass are traced."""
    for name, parameter in module.named_parameters():
        for kind in ("_backward_hooks", "_post_accumulate_grad_hooks"):
            if getattr(parameter, kind, None):
                raise ExportError(f"parameter '{name}': a hook on it {_HOOK}")
    for path, part in module.named_modules():
        for kind in ("_backward_hooks", "_backward_pre_hooks"):
            if getattr(part, kind, None):
                where = f"module '{path}'" if path else "the module itself"
                raise ExportError(f"{where}: a backward hook on it {_HOOK}", module=path)
    of_all = torch.nn.modules.module
    for kind in ("_global_backward_hooks", "_global_backward_pre_hooks"):
        if getattr(of_all, kind, None):
            raise ExportError(f"a backward hook of all modules {_HOOK}")
    for kind in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
        if getattr(optimizer, kind, None):
            raise ExportError(f"optimizer: a hook of {type(optimizer).__name__}.step is Python, "
                              "which a step does not call: remove it, and do between calls of the "
                              "program what it does")


class _Regions(TorchFunctionMode):
    """Raises ExportError where gradients are turned off inside of autocast, which torch.export
    forgets, for something that has one."""

    depth = 0
    is_off = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch._C._set_grad_enabled:
            self.is_off = self.depth > 0 and not args[0]
        elif self.is_off and getattr(func, "__name__", "") != "__get__" and any(
                isinstance(value, torch.Tensor) and value.requires_grad
                for value in pytree.tree_leaves((args, kwargs))):
            raise ExportError("torch.no_grad() inside of torch.autocast() is not supported: write "
                              ".detach() behind what it makes, or no_grad around autocast")
        return func(*args, **(kwargs or {}))


@contextmanager
def refused() -> Iterator[None]:
    """While the forward pass is traced, code that changes its gradients raises ExportError. So does
    the end, if a torch.autograd.Function was called whose backward is not its forward's
    derivative."""
    calls: list[Call] = []
    # A classmethod, which may be a base class's, and may be written in C.
    own: Any = next(vars(base)["apply"] for base in torch.autograd.Function.__mro__
                    if "apply" in vars(base))

    def apply(cls: type, *arguments: Any, **options: Any) -> Any:
        calls.append(Call(cls, described(arguments)))
        return own.__get__(None, cls)(*arguments, **options)

    def hook(*_: Any, **__: Any) -> Any:
        raise ExportError(f"a hook on a tensor {_HOOK}")

    def enter(mode: Any) -> Any:
        if mode.mode:
            raise ExportError(_INFERENCE)
        return entered(mode)
    entered = torch.inference_mode.__enter__
    regions, enter_cast, exit_cast = _Regions(), torch.autocast.__enter__, torch.autocast.__exit__

    def enter_autocast(cast: Any) -> Any:
        regions.depth += 1
        return enter_cast(cast)

    def exit_autocast(cast: Any, *why: Any) -> Any:
        regions.depth -= 1
        return exit_cast(cast, *why)
    with _patched(torch.autograd.Function, "apply", classmethod(apply)), \
            _patched(torch.Tensor, "register_hook", hook), \
            _patched(torch.Tensor, "register_post_accumulate_grad_hook", hook), \
            _patched(torch.inference_mode, "__enter__", enter), \
            _patched(torch.autocast, "__enter__", enter_autocast), \
            _patched(torch.autocast, "__exit__", exit_autocast), regions:
        yield
    for call in calls:
        if not is_derivative(call):
            raise ExportError(f"{call.function.__name__} is a torch.autograd.Function whose backward "
                              "is not the derivative of its forward, which a step takes: write it "
                              "as tensor operations: where forward is f and backward that of g, "
                              "`g(x) + (f(x) - g(x)).detach()`")


@contextmanager
def _patched(owner: Any, name: str, value: Callable[..., Any] | classmethod[Any, Any, Any]
             ) -> Iterator[None]:
    own = vars(owner).get(name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
