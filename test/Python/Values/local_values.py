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


class Square(nn.Module):
    def forward(self, x):
        return x * x


def reduced(kind, parts):
    return {"sum": sum(parts), "avg": sum(parts) / len(parts), "product": np.prod(parts, axis=0),
            "max": np.max(parts, axis=0), "min": np.min(parts, axis=0)}[kind]


def partial_values():
    """Addends in and out, on threads and processes, with uneven shards on another axis."""
    x, w = whole(5, 6), whole(6, 8)
    x[0, 0] = -0.0
    model = tp.export(Product(), (torch.ones(5, 6), torch.ones(6, 8)))
    plan = {"tp": {"argument x": tp.Partial(), "result 0": tp.Partial(), "result 1": tp.Partial()},
            "dp": {"argument x": tp.Shard(0), "result 0": tp.Shard(0)}}
    for launch in ("thread", "process"):
        with tp.compile(model, plan=plan, mesh={"dp": 2, "tp": 2}, launch=launch) as program:
            assert program.layouts["x"] == "dp: shard<0>, tp: partial<sum>", program.layouts
            assert not [row for row in program.collectives if "tp" in row.axes]
            y, doubled = program(x, w)
            assert np.array_equal(y, x @ w) and np.array_equal(doubled, 2 * x)
            assert np.signbit(doubled[0, 0])
            parts = tp.to_local(program, "x", x)
            assert [part.shape for part in parts] == [(3, 6), (3, 6), (2, 6), (2, 6)]
            assert np.array_equal(parts[0], x[:3]) and np.array_equal(parts[2], x[3:])
            assert not parts[1].any() and np.signbit(parts[1]).all()
            back = tp.from_local(program, "x", parts)
            assert np.array_equal(back.view(np.int32), x.view(np.int32))
            addends = [whole(3, 6), whole(3, 6), whole(2, 6), whole(2, 6)]
            y, _ = program(tp.from_local(program, "x", addends), w)
            assert np.array_equal(y, np.concatenate(
                [addends[0] + addends[1], addends[2] + addends[3]]) @ w)
            refused(lambda: tp.from_local(program, "x", [x] * 4),
                    "part 0 of 'x': expected f32[3, 6], got f32[5, 6]")
    model = tp.export(Square(), (torch.ones(5, 6),))
    for kind in ("sum", "avg", "product", "max", "min"):
        plan = {"argument x": tp.Partial(kind), "result 0": tp.Partial(kind)}
        with tp.compile(model, plan=plan, mesh={"tp": 3}) as program:
            assert np.array_equal(program(x), x * x), kind
            parts = [whole(5, 6) for _ in range(3)]
            assert np.array_equal(tp.from_local(program, "x", parts),
                                  reduced(kind, parts).astype(np.float32)), kind
            assert np.array_equal(tp.from_local(program, "x", tp.to_local(program, "x", x)), x)
            assert f"reduced by {kind}" in str(tp.visualize_sharding(program, "x"))
    # Ranks that have equal sums may have other addends, those of another sum not.
    plan = {"tp": {"argument x": tp.Partial()}}
    with tp.compile(model, plan=plan, mesh={"dp": 2, "tp": 2}) as program:
        ones = np.ones((5, 6), np.float32)
        assert np.array_equal(tp.from_local(program, "x", [ones, 3 * ones, 2 * ones, 2 * ones]),
                              4 * ones)
        refused(lambda: tp.from_local(program, "x", [ones, 3 * ones, 2 * ones, ones]),
                "from_local: 'x': ranks 0 and 2 hold the same elements and have different numbers")
    print("partial values: equal")


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
partial_values()
local_map()
