"""Quotients, remainders, shifts, products and powers of integers of all widths, signs of floats, and
numbers of f64 are PyTorch's.
"""
from __future__ import annotations

import torch
from torch import nn

import tp


class Integers(nn.Module):
    """Quotients, remainders, shifts, products and powers of tensors and numbers."""

    def forward(self, a: torch.Tensor, b: torch.Tensor,
                shift: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """All of them."""
        return (a // 3, a // b, b // a, 7 // a, a % 3, a % b, 7 % a, torch.fmod(a, 3),
                torch.fmod(a, b), torch.div(a, 3, rounding_mode="trunc"),
                torch.div(a, b, rounding_mode="trunc"), torch.div(a, b, rounding_mode="floor"),
                a << shift, a << 2, a >> shift, a >> 1, -a, (-a) % 7, a**1, a**2, b**5, a.square(),
                a * 2, a - 2, 3 - a, torch.maximum(a, a - 1),
                a * True, a * 300, torch.rsub(a, 3, alpha=2), a**0,
                torch.pow(a, shift), torch.pow(b, a), torch.pow(3, shift), torch.pow(-1, a),
                torch.pow(a, shift.to(torch.int16)), a ^ 3, a | 300, a & -2, 5 ^ a,
                a.max(), a.reshape(1, -1).min(), torch.tensor(2) * a,
                torch.maximum(a, torch.tensor(3)), torch.minimum(torch.tensor(3), a),
                a[:16].reshape(4, 4) @ b[:16].reshape(4, 4))


class Signs(nn.Module):
    """Signs of tensors and numbers."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """All of them."""
        return (torch.copysign(a, b), torch.copysign(b, a), torch.copysign(a, -0.0),
                torch.copysign(a, 2.0), torch.copysign(a.clamp(-5, 5).to(torch.int8), b))


class Doubles(nn.Module):
    """Numbers that f32 cannot hold."""

    def forward(self, a: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """All of them."""
        return (1 / 3 - a, torch.rsub(a, 0.1, alpha=3),
                torch.linspace(0.1, 1 / 3, 7, dtype=a.dtype) + a[:7],
                torch.linspace(0.1, 1, 1, dtype=a.dtype) * a,
                torch.logspace(0, 1, 2, dtype=a.dtype) + a[:2])


def check(name: str, module: nn.Module, *inputs: torch.Tensor) -> None:
    with tp.compile(tp.export(module, inputs)) as program:
        for i, (got, want) in enumerate(zip(program(*inputs), module(*inputs))):
            same = got.dtype == want.dtype and torch.equal(got, want) and (
                not got.is_floating_point() or torch.equal(torch.signbit(got), torch.signbit(want)))
            if not same:
                print(f"{name}, result {i}: {got}, expected {want}")
    print(f"{name}: compared")


def main() -> None:
    for kind in (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8):
        a = torch.cat([torch.arange(-9, 0), torch.arange(1, 11)]).to(kind)
        a[0] = max(torch.iinfo(kind).min, -2**50) or 255
        a[1] = min(torch.iinfo(kind).max, 2**40 + 3)
        b = torch.tensor([-3, 2, 3, -5, 7] * 4)[:19].to(kind)
        check(str(kind).removeprefix("torch."), Integers(), a, b,
              torch.tensor([0, 1, 2, 3] * 5)[:19].to(kind))
    check("doubles", Doubles(), torch.tensor([1.5, -2, 0, 7, 1e8, 3, -4], dtype=torch.float64))
    check("signs", Signs(), torch.tensor([1.5, -2, 0, -0.0, torch.inf, 3, -4, -torch.inf]),
          torch.tensor([-1.0, 1, -0.0, 0, -torch.inf, -0.0, 0, 2]))


main()
