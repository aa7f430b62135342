"""Trains a decoder under `tp.FullyShard`: stored shards, gathered where they are used.

The decoder of plans.py, with tied embeddings, trains for three steps under FSDP and ZeRO on dp=2,
3 and 4, and with tensor and sequence parallelism on a second axis. What is right is what PyTorch
computes in f64; tp may be four times as far from it as PyTorch is in f32. Each line has how many
arguments of each kind are sharded over dp, and how many collectives over dp there are.
"""
from __future__ import annotations

from collections import Counter
from typing import Any

import torch

import tp
from tp import FullyShard
from plans import (  # sets the path of training
    ADAMW, TITAN, VOCABULARY, LENGTH, Decoder, distance_of_all)
from training import STEPS, Case, Reference, language_loss

BATCH = 12
UNITS = {"layers.*": FullyShard(), "": FullyShard()}


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and targets."""
    shape = (BATCH, LENGTH)
    return torch.randint(VOCABULARY, shape), torch.randint(VOCABULARY, shape)


def check(model: tp.Model, case: Case, data: list[Any], name: str, plan: Any,
          mesh: dict[str, int]) -> None:
    """Trains under the plan, and prints the row."""
    reference = Reference(case, data)
    with tp.compile(model, plan=plan, mesh=mesh) as step:
        found = distance_of_all(reference, case, step)
        sharded = Counter(port.kind for port in step._artifact.arguments
                          if any("shard" in axis for axis in port.layout[:1]))
        rows = Counter(row.kind for row in step.collectives if row.axes == "dp")
        print(f"{name} {mesh}: {'equal' if found <= 1 else 'DIFFERS'}, sharded "
              f"{sorted(sharded.items())}, {sorted(rows.items())}", flush=True)


class Layer(torch.nn.Module):
    """Two products of 256 x 1024, too large for a bucket."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.LayerNorm(256)
        self.up = torch.nn.Linear(256, 1024)
        self.down = torch.nn.Linear(1024, 256)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


def check_memory() -> None:
    """A rank holds one layer whole at a time, a gradient of it, and shards of all gradients."""
    module = torch.nn.Sequential(*(Layer() for _ in range(6)))
    x = torch.randn(64, 256)
    model = tp.export_training(module, torch.nn.functional.mse_loss, torch.optim.SGD, (x, x))
    size = sum(p.numel() * p.element_size() for p in module.parameters())
    for name, plan in {"fsdp": {"?": FullyShard()}, "kept": {"?": FullyShard(keep=True)}}.items():
        with tp.compile(model, plan=plan, mesh={"dp": 4}) as step:
            arena = step.memory["arena"]
            print(f"{name} holds {'little' if arena < size / 4 + size / 6 * 2 else 'much'}")


def main() -> None:
    torch.manual_seed(0)
    check_memory()
    case = Case(Decoder(), language_loss, ADAMW, TITAN, batch)
    data = [batch() for _ in range(STEPS)]
    model = tp.export_training(case.module, case.loss, case.optimizer, data[0])
    for ranks in 2, 3, 4:
        check(model, case, data, "fsdp", UNITS, {"dp": ranks})
    check(model, case, data, "kept", {"": FullyShard(keep=True)}, {"dp": 2})
    for stage in 1, 2:
        check(model, case, data, f"zero {stage}", {"": FullyShard(stage=stage)}, {"dp": 2})
    both = {"dp": 2, "tp": 2}
    check(model, case, data, "fsdp and tp", {"dp": UNITS, "tp": TITAN}, both)
    check(model, case, data, "zero and tp", {"dp": {"": FullyShard(stage=2)}, "tp": TITAN}, both)
    for stage in 1, 2:
        check(model, case, data, f"zero {stage} and auto",
              {"dp": {"": FullyShard(stage=stage)}, "tp": "auto"}, both)


if __name__ == "__main__":
    main()
