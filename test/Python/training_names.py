"""What the expressions of training-errors.cases may use."""
from __future__ import annotations

from functools import partial
from typing import Any

import torch
import transformers
from torch import nn

import tp
from tp.generation import decode_step


class Rated(nn.Module):
    """A module with an input of the name of the rate."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, input: torch.Tensor, lr: torch.Tensor) -> torch.Tensor:
        """The product of both."""
        return self.linear(input) * lr


class Data(nn.Module):
    """A module that takes the data of what it computes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The product of both."""
        return self.linear(x) * self.linear(x).data


def names() -> dict[str, Any]:
    """The names."""
    linear = nn.Linear(8, 8)
    mamba = transformers.MambaForCausalLM(transformers.MambaConfig(
        vocab_size=8, hidden_size=8, state_size=2, num_hidden_layers=1))
    return {"Data": Data, "Rated": Rated, "rates": torch.optim.lr_scheduler,
            "sgd": torch.optim.SGD(linear.parameters()), "decode_step": decode_step,
            "linear": linear, "loss": nn.functional.mse_loss, "mamba": mamba, "nn": nn,
            "partial": partial, "torch": torch, "tp": tp, "x": torch.ones(4, 8)}
