"""Sums at written places against PyTorch's bit by bit, zeros of both signs in places and writes.

    written_signs.py FOLDER
"""
from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Tensor, nn

import tp

PLACES, WRITES, WIDTH = 7, 6, 3
TYPES = (torch.float32, torch.float64, torch.bfloat16)
BITS = {torch.float32: torch.int32, torch.float64: torch.int64, torch.bfloat16: torch.int16}
# Place 0 is written twice, and 2, 3 and 6 never.
INDEX = torch.tensor([0, 1, 4, 0, 5, 4])


class Writes(nn.Module):
    """Every op that adds at places, of every type."""

    def forward(self, x: list[Tensor], source: list[Tensor], index: Tensor) -> list[Tensor]:
        return [result for one, many in zip(x, source) for result in self.written(one, many, index)]

    def written(self, x: Tensor, source: Tensor, index: Tensor) -> list[Tensor]:
        wide = index.unsqueeze(-1).expand(-1, WIDTH)
        row, column = x[:, 0].clone(), x[:1].T.clone()
        return [
            x.index_add(0, index, source), x.index_add(0, index, source, alpha=-2),
            x.T.index_add(1, index, source.T), x.index_add(0, index[:0], source[:0]),
            x.index_put((index[:0],), source[:0], accumulate=True),
            x.scatter_add(0, wide, source), x.scatter(0, wide, source, reduce="add"),
            x.scatter_reduce(0, wide, source, "sum"), x.scatter_add(0, wide[:, :2], source),
            x.scatter(0, wide, 0.0, reduce="add"), x.scatter(0, wide, -0.0, reduce="add"),
            x.scatter(0, wide, 0.1, reduce="add"),
            x.index_put((index,), source, accumulate=True),
            row.index_put((index,), source[:, 0], accumulate=True),
            x.index_put((index[:3], index[:3] % 3), source[:3, 0], accumulate=True),
            column.T.index_put((index % 1, index % 3), source[:, 1], accumulate=True),
            x[0, 0].index_add(0, index[:1] * 0, source[0, 0]),
        ]


def zeros_and_more(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """What is written to, and what is: columns of -0.0 alone, of both zeros, of numbers."""
    x = torch.full((PLACES, WIDTH), -0.0)
    x[4:, 1] = 0.0
    x[:, 2] = torch.tensor([-0.0, 1.5, -2.0, -0.0, 0.0, -1.0, 0.0])
    source = torch.full((WRITES, WIDTH), -0.0)
    source[1::2, 1] = 0.0
    source[:, 2] = torch.tensor([0.5, -1.5, -0.0, -0.5, 1.0, 0.0])
    return x.to(dtype), source.to(dtype)


def main() -> None:
    pairs = [zeros_and_more(dtype) for dtype in TYPES]
    args = ([x for x, _ in pairs], [source for _, source in pairs], INDEX)
    module = Writes()
    expected = module(*args)
    assert sum(bool((right == 0).logical_and(right.signbit()).any()) for right in expected) > 40
    model = tp.export(module, args)
    for ranks in (1, 2, 3):
        plans = {} if ranks == 1 else {name: sharded(name, ranks) for name in ("source", "x")}
        for name, plan in {"auto": "auto", **plans}.items():
            with tp.compile(model, plan=plan, mesh={"tp": ranks}) as program:
                results = program(*args)
            wrong = 0
            for i, (result, right) in enumerate(zip(results, expected, strict=True)):
                kind = BITS[right.dtype]
                if not torch.equal(result.view(kind), right.view(kind)):
                    wrong += 1
                    print(f"result {i}, {right.dtype}: expected {right.tolist()}, "
                          f"got {result.tolist()}")
            print(f"{name}: {len(expected)} results, {wrong} wrong, ranks: {ranks}")
    gradient_of_lookup()


class Lookup(nn.Module):
    """Rows of a table, whose gradient is a sum at places."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(32, 16))

    def forward(self, index: Tensor) -> Tensor:
        return self.table[index]


def gradient_of_lookup() -> None:
    """Ranks that have a part of the writes each add up the gradient, once."""
    model = tp.export_training(Lookup(), nn.functional.mse_loss, torch.optim.SGD,
                               (torch.arange(24), torch.randn(24, 16)))
    plan = plan_of("lookup", 3, ["index", "target"], ["table"])
    with tp.compile(model, plan=plan, mesh={"tp": 3}) as program:
        print(program.collectives)


def sharded(name: str, ranks: int) -> str:
    """The path of a plan that gives every rank some of the rows of `name`."""
    return plan_of(name, ranks, [f"{name}.{i}" for i in range(len(TYPES))], [])


def plan_of(name: str, ranks: int, rows: list[str], whole: list[str]) -> str:
    """The path of a plan: arguments of which a rank has some rows, and those that it has whole."""
    entries = [f'  tp.argument "{argument}" {layout}'
               for arguments, layout in ((rows, "shard<0>"), (whole, "replicate"))
               for argument in arguments]
    path = Path(sys.argv[1]) / f"{name}-{ranks}.plan.mlir"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([f'#mesh = #tp.mesh<"tp" = {ranks}>',
                               'tp.plan @writes on #mesh["tp"] {', *entries, "}", ""]))
    return str(path)


if __name__ == "__main__":
    main()
