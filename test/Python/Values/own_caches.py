"""Steps of attention with caches of their own, buffers that every step changes in place, against
PyTorch over 20 steps: on 1 to 4 ranks, in threads and processes, and on devices that are the host.

    own_caches.py          every case once under each plan, and once on each number of ranks
    own_caches.py --all    every case under each plan on each number of ranks
"""
from __future__ import annotations

import copy
import sys
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import tp

STEPS, ROWS, DIM, HEAD = 20, 3, 24, 4
DEVICES = {"target": "cuda", "chips": ["host"]}


class Cached(nn.Module):
    """Attention of one token of each row over a cache; `store` writes it and returns the keys, the
    values and which of them count."""

    def __init__(self, heads: int, shared: int, length: int) -> None:
        super().__init__()
        self.heads, self.shared, self.length = heads, shared, length
        self.q = nn.Linear(DIM, heads * HEAD, bias=False)
        self.k = nn.Linear(DIM, shared * HEAD, bias=False)
        self.v = nn.Linear(DIM, shared * HEAD, bias=False)
        self.o = nn.Linear(heads * HEAD, DIM, bias=False)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(ROWS, shared, length, HEAD))

    def store(self, k: Tensor, v: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        raise NotImplementedError

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        q = self.q(x).view(ROWS, self.heads, 1, HEAD)
        k = self.k(x).view(ROWS, self.shared, 1, HEAD)
        v = self.v(x).view(ROWS, self.shared, 1, HEAD)
        keys, values, counts = self.store(k, v, place)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=counts, enable_gqa=True)
        return x + self.o(y.reshape(ROWS, self.heads * HEAD))


class AtOnePlace(Cached):
    """All rows are at one place."""

    def store(self, k: Tensor, v: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        self.keys.index_copy_(2, place[:1], k)
        self.values.index_copy_(2, place[:1], v)
        return self.keys, self.values, (torch.arange(self.length) <= place[0])[None]


class AtPlaces(Cached):
    """Each row is at a place of its own."""

    def store(self, k: Tensor, v: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows = torch.arange(ROWS)
        self.keys[rows, :, place] = k[:, :, 0]
        self.values[rows, :, place] = v[:, :, 0]
        counts = torch.arange(self.length)[None] <= place[:, None]
        return self.keys, self.values, counts[:, None, None]


class Selected(Cached):
    """Places are chosen by a comparison, as where a scatter has no kernel."""

    def store(self, k: Tensor, v: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        numbers = torch.arange(self.length)[None]
        here = (numbers == place[:, None])[:, None, :, None]
        self.keys.copy_(torch.where(here, k, self.keys))
        self.values.copy_(torch.where(here, v, self.values))
        return self.keys, self.values, (numbers <= place[:, None])[:, None, None]


class Rolled(Cached):
    """A window: old keys leave at the front, a new one comes last."""

    def store(self, k: Tensor, v: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        self.keys.copy_(torch.cat([self.keys[:, :, 1:], k], 2))
        self.values.copy_(torch.cat([self.values[:, :, 1:], v], 2))
        numbers = torch.arange(self.length)[None]
        return self.keys, self.values, (numbers >= self.length - 1 - place[:, None])[:, None, None]


class Ring(Cached):
    """A window whose oldest key is written over."""

    def store(self, k: Tensor, v: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, at = torch.arange(ROWS), place % self.length
        self.keys[rows, :, at] = k[:, :, 0]
        self.values[rows, :, at] = v[:, :, 0]
        counts = torch.arange(self.length)[None] <= place[:, None]
        return self.keys, self.values, counts[:, None, None]


def cases() -> dict[str, tuple[Cached, Tensor]]:
    """Each with the places at which its rows begin."""
    same, apart = torch.zeros(ROWS, dtype=torch.int64), torch.tensor([0, 4, 9])
    return {
        "one place, 6 heads": (AtOnePlace(6, 6, STEPS), same),
        "one place, 6 heads share 2": (AtOnePlace(6, 2, STEPS), same),
        "places, 4 heads share 2": (AtPlaces(4, 2, STEPS + 9), apart),
        "places, fewer heads than ranks": (AtPlaces(2, 1, STEPS + 9), apart),
        "selected places, 3 heads": (Selected(3, 3, STEPS + 9), apart),
        "rolled window of 7, 4 heads share 2": (Rolled(4, 2, 7), same),
        "rolled window of 5, one head": (Rolled(1, 1, 5), same),
        "ring of 6, 6 heads share 3": (Ring(6, 3, 6), apart),
    }


def compare(program: tp.Program, inputs: list[np.ndarray], places: Tensor,
            expected: list[np.ndarray], states: dict[str, np.ndarray]) -> None:
    for step, (x, right) in enumerate(zip(inputs, expected)):
        np.testing.assert_allclose(program(x, (places + step).numpy()), right, rtol=1e-4,
                                   atol=1e-5, err_msg=f"step {step}")
    for name, right in states.items():
        np.testing.assert_allclose(program.state[name], right, rtol=1e-4, atol=1e-5, err_msg=name)


HEADS = {"q": "colwise", "k": "colwise", "v": "colwise", "o": "rowwise"}
PLANS: list[Any] = ["auto", HEADS,
                    {"argument keys": tp.Shard(2), "argument values": tp.Shard(2)}]


def ways_of(number: int) -> list[tuple[int, Any, dict[str, Any]]]:
    """Numbers of ranks, plans and options under which the case of this number runs. Of three cases
    each number of ranks has each plan, and of twelve, devices have too."""
    is_all = "--all" in sys.argv
    ways: list[tuple[int, Any, dict[str, Any]]] = [(1, None, {})]
    for ranks in (2, 3, 4):
        plans = PLANS if is_all else [PLANS[(number + ranks) % 3]]
        ways += [(ranks, plan, {"launch": "process" if plan is HEADS else "thread"})
                 for plan in plans]
    on_devices = (1, 2, 3, 4) if is_all else [1 + number % 4]
    return ways + [(ranks, PLANS[(number + ranks + 1) % 3] if ranks > 1 else None, DEVICES)
                   for ranks in on_devices]


def main() -> None:
    for number, (name, (module, places)) in enumerate(cases().items()):
        torch.manual_seed(0)
        inputs = [torch.randn(ROWS, DIM) for _ in range(STEPS)]
        model = tp.export(module.eval(), (inputs[0], places))
        runs, changed = 0, copy.deepcopy(module)
        with torch.no_grad():
            expected = [changed(x, places + step).numpy() for step, x in enumerate(inputs)]
        states = {key: value.numpy() for key, value in changed.named_buffers()}
        arrays = [x.numpy() for x in inputs]
        for ranks, plan, more in ways_of(number):
            mesh = {"tp": ranks} if ranks > 1 else None
            try:
                with tp.compile(model, plan=plan, mesh=mesh, **more) as program:
                    compare(program, arrays, places, expected, states)
            except (AssertionError, tp.Error) as error:
                raise AssertionError(f"{name}, {ranks} ranks, {plan}, {more}: {error}") from error
            runs += 1
        print(f"{name}: {runs} runs equal PyTorch's {STEPS} steps", flush=True)


if __name__ == "__main__":
    main()
