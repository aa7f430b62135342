"""Elements by their order (medians, k-th values, running maxima and their places) and reductions at
written places, with or without the elements that are there, as PyTorch has them: edge values,
integers, equal elements. On one rank, two and three.
"""
from __future__ import annotations

import itertools

import torch

import tp

SPECIAL = torch.tensor([[0.5, torch.nan, -1, torch.inf, -torch.inf, 2, 0.5],
                        [-0.0, 0.0, 3, 3, -2, -2, 3],
                        [torch.nan] * 7,
                        [torch.nan, torch.nan, 1, -torch.inf, torch.nan, 4, 2],
                        [1, 2, 3, 4, 5, 6, 7]])
# Places of equal elements are PyTorch's choice: these have none.
RANDOM = torch.rand(5, 7, generator=torch.Generator().manual_seed(0))
INTEGERS = torch.tensor([[4, -7, 4, 9, -128, 127, 0], [1, 1, 1, 1, 1, 1, 1],
                         [3, 2, 1, 0, -1, -2, -3], [0, 1, 0, 1, 0, 1, 0],
                         [5, 6, 7, 8, 9, 10, 11]], dtype=torch.int8)
INDEX = torch.tensor([[0, 1, 1, 3, 0, 0, 1], [4, 4, 4, 4, 4, 4, 4], [0, 1, 2, 3, 4, 0, 1],
                      [2, 2, 0, 0, 3, 3, 3], [1, 0, 1, 0, 1, 0, 4]])
TARGET = torch.tensor([[1.5, -2, torch.nan, torch.inf, -0.0], [3, 3, 3, 3, 3], [0, 0, 0, 0, 0],
                       [-1, -2, -3, -4, -5], [9, 8, 7, 6, 5]])


class Ordered(torch.nn.Module):
    """Values of everything, places where they are PyTorch's promise."""

    def forward(self, special: torch.Tensor, random: torch.Tensor,
                integers: torch.Tensor) -> list[torch.Tensor]:
        results = []
        for x in (special, random, integers):
            for dim, keepdim in itertools.product((0, 1, -1), (True, False)):
                results += [x.median(dim, keepdim).values, x.kthvalue(3, dim, keepdim).values,
                            x.nanmedian(dim, keepdim).values]
            results += [x.median(), x.nanmedian(), *x.cummax(1), *x.cummin(0), *x.cummin(-1)]
        return results + [random.median(1).indices, random.kthvalue(5, 0).indices,
                          random.nanmedian(-1).indices, (integers > 0).cummax(1).values]


class Reduced(torch.nn.Module):
    """Every reduction, of floats and integers."""

    def forward(self, target: torch.Tensor, source: torch.Tensor, integers: torch.Tensor,
                index: torch.Tensor) -> list[torch.Tensor]:
        results = []
        for own, reduce in itertools.product((True, False), ("sum", "prod", "mean", "amax", "amin")):
            for dim in (0, 1):
                results += [target.scatter_reduce(dim, index[:, :5], source, reduce,
                                                  include_self=own),
                            integers.int().scatter_reduce(dim, index, integers.flip(1).int(), reduce,
                                                          include_self=own)]
        return results


def check(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], name: str) -> int:
    """How many results equal PyTorch's."""
    expected = module(*inputs)
    model = tp.export(module, inputs)
    for ranks, dim in ((1, 0), (2, 0), (2, 1), (3, 1)):
        with tp.compile(model, plan={f"argument {name}": tp.Shard(dim)}, mesh=ranks) as program:
            for number, (mine, its) in enumerate(zip(program(*inputs), expected, strict=True)):
                torch.testing.assert_close(
                    mine, its, equal_nan=True,
                    msg=lambda text, number=number: f"{name}, result {number}: {text}")
    return len(expected)


ordered = check(Ordered(), (SPECIAL, RANDOM, INTEGERS), "special")
reduced = check(Reduced(), (TARGET, RANDOM * 4 - 2, INTEGERS, INDEX), "source")
print(f"{ordered} results by order and {reduced} reductions equal")
