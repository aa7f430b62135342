"""Trains models whose layers are computed again in the backward pass (`tp.Recompute`).

The decoder of plans.py, a decoder with LayerNorm, GELU and dropout, and one with batch norm train
for three steps. What is right is what PyTorch computes in f64, or, with dropout, what tp computes
when it keeps all values: the random numbers have to be the same ones. Then the arena of the decoder
is measured at two depths: a layer adds about what enters it.
"""
from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import tp
import plans  # sets the path of training
from plans import ADAMW, DATA, DIM, TITAN, Decoder, distance_of_all
from training import STEPS, Case, Reference, language_loss

AGAIN = {"layers.*": tp.Recompute()}
SGD = partial(torch.optim.SGD, lr=0.05)


class Block(nn.Module):
    """A layer of GPT-2's kind, or with the norm of `norm`."""

    def __init__(self, norm: type[nn.Module], rate: float) -> None:
        super().__init__()
        self.norm, self.drop = norm(32), nn.Dropout(rate)
        self.q, self.k, self.v, self.o = (nn.Linear(32, 32) for _ in range(4))
        self.up, self.down = nn.Linear(32, 48), nn.Linear(48, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, length, 32] to the same."""
        h = self.norm(x.flatten(0, 1)).view(x.shape)
        q, k, v = (each(h).unflatten(-1, (4, 8)).transpose(1, 2)
                   for each in (self.q, self.k, self.v))
        probabilities = self.drop((q @ k.transpose(-1, -2) / 8 ** 0.5).softmax(-1))
        x = x + self.o((probabilities @ v).transpose(1, 2).flatten(2))
        return x + self.drop(self.down(F.gelu(self.up(x))))


class Stack(nn.Module):
    """Blocks, and a head."""

    def __init__(self, norm: type[nn.Module], rate: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(norm, rate) for _ in range(3))
        self.head = nn.Linear(32, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, length, 32] to logits [batch, length, 16]."""
        for layer in self.layers:
            x = layer(x)
        logits: torch.Tensor = self.head(x)
        return logits


MEGATRON = {"layers.*.q": "colwise", "layers.*.k": "colwise", "layers.*.v": "colwise",
            "layers.*.o": "rowwise", "layers.*.up": "colwise", "layers.*.down": "rowwise"}


def rows() -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs of blocks, and targets."""
    return torch.randn(4, 6, 32), torch.randint(16, (4, 6))


def check(name: str, case: Case, data: list[Any], runs: list[tuple[dict[str, int], Any]]) -> None:
    """Trains under each plan, and compares with PyTorch."""
    model = tp.export_training(case.module, case.loss, case.optimizer, data[0])
    reference = Reference(case, data)
    for mesh, plan in runs:
        with tp.compile(model, plan=plan, mesh=mesh) as step:
            found = distance_of_all(reference, case, step) if name == "decoder" else (
                reference.train(step)[1])
            print(f"{name} {mesh}: {'equal' if found <= 1 else 'DIFFERS'}", flush=True)


def check_dropout() -> None:
    """Trains with the random numbers of the program, kept and computed again."""
    torch.manual_seed(1)
    module, data = Stack(nn.LayerNorm, 0.25), [rows() for _ in range(STEPS)]
    model = tp.export_training(module, language_loss, ADAMW, data[0])
    for mesh in {"tp": 1}, {"tp": 2}:
        found = []
        for plan in MEGATRON, {**MEGATRON, **AGAIN}:
            with tp.compile(model, plan=plan, mesh=mesh) as step:
                losses = [float(step(x, y)) for x, y in data]
                found.append(np.concatenate([losses, step.state["layers.0.q.weight"].ravel()]))
        far = np.abs(found[0] - found[1]).max()
        print(f"dropout {mesh}: {'equal' if far < 1e-5 else 'DIFFERS'}", flush=True)


def growth(models: dict[int, tp.Model], plan: Any, mesh: dict[str, int]) -> int:
    """Bytes that a layer more adds to the arena; the models by their layers."""
    bytes_of = {}
    for layers, model in models.items():
        with tp.compile(model, plan=plan, mesh=mesh) as step:
            bytes_of[layers] = step.memory["arena"]
    few, many = models
    return (bytes_of[many] - bytes_of[few]) // (many - few)


def check_memory() -> None:
    """The arena's growth per layer, kept and computed again."""
    entering = 2 * plans.LENGTH * DIM * 4
    models = {}
    for plans.LAYERS in 4, 8:
        models[plans.LAYERS] = tp.export_training(Decoder(), language_loss, SGD, plans.batch())
    plans.LAYERS = 3
    for mesh, plan, ranks in ({"tp": 1}, {}, 1), ({"tp": 2}, TITAN, 2):
        kept, again = (growth(models, each, mesh) for each in (plan, {**plan, **AGAIN}))
        least = entering // ranks
        print(f"a layer {mesh}: {'small' if again <= 1.25 * least else 'LARGE'}, "
              f"{kept} bytes, again {again}, enters {least}", flush=True)


def main() -> None:
    torch.manual_seed(0)
    case = Case(Decoder(), language_loss, ADAMW, TITAN, plans.batch)
    titan = {**TITAN, **AGAIN}
    shards = {"layers.*": [tp.FullyShard(), tp.Recompute()], "": tp.FullyShard()}
    check("decoder", case, [plans.batch() for _ in range(STEPS)], [
        ({"tp": 1}, AGAIN), ({"tp": 2}, titan), ({"tp": 4}, titan),
        ({"dp": 2, "tp": 2}, {"dp": DATA, "tp": titan}), ({"dp": 2}, shards),
        ({"dp": 2, "tp": 2}, {"dp": shards, "tp": TITAN}),
        # Of attention, the gather of its input alone.
        ({"tp": 2}, {**TITAN, **{f"layers.*.attention.{name}": [tp.ColwiseParallel(), tp.Recompute()]
                                 for name in ("wq", "wk", "wv")}})])
    for name, norm in ("layer norm", nn.LayerNorm), ("batch norm", nn.BatchNorm1d):
        torch.manual_seed(1)
        case = Case(Stack(norm, 0), language_loss, ADAMW, MEGATRON, rows)
        check(name, case, [rows() for _ in range(STEPS)], [
            ({"tp": 1}, AGAIN), ({"tp": 2}, {**MEGATRON, **AGAIN}),
            ({"tp": 2}, {**MEGATRON, "layers.*.up": ["colwise", tp.Recompute()]})])
    check_dropout()
    check_memory()


if __name__ == "__main__":
    main()
