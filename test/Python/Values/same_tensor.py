"""Exports calls that give one tensor twice; the programs take two."""
from __future__ import annotations

import torch
from torch import nn

import tp


class Difference(nn.Module):
    """Of two inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """The linear layer of x, less y."""
        return self.linear(x) - y


torch.manual_seed(0)
module = Difference()
example, first, second = torch.zeros(3, 4), torch.randn(3, 4), torch.randn(3, 4)
with tp.compile(tp.export(module, (example, example))) as program:
    torch.testing.assert_close(program(first, second), module(first, second).detach())
with tp.compile(tp.export(module, (example,), {"y": example})) as program:
    torch.testing.assert_close(program(first, y=second), module(first, second).detach())
loss = nn.functional.mse_loss
with tp.compile(tp.export_training(module.linear, loss, torch.optim.SGD,
                                   (example, example))) as step:
    torch.testing.assert_close(step(first, second), loss(module.linear(first), second).detach())
print("3 calls")
