"""Reciprocals of zeros are infinite, and fail no step."""
from __future__ import annotations

import torch
from torch import nn

import tp


class Reciprocals(nn.Module):
    def forward(self, x: torch.Tensor, counts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.reciprocal(), counts.reciprocal()


inputs = (torch.tensor([0.0, -0.0, 2.0, torch.inf, torch.nan, -3.0]), torch.tensor([0, 4, -5, 1]))
expected = Reciprocals()(*inputs)
for ranks in (1, 2):
    plan = {"plan": {"argument x": tp.Shard(0)}, "mesh": ranks} if ranks > 1 else {}
    with tp.compile(tp.export(Reciprocals(), inputs), **plan) as program:
        for mine, its in zip(program(*inputs), expected):
            torch.testing.assert_close(mine, its, rtol=0, atol=0, equal_nan=True)
    print(f"{ranks} ranks: equal to PyTorch's")
