"""A token or a label that is out of range fails a step by name and changes nothing.

Each run trains three steps with bad batches between them, and equals PyTorch's three steps. The bad
place is in one row, which one rank of those that share the batch has.
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
from torch.nn import functional as F

import tp

VOCABULARY, WIDTH = 32, 16


class Model(nn.Module):
    """A table, a layer with a residual, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Scores of classes."""
        hidden = self.table(ids)
        scores: torch.Tensor = self.head(hidden + self.down(torch.tanh(self.up(hidden))))
        return scores


def loss(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """The mean over all tokens."""
    return F.cross_entropy(scores.flatten(0, 1), target.flatten())


def with_place(batch: torch.Tensor, place: int) -> torch.Tensor:
    """The batch with another number in its first row."""
    changed = batch.clone()
    changed[0, 1] = place
    return changed


def check(name: str, optimizer: Any, plan: Any, launch: str) -> None:
    """Raises AssertionError."""
    torch.manual_seed(0)
    model = Model()
    ids, target = torch.randint(0, VOCABULARY, (2, 2, 6))
    step = tp.export_training(model, loss, optimizer, (ids, target))
    right = copy.deepcopy(model)
    rule = optimizer(right.parameters())
    bad = [((with_place(ids, VOCABULARY), target),
            "embedding of input 'ids': expected places from 0 to 31"),
           ((ids, with_place(target, VOCABULARY)),
            "cross_entropy of input 'target': expected classes from 0 to 31, or -100, which is"),
           ((ids, with_place(target, -1)), "cross_entropy of input 'target': expected classes")]
    with tp.compile(step, plan=plan, mesh={"ranks": 2}, launch=launch) as program:
        for batch, words in bad:
            expected = loss(right(ids), target)
            rule.zero_grad()
            expected.backward()  # type: ignore[no-untyped-call]
            rule.step()
            before = {key: np.array(program.state[key]) for key in program.state}
            try:
                program(*batch)
                raise AssertionError("the step did not fail")
            except tp.RunError as error:
                assert words in str(error), error
            for key, value in before.items():
                np.testing.assert_array_equal(program.state[key], value, err_msg=key)
            np.testing.assert_allclose(float(program(ids, target)), expected.item(), rtol=1e-5)
        for key, value in right.state_dict().items():
            np.testing.assert_allclose(program.state[key], value, rtol=1e-4, atol=1e-5, err_msg=key)
    print(f"{name}: as if nothing had happened", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    sgd, adamw = partial(torch.optim.SGD, lr=0.1), partial(torch.optim.AdamW, lr=0.01)
    check("SGD, auto", sgd, "auto", "thread")
    check("SGD, by rows", sgd, {"argument ids": tp.Shard(0), "argument target": tp.Shard(0)},
          "thread")
    check("AdamW, auto", adamw, "auto", "process")
    check("AdamW, fully sharded", adamw, {"": tp.FullyShard()}, "thread")


if __name__ == "__main__":
    sys.exit(main())
