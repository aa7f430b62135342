"""Trains a module that has an input called `target` for two steps, beside PyTorch."""
from __future__ import annotations

import copy

import torch
from torch import nn
from torch.nn.functional import mse_loss

import tp


class Translation(nn.Module):
    """Two inputs of [4, 8], and a result of this shape."""

    def __init__(self) -> None:
        super().__init__()
        self.read, self.write = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """What is read, added to what is written."""
        out: torch.Tensor = self.read(source).relu() + self.write(target)
        return out


torch.manual_seed(0)
module = Translation()
reference = copy.deepcopy(module)
optimizer = torch.optim.SGD(reference.parameters(), lr=0.1)
batch = (torch.randn(4, 8), torch.randn(4, 8)), torch.randn(4, 8)
model = tp.export_training(module, mse_loss, lambda given: torch.optim.SGD(given, lr=0.1), batch)
rows = {f"argument {name}": tp.Shard(0) for name in ("source", "target", "loss_target")}
with tp.compile(model, plan=rows, mesh={"dp": 2}) as step:
    print(step.input_names)
    for _ in range(2):
        loss = mse_loss(reference(*batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.testing.assert_close(torch.as_tensor(step(*batch[0], batch[1])), loss.detach())
print("equal")
