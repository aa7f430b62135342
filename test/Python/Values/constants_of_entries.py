"""Entries whose code has other constants, which torch gives equal names, and of equal ones one: of a
module, and of its saved models.
"""
from __future__ import annotations

import tempfile

import torch
from torch import nn

import tp


class Scaled(nn.Module):
    """Scales one row otherwise than several."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if len(x) == 1:
            return self.up(x) * torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
        scale = torch.tensor([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
        return self.up(x) * scale + torch.tensor([0.5, 0.25, 0.5, 0.25, 0.5, 0.25])


torch.manual_seed(0)
module = Scaled()
inputs = {"one": torch.randn(1, 4), "two": torch.randn(2, 4), "three": torch.randn(3, 4)}
model = tp.export_entries(module, {name: ((x,), {}) for name, x in inputs.items()})
print(*(port for port in model.arguments if port.kind == "constant_tensor"), sep=", ")
with tempfile.TemporaryDirectory() as folder:
    for name, x in inputs.items():
        tp.export(module, (x,)).save(f"{folder}/{name}")
    saved = tp.join_entries({name: tp.Model.load(f"{folder}/{name}") for name in inputs})
    assert saved.mlir == model.mlir
    for ranks in (1, 2, 3):
        for each in (model, saved):
            with tp.compile(each, plan="auto", mesh=ranks) as program:
                for name, x in inputs.items():
                    torch.testing.assert_close(program.entries[name](x), module(x).detach())
print("1, 2, 3 ranks: equal")
