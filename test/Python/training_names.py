"""What the expressions of training-errors.cases may use."""
from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn

import tp
from tp.generation import decode_step


def names() -> dict[str, Any]:
    """The names."""
    return {"decode_step": decode_step, "linear": nn.Linear(8, 8), "loss": nn.functional.mse_loss,
            "nn": nn, "partial": partial, "torch": torch, "tp": tp, "x": torch.ones(4, 8)}
