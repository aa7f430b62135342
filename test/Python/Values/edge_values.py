"""Functions of NaN, infinities, zeros and numbers of far sizes, in one module: PyTorch's results,
bit for bit but for the signs of zeros and of NaN.
"""
from __future__ import annotations

import math
import operator
from collections.abc import Callable

import torch
import torch.nn.functional as F

import tp

EDGES = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 7.0, 3e38,
                      -3e38, 1e-20, 1e10, 0.1])
A, B = (x.reshape(-1).contiguous() for x in torch.meshgrid(EDGES, EDGES, indexing="ij"))



def dividend(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """`a`, but 1 where a quotient overflows: there PyTorch's remainders are NaN, tp's are exact."""
    return torch.where((a / b).isinf() & a.isfinite() & (b != 0), 1, a)


Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
FUNCTIONS: dict[str, Function] = {
    "maximum": torch.maximum, "minimum": torch.minimum, "fmax": torch.fmax, "fmin": torch.fmin,
    "clamp": lambda a, b: a.clamp(-1, 2), "clamp_min": lambda a, b: a.clamp(min=b),
    "clamp_max": lambda a, b: a.clamp_max(0.5), "hardtanh": lambda a, b: F.hardtanh(a),
    "relu6": lambda a, b: F.relu6(a), "hardsigmoid": lambda a, b: F.hardsigmoid(a),
    "reciprocal": lambda a, b: 1 / a, "of integers": lambda a, b: b.isnan().long().reciprocal(),
    "fmod": lambda a, b: torch.fmod(dividend(a, b), b),
    "fmod of a number": lambda a, b: dividend(a, 0.1 * torch.ones_like(a)).fmod(0.1),
    "remainder": lambda a, b: torch.remainder(dividend(a, b), b),
    "floor_divide": lambda a, b: torch.floor_divide(dividend(a, b), b),
    "floor_divide by a number": lambda a, b: dividend(a, 0.1 * torch.ones_like(a)) // 0.1,
    "div": lambda a, b: torch.div(dividend(a, b), b, rounding_mode="floor"),
    "integers": lambda a, b: torch.arange(a.numel()) // 7 + torch.arange(a.numel()).clamp(3, 90),
    "equal to itself": lambda a, b: a == a, "equal sums": lambda a, b: (a + b) == (a + b),
    "isclose": torch.isclose, "isclose with NaN": lambda a, b: torch.isclose(a, b, equal_nan=True),
    "signs of what is cut": lambda a, b: 1 / torch.trunc(a) + 1 / torch.trunc(a / 8),
    "isfinite": lambda a, b: torch.isfinite(a), "angle": lambda a, b: torch.angle(a),
    "largest of all": lambda a, b: torch.maximum(a, b).reshape(15, 15).amax(1),
    "addmv": lambda a, b: torch.addmv(b[75:80], a[75:100].reshape(5, 5), a[80:85], beta=0, alpha=2),
    "addmv of integers": lambda a, b: torch.addmv(*(torch.arange(n).reshape(s) for n, s in (
        (5, (5,)), (20, (5, 4)), (4, (4,)))), beta=1.7, alpha=2.4),
    "views of a scalar": lambda a, b: torch.as_strided(a[5], (3, 2), (0, 0)) + a[6].unfold(0, 1, 1),
    "times 0": lambda a, b: a * 0, "minus itself": lambda a, b: a - a,
    "by itself": lambda a, b: a / a,
}
# Computed with another rounding.
CLOSE: dict[str, Function] = {"hypot": torch.hypot, "logaddexp": torch.logaddexp,
                              "square root": lambda a, b: a**0.5}


class Module(torch.nn.Module):
    """All functions, and comparisons of numbers that the code has."""

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> list[torch.Tensor]:
        compared = [compare(torch.full((2,), value), other)
                    for value in (0.1, -0.1, 0.0, 2.5) for other in (0, 1, -0.1)
                    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq,
                                    operator.ne)]
        return [torch.stack(compared) & (a[:2] == b[:2]), *(function(a, b) for function in
                                                            (FUNCTIONS | CLOSE).values())]


module = Module()
expected = module(A, B)
names = ["comparisons", *FUNCTIONS, *CLOSE]
model = tp.export(module, (A, B))
for ranks in (1, 2):
    with tp.compile(model, plan={"argument a": tp.Replicate()}, mesh=ranks) as program:
        for name, one, other in zip(names, program(A, B), expected, strict=True):
            tolerance = 1e-6 if name in CLOSE else 0
            torch.testing.assert_close(one, other, equal_nan=True, rtol=tolerance, atol=0,
                                       msg=lambda text, name=name: f"{name}: {text}")
print(f"{len(names)} functions equal")
