"""Attention over 8,192 tokens on 4 ranks: what it computes, its memory and its work, and the memory
of a training step.

    long_context.py FOLDER

FOLDER is where programs are dumped. A line per case.
"""
from __future__ import annotations

import functools
import glob
import os
import re
import sys

import torch
from torch import nn
from torch.nn import functional as F

import tp

RANKS, WIDTH, HEADS, SHARED = 4, 16, 2, 1
SIZE = WIDTH // HEADS


class Attention(nn.Module):
    """`transposed`: keys lie with their positions last, as a product of them is written."""

    def __init__(self, transposed: bool) -> None:
        super().__init__()
        self.transposed = transposed
        self.q = nn.Linear(WIDTH, WIDTH, bias=False)
        self.k, self.v = (nn.Linear(WIDTH, SHARED * SIZE, bias=False) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (made(x).unflatten(-1, (-1, SIZE)).transpose(1, 2)
                   for made in (self.q, self.k, self.v))
        if not self.transposed:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            at = torch.arange(x.shape[1])
            scores = q @ (k * SIZE ** -0.5).transpose(2, 3)
            scores = scores.masked_fill(at[None] > at[:, None], float("-inf"))
            mixed = scores.softmax(-1) @ v
        y: torch.Tensor = mixed.transpose(1, 2).flatten(2)
        return y


def attention(folder: str, tokens: int, transposed: bool, balanced: bool, rotate: str = "gather",
              ranks: int = RANKS) -> tuple[bool, int, int]:
    """Whether the result is PyTorch's, the arena's bytes and the operations of the rank that has
    most to do; of them -1 where attention is not one command."""
    torch.manual_seed(tokens)
    module, x = Attention(transposed), torch.randn(2, tokens, WIDTH)
    stages = os.path.join(folder, f"{tokens}-{transposed}-{balanced}-{rotate}-{ranks}")
    program = tp.compile(tp.export(module, (x,)), mesh={"cp": ranks}, dump_stages=stages,
                         plan={"": tp.ContextParallel(rotate=rotate, load_balance=balanced)})
    with torch.no_grad():
        equal = torch.allclose(torch.as_tensor(program(x)), module(x), rtol=1e-5, atol=1e-6)
    path, = glob.glob(os.path.join(stages, "*form-kernels.mlir"))
    with open(path, encoding="utf-8") as file:
        work = re.findall(r"tp\.attention .* flops (\d+)", file.read())
    return equal, program.memory["arena"], int(work[0]) if len(work) == 1 else -1


def trained(tokens: int, ranks: int, rotate: str = "ring") -> tuple[bool, int]:
    """Whether a training step makes PyTorch's parameters, and the arena's bytes."""
    torch.manual_seed(tokens)
    module, optimizer = Attention(False), functools.partial(torch.optim.SGD, lr=30.0)
    x, target = torch.randn(2, tokens, WIDTH), torch.randn(2, tokens, WIDTH)
    model = tp.export_training(module, F.mse_loss, optimizer, (x, target))
    step = tp.compile(model, mesh={"cp": ranks}, plan={"": tp.ContextParallel(rotate=rotate)})
    step(x, target)
    F.mse_loss(module(x), target).backward()
    optimizer(module.parameters()).step()
    equal = all(torch.allclose(torch.as_tensor(step.state[name]), value, rtol=1e-4, atol=1e-5)
                for name, value in module.state_dict().items())
    return equal, step.memory["arena"]


def main() -> None:
    folder, short, long = sys.argv[1], 2048, 8192
    cases = {"contiguous": (False, False), "contiguous, transposed keys": (True, False),
             "balanced": (False, True)}
    for name, case in cases.items():
        _, least, _ = attention(folder, short, *case)
        equal, most, work = attention(folder, long, *case)
        print(f"{name}: {'equal to PyTorch' if equal else 'different'}, {long} tokens take "
              f"{'at most' if most <= long // short * least else 'more than'} "
              f"{long // short} times the arena of {short}", end="")
        # Two products of every query, head and batch with the keys up to its own.
        whole = 2 * 2 * 2 * HEADS * SIZE * long * (long + 1) // 2
        print(f", {work * RANKS / whole:.2f} of a quarter's work" if case[1] else "")
    equal, _, work = attention(folder, 1001, False, False)
    print(f"uneven: {'equal to PyTorch' if equal else 'different'}, "
          f"attention is {'one command' if work > 0 else 'several'}")
    _, gathered, _ = attention(folder, long, False, True)
    for ranks, tokens in ((RANKS, long), (RANKS // 2, long // 2)):
        equal, bytes_of, _ = attention(folder, tokens, False, True, "ring", ranks)
        print(f"ring: {'equal to PyTorch' if equal else 'different'}, {tokens} tokens on {ranks} "
              f"ranks take {bytes_of} bytes, {long} that are gathered {gathered}")
    _, gathered = trained(long, RANKS, "gather")
    equal, least = trained(long, RANKS)
    print(f"training: {'equal to PyTorch' if equal else 'different'}, {long} tokens on {RANKS} "
          f"ranks take {least} bytes, if gathered {gathered}")
    # A chunk more: a span of keys for each query.
    tokens, ranks = long // RANKS * (RANKS + 1), RANKS + 1
    equal, most = trained(tokens, ranks)
    print(f"training: {'equal to PyTorch' if equal else 'different'}, {tokens} tokens on {ranks} "
          f"ranks take {most - least} more")


if __name__ == "__main__":
    main()
