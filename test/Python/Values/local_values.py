"""Local values and functions on parts, against numpy and PyTorch on 1 to 4 ranks.

    local_values.py
"""
from __future__ import annotations

import copy
import os
import sys

import numpy as np
import torch
from torch import nn

import tp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from refusals import refused  # noqa: E402  pylint: disable=wrong-import-position

RNG = np.random.default_rng(0)


def whole(*shape):
    """Small integers, of which sums are exact."""
    return RNG.integers(-3, 4, shape).astype(np.float32)


class Product(nn.Module):
    def forward(self, x, w):
        return x @ w, 2 * x


def local_values():
    model = tp.export(Product(), (torch.ones(5, 6), torch.ones(6, 8)))
    plan = {"argument x": tp.Shard(0), "result 0": tp.Shard(0)}
    with tp.compile(model, plan=plan, mesh={"tp": 4}) as program:
        x, w = whole(5, 6), whole(6, 8)
        parts = tp.to_local(program, "x", x)
        assert [part.shape[0] for part in parts] == [2, 2, 1, 0]
        assert np.array_equal(tp.from_local(program, "x", parts), x)
        y, _ = program(x, w)
        assert np.array_equal(np.concatenate(tp.to_local(program, program.result_names[0], y)[:3]),
                              x @ w)
        copies = [w] * 3 + [w + 1]
        refused(lambda: tp.from_local(program, "w", copies),
                "from_local: 'w': ranks 0 and 3 hold the same elements and have different numbers")
        refused(lambda: tp.from_local(program, "x", parts[:3]),
                "from_local: 'x': expected a part for each of 4 ranks, got 3")
        refused(lambda: tp.from_local(program, "x", [x] * 4),
                "part 0 of 'x': expected f32[2, 6], got f32[5, 6]")
    print("local values: equal")


class Local(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(12, 12))

    def forward(self, x):
        # A norm of each part alone, products whose sums are joined, and a maximum.
        scaled = tp.local_map(lambda x: x / x.norm(), tp.Shard(0), tp.Shard(0), 12)(x)
        summed = tp.local_map(lambda x, w: torch.relu(x) @ w, tp.Partial(),
                              (tp.Shard(1), tp.Shard(0)), 12)(x, self.weight)
        largest, moved = tp.local_map(lambda x, w: (x.amax(0), x + w[0]),
                                      (tp.Partial("max"), tp.Shard(-2)), (tp.Shard(0), None),
                                      12)(x, self.weight)
        return scaled + summed, largest, moved


def reference(x, weight):
    parts = x.chunk(12)
    scaled = torch.cat([part / part.norm() for part in parts])
    summed = sum(torch.relu(part) @ rows for part, rows in zip(x.chunk(12, 1), weight.chunk(12)))
    return scaled + summed, torch.stack([part.amax(0) for part in parts]).amax(0), x + weight[0]


def local_map():
    torch.manual_seed(0)
    module, x = Local(), torch.randn(24, 12)
    for got, expected in zip(module(x), reference(x, module.weight)):
        torch.testing.assert_close(got, expected)
    model = tp.export(module, (x,))
    plan = {"argument x": tp.Shard(0), "result 0": tp.Shard(0), "result 2": tp.Shard(0)}
    for mesh in (1, 2, 3, 4):
        with tp.compile(model, plan=plan if mesh > 1 else None, mesh=mesh) as program:
            for got, expected in zip(program(x), reference(x, module.weight)):
                torch.testing.assert_close(got, expected)

    class Normalize(nn.Module):
        def forward(self, x):
            return tp.local_map(lambda x: x / x.norm(), tp.Shard(0), tp.Shard(0), 4)(x)

    with tp.compile(tp.export(Normalize(), (x,)), plan={"argument x": tp.Shard(0),
                                                        "result 0": tp.Shard(0)},
                    mesh=4) as program:
        torch.testing.assert_close(program(x), torch.cat([p / p.norm() for p in x.chunk(4)]))
        assert not program.collectives.rows, program.collectives
    # The model has the module's own tensors, so PyTorch trains a copy.
    trained = copy.deepcopy(module)
    optimizer = torch.optim.SGD(trained.parameters(), lr=0.1)
    step = tp.export_training(module, lambda y, target: (y[0] * target).mean() + y[1].sum(),
                              lambda p: torch.optim.SGD(p, lr=0.1), (x, x))
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        y = reference(x, trained.weight)
        loss = (y[0] * x).mean() + y[1].sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for mesh in (1, 3):
        with tp.compile(step, plan={"argument x": tp.Shard(0)} if mesh > 1 else None,
                        mesh=mesh) as program:
            for loss in losses:
                torch.testing.assert_close(float(program(x, x)), loss, rtol=1e-5, atol=1e-6)
            torch.testing.assert_close(torch.as_tensor(program.state["weight"]),
                                       trained.weight.detach())

    def mapped(out, given, x, function=lambda x: x):
        return lambda: tp.local_map(function, out, given, 4)(x)
    wrong = [
        (mapped(tp.Shard(0), tp.Shard(0), x[:5]), "local_map: argument 0: 4 ranks do not divide "
         "dimension 0 of [5, 12]: the function would run on parts of several sizes: pad the "
         "dimension"),
        (mapped(tp.Replicate(), tp.Shard(0), x), "local_map: result 0: expected Shard(d) or "
         "Partial(), got Replicate(): parts need not be equal; compute what is the same on all ranks "
         "outside of the function"),
        (mapped(tp.Shard(0), tp.Partial(), x), "local_map: argument 0: Partial() expects a first "
         "dimension of 4, one addend a rank, got [24, 12]"),
        (mapped(tp.Shard(0), None, x), "local_map: expected a Shard or Partial argument, all are "
         "whole: call the function itself"),
        (mapped(tp.Shard(2), tp.Shard(0), x), "local_map: result 0: Shard(2) needs that dimension, "
         "it has 2"),
        (mapped((tp.Shard(0), None), tp.Shard(0), x), "local_map: out_layouts has 2 layouts, the "
         "function returns 1 tensor"),
        (lambda: tp.local_map(lambda x: x, tp.Shard(0), tp.Shard(0), 0), "local_map: ranks: expected "
         "a number from 1 on, got 0")]
    for call, message in wrong:
        refused(call, message, tp.ExportError)
    print("local_map: equal")


local_values()
local_map()
