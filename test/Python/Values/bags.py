"""torch.nn.functional.embedding_bag: bags given by offsets and rows of indices, weights of samples,
padding, rows with NaN; and averages of boxes, whose windows overlap. On one rank and on two.
"""
from __future__ import annotations

import itertools
from typing import Any

import torch
import torch.nn.functional as F

import tp

TABLE = torch.randn(10, 6, generator=torch.Generator().manual_seed(0))
TABLE[9, 0] = torch.nan
WEIGHTS = torch.tensor([0.5, -1.0, 2.0, 3.0, 0.25, 1.5])
FLAT, PAIRS = torch.tensor([1, 3, 3, 9, 0, 2]), torch.tensor([[1, 3, 3], [9, 0, 2]])


class Bags(torch.nn.Module):
    """All ways to call it."""

    def forward(self, table: torch.Tensor, flat: torch.Tensor, offsets: torch.Tensor,
                ends: torch.Tensor, pairs: torch.Tensor,
                weights: torch.Tensor) -> list[torch.Tensor]:
        results = []
        for mode, padding in itertools.product(("sum", "mean", "max"), (None, 3, -1)):
            options: dict[str, Any] = {"mode": mode, "padding_idx": padding}
            results += [F.embedding_bag(flat, table, offsets, **options),
                        F.embedding_bag(flat, table, ends, include_last_offset=True, **options),
                        F.embedding_bag(pairs, table, **options)]
            if mode == "sum":
                results += [F.embedding_bag(flat, table, offsets, per_sample_weights=weights,
                                            **options)]
        return results


class Boxes(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [F.adaptive_avg_pool3d(x, size) for size in (1, (2, 3, 5), (4, 3, 2), (8, 6, 7))]


def check(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], name: str) -> int:
    """How many results equal PyTorch's."""
    expected = module(*inputs)
    model = tp.export(module, inputs)
    for ranks in (1, 2):
        with tp.compile(model, plan={f"argument {name}": tp.Shard(1)}, mesh=ranks) as program:
            for number, (mine, its) in enumerate(zip(program(*inputs), expected, strict=True)):
                torch.testing.assert_close(
                    mine, its, equal_nan=True,
                    msg=lambda text, number=number: f"{name}, result {number}: {text}")
    return len(expected)


# Of indices behind the last end torch's modes differ; tp leaves them out, as the docs have it.
bags = check(Bags(), (TABLE, FLAT, torch.tensor([0, 2, 2, 5]), torch.tensor([0, 2, 2, 6]), PAIRS,
                      WEIGHTS), "table")
boxes = check(Boxes(), (torch.randn(2, 3, 4, 6, 7),), "x")
print(f"{bags} bags and {boxes} boxes equal")
