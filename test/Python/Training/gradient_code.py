"""Code that says how gradients flow: a step computes what PyTorch computes, or is refused by name.

Regions under autocast, with and without gradients, are trained for three steps of SGD and compared
with PyTorch. Hooks, backward functions and other code that a traced step would drop print the
error. Each refused module is exported without gradients too, which it may be.
"""
from __future__ import annotations

import copy
import sys
import warnings
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

import tp

SGD = partial(torch.optim.SGD, lr=0.1)


class Reversed(torch.autograd.Function):
    """Hands on what it gets, and the gradient times -3."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return -3 * gradient


class Doubled(torch.autograd.Function):
    """Twice the square, with a backward that says so."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:  # type: ignore[override]
        ctx.save_for_backward(x)
        ctx.factor = factor
        return factor * x * x

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:  # type: ignore[override]
        return 2 * ctx.factor * ctx.saved_tensors[0] * gradient, None


class Cut(torch.autograd.Function):
    """Hands on what it gets; of the gradient what is not large."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        return gradient.clamp(-1000, 1000)


class Pair(nn.Module):
    """Two layers, and what `kind` says between them."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind, self.first, self.second = kind, nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = partial(torch.autocast, "cpu", dtype=torch.bfloat16)
        if self.kind == "autocast":
            with low():
                x = self.first(x)
            x = x.float()
        elif self.kind == "all in autocast":
            with low():
                x = F.gelu(self.first(x))
                with torch.autocast("cpu", enabled=False):
                    x = self.second(x.float())
                return torch.softmax(self.second(x), -1).float() + torch.arange(8)
        elif self.kind == "autocast in no_grad":
            with torch.no_grad(), low():
                x = self.first(x)
            x = x.float()
        elif self.kind == "no_grad in autocast":
            with low(), torch.no_grad():
                x = self.first(x)
            x = x.float()
        elif self.kind == "inference_mode":
            with torch.inference_mode():
                x = self.first(x)
            x = x.clone()
        elif self.kind == "a Function":
            x = Reversed.apply(self.first(x))  # type: ignore[no-untyped-call]
        elif self.kind == "a Function that cuts":
            x = Cut.apply(self.first(x))  # type: ignore[no-untyped-call]
        elif self.kind == "a Function's derivative":
            x = Doubled.apply(self.first(x), 2.0)  # type: ignore[no-untyped-call]
        elif self.kind == "a hook in forward":
            x = self.first(x)
            if x.requires_grad:
                x.register_hook(lambda gradient: 2 * gradient)  # type: ignore[no-untyped-call]
        else:
            x = self.first(x)
        y: torch.Tensor = self.second(x)
        return y


def hooked(kind: str, module: Pair) -> Any:
    """An optimizer for the module, after the hook that `kind` says was put."""
    weight = module.first.weight
    if kind == "a hook on a parameter":
        weight.register_hook(lambda gradient: 2 * gradient)  # type: ignore[no-untyped-call]
    elif kind == "a hook behind a gradient":
        weight.register_post_accumulate_grad_hook(lambda _: None)
    elif kind == "a backward hook":
        module.first.register_full_backward_hook(lambda *_: None)
    elif kind == "a backward hook before":
        module.second.register_full_backward_pre_hook(lambda *_: None)
    elif kind == "a hook of the optimizer":
        optimizer = SGD(module.parameters())
        optimizer.register_step_post_hook(lambda *_: None)
        return optimizer
    return SGD


def is_equal(kind: str, x: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether three steps change the parameters as PyTorch does."""
    module = Pair(kind)
    right = copy.deepcopy(module)
    optimizer = SGD(right.parameters())
    with tp.compile(tp.export_training(module, F.mse_loss, SGD, (x, target)),
                    plan={"first": "colwise"}, mesh={"tp": 2}) as step:
        for _ in range(3):
            loss = F.mse_loss(right(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not torch.allclose(torch.as_tensor(step(x, target)), loss, rtol=2e-3):
                return False
        return all(torch.allclose(torch.as_tensor(step.state[name].copy()), value, atol=1e-3)
                   for name, value in right.named_parameters() if name in list(step.state))


def main() -> None:
    warnings.simplefilter("ignore", tp.PlanWarning)
    torch.manual_seed(0)
    x, target = torch.randn(4, 8), torch.randn(4, 8)
    equal = [(kind, is_equal(kind, x, target)) for kind in
             ("plain", "autocast", "all in autocast", "autocast in no_grad",
              "a Function's derivative")]
    for kind, found in equal:
        print(f"{kind}: {'equal' if found else 'DIFFERS'}")
    for kind in ("no_grad in autocast", "inference_mode", "a Function", "a Function that cuts",
                 "a hook in forward",
                 "a hook on a parameter", "a hook behind a gradient", "a backward hook",
                 "a backward hook before", "a hook of the optimizer"):
        module = Pair(kind)
        optimizer = hooked(kind, module)
        try:
            tp.export_training(module, F.mse_loss, optimizer, (x, target))
            print(f"{kind}: ACCEPTED")
        except tp.ExportError as error:
            print(f"{kind}: {error}")
        if "hook" not in kind:
            with torch.no_grad(), tp.compile(tp.export(Pair(kind).eval(), (x,))) as program:
                program(x)
    sys.exit(not all(found for _, found in equal))


if __name__ == "__main__":
    main()
