"""The gradient of an embedding: each row adds up what its tokens have, and nothing else.

Tables of more and of fewer rows than tokens train as PyTorch trains them under every layout of the
table and of the tokens; an infinity of one token stays in its row; memory grows with the tokens,
not with their square.
"""
from __future__ import annotations

import copy
import sys
import warnings
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn

import tp

WIDTH = 8


class Model(nn.Module):
    """A table with a head, and options of the table."""

    def __init__(self, rows: int, **options: Any) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, WIDTH, **options)
        self.head = nn.Linear(WIDTH, 4)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Scores of tokens."""
        scores: torch.Tensor = self.head(self.table(ids))
        return scores


def squares(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The sum over all tokens, so that an infinite target gives its token an infinite gradient."""
    return ((scores - target) ** 2).sum() / 64


def train(name: str, model: Model, ids: torch.Tensor, target: torch.Tensor, plan: Any,
          mesh: dict[str, int], steps: int = 3) -> tp.Program:
    """Steps that equal PyTorch's. Raises AssertionError."""
    optimizer = partial(torch.optim.SGD, lr=0.1, momentum=0.9)
    right = copy.deepcopy(model)
    rule = optimizer(right.parameters())
    program = tp.compile(tp.export_training(model, squares, optimizer, (ids, target)), plan=plan,
                         mesh=mesh)
    for _ in range(steps):
        rule.zero_grad()
        expected = squares(right(ids), target)
        expected.backward()  # type: ignore[no-untyped-call]
        rule.step()
        np.testing.assert_allclose(float(program(ids, target)), expected.item(), rtol=1e-5,
                                   err_msg=name)
    for key, value in right.state_dict().items():
        np.testing.assert_allclose(program.state[key], value, rtol=1e-4, atol=1e-5,
                                   err_msg=f"{name}: {key}")
    return program


def layouts() -> None:
    """Tables of both kinds on several meshes."""
    data: dict[str, Any] = {"argument ids": tp.Shard(0), "argument target": tp.Shard(0)}
    plans = [("one rank", None, {"tp": 1}), ("auto", "auto", {"tp": 3}),
             ("by rows", {"table": "rowwise"}, {"tp": 3}),
             ("by columns", {"table": "colwise"}, {"tp": 2}), ("tokens", data, {"dp": 2}),
             ("rows and tokens", {"tp": {"table": "rowwise"}, "dp": data}, {"dp": 2, "tp": 2})]
    options: list[tuple[str, int, dict[str, Any]]] = [
        ("many rows", 100, {}), ("few rows", 9, {}), ("padding", 100, {"padding_idx": 3}),
        ("by frequency", 100, {"scale_grad_by_freq": True})]
    runs = 0
    for kind, rows, settings in options:
        torch.manual_seed(rows)
        model = Model(rows, **settings)
        ids = torch.randint(0, rows, (2, 12))
        ids[0, :5] = 3  # named often, by the padding too
        target = torch.randn(2, 12, 4)
        for name, plan, mesh in plans:
            train(f"{kind}, {name}", model, ids, target, plan, mesh)
            runs += 1
    print(f"{runs} trainings as PyTorch's")


def infinity() -> None:
    """An infinite gradient of one token."""
    torch.manual_seed(0)
    model = Model(100)
    ids, target = torch.arange(24).reshape(2, 12), torch.randn(2, 12, 4)
    target[1, 2] = torch.inf
    program = train("an infinity", model, ids, target, {"table": "rowwise"}, {"tp": 2},
                    steps=1)
    wrong = ~np.isfinite(program.state["table.weight"])
    assert np.array_equal(np.unique(np.nonzero(wrong)[0]), [14]), np.nonzero(wrong)
    print("an infinity stays in its row")


def memory() -> None:
    """The bytes of a step of more tokens than rows, and of fewer."""
    for rows, tokens in ((5000, 4096), (500, 4096)):
        model, ids = Model(rows), torch.zeros(2, tokens // 2, dtype=torch.int64)
        step = tp.export_training(model, squares, partial(torch.optim.SGD, lr=0.1),
                                  (ids, torch.zeros(2, tokens // 2, 4)))
        arena = tp.compile(step, mesh={"tp": 1}).memory["arena"]
        # The gradient, and per token its row, its scores and the gradients of both.
        assert arena <= 4 * (rows * WIDTH + 3 * tokens * (WIDTH + 4)), arena
    print("memory grows with the tokens")


def main() -> None:
    warnings.simplefilter("ignore")
    layouts()
    infinity()
    memory()


if __name__ == "__main__":
    sys.exit(main())
