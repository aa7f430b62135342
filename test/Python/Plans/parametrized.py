"""Linear layers whose weights torch.nn.utils computes of other parameters."""
from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.nn.utils import parametrizations

import tp

warnings.simplefilter("ignore")  # of torch: weight_norm of nn.utils is an old one


class Model(nn.Module):
    """Two linear layers, the first one as `kind` makes it."""

    def __init__(self, kind: Callable[[nn.Module], nn.Module], bias: bool) -> None:
        super().__init__()
        self.up, self.down = kind(nn.Linear(8, 16, bias=bias)), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.down(torch.relu(self.up(x)))
        return y


torch.manual_seed(0)
x = torch.randn(4, 8)
for kind in parametrizations.weight_norm, parametrizations.spectral_norm, nn.utils.weight_norm:
    for bias in True, False:
        module = Model(kind, bias).eval()
        with tp.compile(tp.export(module, (x,)), plan={"up": "colwise", "down": "rowwise"},
                        mesh={"tp": 2}) as program:
            right = torch.allclose(program(x), module(x).detach(), atol=1e-5)
            kinds = [row.kind for row in program.collectives]
            print(f"{kind.__name__}, {'a bias' if bias else 'no bias'}: "
                  f"{'equal' if right else 'WRONG'}, {kinds}", flush=True)
