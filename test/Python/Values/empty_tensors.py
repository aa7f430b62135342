"""Tensors without elements: inputs, and what a module computes between others."""
from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import nn

import tp

torch.manual_seed(0)
warnings.simplefilter("ignore")  # of plans for modules that compute nothing


class Of(nn.Module):
    """A function of two linear layers and the input."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.up, self.down, self.function = nn.Linear(8, 16), nn.Linear(16, 8), function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(self, x)


def mlp(m: Of, x: torch.Tensor) -> torch.Tensor:
    y: torch.Tensor = m.down(torch.relu(m.up(x)))
    return y


CASES: dict[str, tuple[Callable[..., torch.Tensor], tuple[int, ...]]] = {
    "batch": (mlp, (0, 4, 8)),
    "sequence": (mlp, (3, 0, 8)),
    "mask": (lambda m, x: (mlp(m, x) > 0), (0, 8)),
    "sum": (lambda m, x: mlp(m, x).sum(0), (0, 8)),
    "cache": (lambda m, x: torch.cat([mlp(m, x[:, :0]), mlp(m, x)], 1), (2, 3, 8)),
    "halves": (lambda m, x: mlp(m, torch.cat(x.tensor_split([0, 2], 1), 1)), (2, 3, 8)),
    "softmax": (lambda m, x: torch.softmax(mlp(m, x) @ m.up(x).mT[..., :8, :], -1).mean(0),
                (0, 8, 8)),
    "complex": (lambda m, x: torch.view_as_real(torch.view_as_complex(
        mlp(m, x).unflatten(-1, (4, 2)))), (0, 8)),
}

for name, (function, shape) in CASES.items():
    module, x = Of(function).eval(), torch.randn(shape)
    want = module(x).detach()
    try:
        with tp.compile(tp.export(module, (x,)), plan={"up": "colwise", "down": "rowwise"},
                        mesh={"tp": 2}) as program:
            got = program(x)
            same = got.shape == want.shape and torch.allclose(
                got.float(), want.float(), atol=1e-5, equal_nan=True)
            print(f"{name}: {'equal' if same else 'WRONG'}", flush=True)
    except tp.Error as error:
        print(f"{name}: {error}", flush=True)
