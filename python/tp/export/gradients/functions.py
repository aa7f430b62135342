"""Whether the backward of a torch.autograd.Function is the derivative of its forward.

A traced step differentiates the operations of the forward pass. That is right for a Function that
only saves memory or time, such as BLOOM's GELU, and wrong for one that changes gradients.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree as pytree

# Random arguments of each size, and gradients as large, are tried: where a function cuts off, some
# of them are outside.
_SCALES = (1e-3, 0.1, 1.0, 10.0, 1e4)


@dataclass
class Call:
    """A call of a Function: its class, and its arguments, of which tensors are only described."""
    function: Any
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Described:
    """A tensor argument."""
    shape: tuple[int, ...]
    dtype: torch.dtype

    def sample(self, scale: float, generator: torch.Generator) -> torch.Tensor:
        """A random tensor in f64, or one of zeros for what is no floating-point number."""
        if not self.dtype.is_floating_point:
            return torch.zeros(self.shape, dtype=self.dtype)
        value = scale * torch.randn(self.shape, generator=generator, dtype=torch.float64)
        return value.requires_grad_()


def described(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments of a call, with descriptions in place of tensors."""
    return tuple(Described(tuple(map(int, value.shape)), value.dtype)
                 if isinstance(value, torch.Tensor) else value for value in arguments)


class _Context:
    """Stands in for the context of a forward pass, which keeps what it is told in attributes."""

    def __init__(self, count: int) -> None:
        self.needs_input_grad = (True,) * count

    def save_for_backward(self, *_: Any) -> None:
        """Nothing is kept."""

    save_for_forward = mark_dirty = mark_non_differentiable = save_for_backward
    set_materialize_grads = save_for_backward


def is_derivative(call: Call) -> bool:
    """Whether the call's backward gives, for random arguments, what its forward's operations do.
    False also where either cannot be run."""
    generator = torch.Generator().manual_seed(0)
    try:
        with torch.enable_grad():
            return all(_agrees(call, scale, generator) for scale in _SCALES)
    except Exception:  # whatever the user's code raises  # pylint: disable=broad-except
        return False


def _agrees(call: Call, scale: float, generator: torch.Generator) -> bool:
    arguments = [value.sample(scale, generator) if isinstance(value, Described) else value
                 for value in call.arguments]
    trained = [value for value in arguments
               if isinstance(value, torch.Tensor) and value.requires_grad]
    if torch.autograd.Function.setup_context is not call.function.setup_context:
        computed = call.function.forward(*arguments)
    else:
        computed = call.function.forward(_Context(len(arguments)), *arguments)
    found = []
    for output in (call.function.apply(*arguments), computed):
        outputs = [value for value in pytree.tree_leaves(output)
                   if isinstance(value, torch.Tensor) and value.requires_grad]
        seeds = [scale * (torch.ones_like(value).cumsum(-1) if value.dim() else
                          torch.ones_like(value)) for value in outputs]
        found.append(torch.autograd.grad(outputs, trained, seeds, allow_unused=True)
                     if outputs else [None] * len(trained))
    for own, derived in zip(*found):
        own = torch.zeros(()) if own is None else own
        derived = torch.zeros(()) if derived is None else derived
        if not torch.allclose(*torch.broadcast_tensors(own.double(), derived.double()), rtol=1e-5,
                              atol=1e-8 * scale):
            return False
    return True
