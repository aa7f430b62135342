"""Values for which PyTorch raises an error when a program runs: places outside of a dimension that
is read or written, divisors of integers that are 0. For others results are equal. On one rank and
on two.
"""
from __future__ import annotations

from collections.abc import Callable

import torch

import tp

Access = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]

ACCESSES: dict[str, Access] = {
    "x[i]": lambda x, i, v: x[i],
    "x[:, i]": lambda x, i, v: x.t()[:, i],
    "x[i, of arange]": lambda x, i, v: x[i, torch.arange(2)],
    "x[i, of constants]": lambda x, i, v: x[i, torch.tensor([3, -4])],
    "index_select": lambda x, i, v: x.index_select(0, i),
    "gather": lambda x, i, v: x.gather(0, i[:, None].expand(-1, 4)),
    "a part of gather": lambda x, i, v: x.gather(0, i[:, None].expand(-1, 4))[:1],
    "a part of embedding": lambda x, i, v: torch.nn.functional.embedding(i, x)[:1],
    "embedding": lambda x, i, v: torch.nn.functional.embedding(i, x),
    "embedding_bag": lambda x, i, v: torch.nn.functional.embedding_bag(i, x, torch.tensor([0, 1])),
    "offsets": lambda x, i, v: torch.nn.functional.embedding_bag(i % 5, x, i),
    "take": lambda x, i, v: torch.take(x, i * 4),
    "one_hot": lambda x, i, v: torch.nn.functional.one_hot(i, 6),
    "floor_divide": lambda x, i, v: torch.tensor([7, 9]) // i,
    "remainder": lambda x, i, v: torch.tensor([7, 9]) % i,
    "fmod": lambda x, i, v: torch.tensor([7, 9], dtype=torch.uint8).fmod(i.to(torch.uint8)),
    "div": lambda x, i, v: torch.div(i, i.to(torch.int16), rounding_mode="trunc"),
    "cross_entropy": lambda x, i, v: torch.nn.functional.cross_entropy(x.t()[:2], i),
    "index_copy": lambda x, i, v: x.index_copy(0, i, v),
    "index_copy of one": lambda x, i, v: x.index_copy(0, i[1:], v[1:]),
    "index_add": lambda x, i, v: x.index_add(0, i, v),
    "index_fill": lambda x, i, v: x.index_fill(0, i, 2.0),
    "index_put": lambda x, i, v: x.index_put((i,), v),
    "index_put of two": lambda x, i, v: x.index_put((i, torch.tensor([1, 2])), v[:, 0]),
    "index_put that adds": lambda x, i, v: x.index_put((i,), v, accumulate=True),
    "scatter": lambda x, i, v: x.scatter(0, i[:, None].expand(-1, 4), v),
    "scatter_add": lambda x, i, v: x.scatter_add(0, i[:, None].expand(-1, 4), v),
    "scatter_reduce": lambda x, i, v: x.scatter_reduce(0, i[:, None].expand(-1, 4), v, "amax"),
}
PLACES = [[1, 5], [0, 6], [-1, 0], [0, -1], [0, -6], [0, -7], [0, 1 << 40]]


class Module(torch.nn.Module):
    """Calls a function of a tensor, places and values."""

    def __init__(self, access: Access) -> None:
        super().__init__()
        self.access = access

    def forward(self, x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return self.access(x, i, v)


def outcome(run: Callable[[], object]) -> torch.Tensor | None:
    """The result, or None where there is an error for the places."""
    try:
        return torch.as_tensor(run())
    except (IndexError, RuntimeError):
        return None
    except tp.RunError as error:
        assert ": expected " in str(error) or "index" in str(error), error
        return None


def main() -> None:
    torch.manual_seed(0)
    x, v = torch.randn(6, 4), torch.randn(2, 4)
    equal = errors = 0
    for name, access in ACCESSES.items():
        model = tp.export(Module(access), (x, torch.tensor([0, 1]), v))
        for ranks in (1, 2):
            program = tp.compile(model, mesh=ranks, plan={"argument i": tp.Replicate(),
                                                          "argument x": tp.Shard(0)})
            for places in PLACES:
                index = torch.tensor(places)
                expected = outcome(lambda: access(x, index, v))
                got = outcome(lambda: program(x, index, v))
                assert (expected is None) == (got is None), (name, ranks, places)
                if expected is None or got is None:
                    errors += 1
                else:
                    torch.testing.assert_close(got, expected)
                    equal += 1
            program.close()
    try:
        tp.export(Module(lambda x, i, v: x[torch.tensor([0, 6])]), (x, torch.tensor([0, 1]), v))
    except tp.ExportError as error:
        print(error)
    print(f"{equal} calls equal, {errors} errors as PyTorch's")


if __name__ == "__main__":
    main()
