"""Context parallelism: the sequence is sharded through the whole model, and attention gathers keys
and values. On 2 to 4 ranks, and beside another axis, models compute what PyTorch computes without a
plan, forward and in a training step.

    context.py             all
    context.py NAME ...    these
"""
from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import tp

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# pylint: disable=wrong-import-position
import training  # noqa: E402

WIDTH, HEADS, SHARED, BATCH, TOKENS = 32, 4, 2, 2, 24
SIZE = WIDTH // HEADS
CONTEXT = {"": tp.ContextParallel()}
BALANCED = {"": tp.ContextParallel(load_balance=True)}
RING = {"": tp.ContextParallel(rotate="ring")}
BALANCED_RING = {"": tp.ContextParallel(rotate="ring", load_balance=True)}
Plan = dict[str, Any]


class Attention(nn.Module):
    """Two query heads for each head of keys; `window`: how many keys a query sees."""

    def __init__(self, causal: bool, window: int) -> None:
        super().__init__()
        self.causal, self.window = causal, window
        self.q = nn.Linear(WIDTH, WIDTH)
        self.k, self.v = (nn.Linear(WIDTH, SHARED * SIZE, bias=False) for _ in range(2))
        self.o = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
        q, k, v = (made.unflatten(-1, (-1, SIZE)).transpose(1, 2)
                   for made in (self.q(x), self.k(x), self.v(x)))
        at = torch.arange(x.shape[1])
        angle = at[:, None] / 100.0 ** (torch.arange(SIZE // 2) / SIZE)
        q, k = (torch.cat([part[..., ::2] * angle.cos() - part[..., 1::2] * angle.sin(),
                           part[..., ::2] * angle.sin() + part[..., 1::2] * angle.cos()], -1)
                for part in (q, k))
        seen = None if mask is None else mask[:, None, None, :]
        if self.window:
            seen = (at[None] <= at[:, None]) & (at[None] > at[:, None] - self.window)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=self.causal,
                                               enable_gqa=True)
        y: torch.Tensor = self.o(mixed.transpose(1, 2).flatten(2))
        return y


class Decoder(nn.Module):
    """A language model; of tokens that a mask hides nobody sees the keys."""

    def __init__(self, layers: int = 2, causal: bool = True, window: int = 0) -> None:
        super().__init__()
        self.tokens = nn.Embedding(50, WIDTH)
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2 * layers))
        self.attention = nn.ModuleList(Attention(causal, window) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(WIDTH, 2 * WIDTH) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(2 * WIDTH, WIDTH) for _ in range(layers))
        self.head = nn.Linear(WIDTH, 50, bias=False)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        h = self.tokens(x)
        for i, attention in enumerate(self.attention):
            h = h + attention(self.norms[2 * i](h), mask)
            h = h + self.down[i](F.gelu(self.up[i](self.norms[2 * i + 1](h))))
        y: torch.Tensor = self.head(h)
        return y


def tokens(count: int = TOKENS) -> dict[str, torch.Tensor]:
    return {"x": torch.randint(50, (BATCH, count))}


def padded(count: int = TOKENS) -> dict[str, torch.Tensor]:
    """Of the first text most chunks have no key that anybody sees."""
    mask = torch.ones(BATCH, count, dtype=torch.bool)
    mask[0, 5:], mask[1, :9] = False, False
    return {**tokens(count), "mask": mask}


# A model, its inputs, the plan, and what a rank sends of 32-bit numbers in a layer per position
# that it does not have: keys and values, before they are repeated.
KEYS_AND_VALUES = 2 * SHARED * SIZE
# Of a text of a training step.
POSITIONS = 16
MODELS: dict[str, tuple[Callable[..., nn.Module], Callable[[], dict[str, torch.Tensor]], Plan]] = {
    "causal": (Decoder, tokens, CONTEXT),
    "balanced": (Decoder, tokens, BALANCED),
    "uneven": (Decoder, lambda: tokens(13), CONTEXT),
    "uneven, balanced": (Decoder, lambda: tokens(13), BALANCED),
    "window": (lambda layers=2: Decoder(layers, causal=False, window=5), tokens, BALANCED),
    "padded": (lambda layers=2: Decoder(layers, causal=False), padded, CONTEXT),
    "ring": (Decoder, tokens, RING),
    "ring, all keys": (lambda layers=2: Decoder(layers, causal=False), tokens, RING),
    "ring, balanced": (Decoder, tokens, BALANCED_RING),
    "ring, uneven": (Decoder, lambda: tokens(13), RING),
    "ring, uneven, balanced": (Decoder, lambda: tokens(13), BALANCED_RING),
    "ring, window": (lambda layers=2: Decoder(layers, causal=False, window=5), tokens, RING),
    "ring, padded": (lambda layers=2: Decoder(layers, causal=False), padded, RING),
    "ring, padded, uneven": (lambda layers=2: Decoder(layers, causal=False),
                             lambda: padded(13), BALANCED_RING),
}
HEADS_PLAN = {"attention.*.[qkv]": "colwise", "attention.*.o": "rowwise", "up.*": "colwise",
              "down.*": "rowwise"}


def bytes_of(program: tp.Program) -> Counter[str]:
    sent: Counter[str] = Counter()
    for row in program.collectives:
        sent[row.kind] += row.count * row.payload_bytes
    return sent


def sends_least(program: tp.Program, ranks: int, tokens_of: int, rotates: bool) -> bool:
    """Whether keys and values are all that a layer sends: `tokens_of` positions in one gather, or a
    chunk of them, the last ones padded, to a neighbour in each of ranks - 1 rotations."""
    sent = bytes_of(program)
    # Of two layers, on each of the ranks of other axes a part.
    position = 2 * KEYS_AND_VALUES * BATCH * 4 // (program.size // ranks)
    gathered, rotated = position * tokens_of, position * -(-tokens_of // ranks) * (ranks - 1)
    least = {"all_gather": 0 if rotates else gathered, "permute": rotated if rotates else 0}
    return sent["all_to_all"] == 0 and (
        ranks == 1 or all(sent[kind] == number for kind, number in least.items()))


def check(name: str) -> int:
    """The number of runs that differ, or send other bytes than keys and values are."""
    make, inputs_of, plan = MODELS[name]
    torch.manual_seed(0)
    module, inputs = make().eval(), inputs_of()
    with torch.no_grad():
        right = module(**inputs).numpy()
    model = tp.export(module, (), inputs)
    failed = 0
    numbers = (1, 2, 3, 4) if name in ("causal", "balanced", "ring") else (3, 4)
    meshes: list[tuple[dict[str, int], Any]] = [({"cp": ranks}, plan) for ranks in numbers]
    if name in ("balanced", "padded", "ring, balanced", "ring, padded"):
        meshes += [({"cp": 2, "tp": 2}, {"cp": plan, "tp": HEADS_PLAN}),
                   ({"dp": 2, "cp": 2}, {"dp": {"": "data_parallel"}, "cp": plan})]
    for mesh, plans in meshes:
        with tp.compile(model, plan=plans, mesh=mesh) as program:
            is_equal = np.allclose(program(**inputs), right, rtol=1e-4, atol=1e-5)
            is_least = sends_least(program, mesh["cp"], right.shape[1], name.startswith("ring"))
            if not is_equal or not is_least:
                print(f"{name} on {mesh}: {'DIFFERS' if not is_equal else ''} "
                      f"sends {dict(bytes_of(program))}")
            failed += not is_equal or not is_least
    return failed


def check_training(name: str) -> int:
    """The number of runs in which a step differs from PyTorch's in f64 by more than PyTorch's own
    in f32 does, four times over. On one axis keys and values are all that a layer sends, and
    gradients of as many numbers; in a ring keys and values go around twice."""
    torch.manual_seed(0)
    name, rotates = name.removesuffix(" in a ring"), name.endswith(" in a ring")
    case = training.family(name, training.ADAMW)
    batch = case.batch()
    model = tp.export_training(case.module, case.loss, case.optimizer, batch)
    reference = training.Reference(case, [batch])
    failed = 0
    plain, balanced = (RING, BALANCED_RING) if rotates else (CONTEXT, BALANCED)
    for mesh, plan in (({"cp": 2}, plain), ({"cp": 3}, plain), ({"cp": 3}, balanced),
                       ({"cp": 4}, balanced),
                       ({"cp": 2, "tp": 2}, {"cp": plain, "tp": "transformer"}),
                       ({"dp": 2, "cp": 2}, {"dp": {"": "data_parallel"}, "cp": plain})):
        with tp.compile(model, plan=plan, mesh=mesh) as step:
            _, found = reference.train(step)
            print(f"train {name} on {mesh}: {'equal' if found <= 1 else 'DIFFERS'}, "
                  f"{training.kinds_of(step)}", flush=True)
            failed += found > 1
            if len(mesh) == 1 and not trains_least(step, case.module.config, rotates):
                print(f"sends {dict(bytes_of(step))}")
                failed += 1
    return failed


def trains_least(step: tp.Program, config: Any, rotates: bool) -> bool:
    """Whether keys, values and their gradients are all that layers send along positions."""
    sent = bytes_of(step)
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    numbers = 2 * config.num_hidden_layers * heads * (
        config.hidden_size // config.num_attention_heads) * 2 * 4  # of two texts, in f32
    gathered, chunk = numbers * POSITIONS, numbers * -(-POSITIONS // step.size)
    least = {"all_gather": 0 if rotates else gathered, "reduce_scatter": 0 if rotates else gathered,
             "permute": 3 * chunk * (step.size - 1) if rotates else 0, "all_to_all": 0}
    return all(sent[kind] == number for kind, number in least.items())


def main() -> None:
    trained = [f"train {name}{ring}" for name in ("llama", "gpt2", "bert")
               for ring in ("", " in a ring")]
    training.main_of_plans([*MODELS, *trained], check,
                           check_training)


if __name__ == "__main__":
    main()
