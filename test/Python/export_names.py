"""Modules that cannot be exported: what the expressions of export-errors.cases may use."""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import tp
from export_cases import Of


class Inner(nn.Module):
    """Takes as many rows as the data say."""

    def forward(self, x: Tensor) -> Tensor:
        return x[:int(x.abs().max().item())]


class Loose(nn.Module):
    """Changes a tensor that is no buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.held = [torch.zeros(4, 8)]

    def forward(self, x: Tensor) -> Tensor:
        return x + self.held[0].add_(x)


def names() -> dict[str, Any]:
    """The names."""
    x = torch.ones(4, 8)
    return {"Inner": Inner, "Loose": Loose, "Of": Of, "linear": nn.Linear(8, 8), "nn": nn,
            "torch": torch, "tp": tp, "x": x,
            "export": lambda function, *args: tp.export(Of(function), args)}
