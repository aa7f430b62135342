"""Random attentions whose keys travel in a ring: on 2 to 4 ranks they compute what PyTorch computes,
and what they compute where keys are gathered.

    ring.py [--training] SEED...

A case per seed: sizes, types, heads that share keys, masks, lengths that the ranks do not divide.
From 1000 on what is added to scores is an input.
With --training gradients are compared, with those of PyTorch in f64: a step of SGD leaves parameters
less a multiple of them. They may be four times as far off as PyTorch's own.
"""
from __future__ import annotations

import copy
import random
import sys
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import tp

INFINITY = float("inf")


class Case(nn.Module):
    """An attention between linear layers, of sizes and with a mask that the seed says."""

    def __init__(self, seed: int, scale: int = 1) -> None:
        super().__init__()
        chosen = random.Random(seed)
        self.shared, self.group = chosen.choice((1, 2, 3)), chosen.choice((1, 2, 3))
        self.size, self.columns = chosen.choice((4, 8, 5)), chosen.choice((4, 8, 3))
        self.length, self.ranks = chosen.randint(5, 90), chosen.choice((2, 3, 4))
        self.mask = chosen.choice(("none", "causal", "window", "ahead", "finite", "padding", "slopes",
                                   "padding and causal"))
        self.dtype = chosen.choice((torch.float32, torch.float32, torch.bfloat16))
        self.balanced, self.by_hand = chosen.choice((False, True)), chosen.choice((False, True))
        self.reach, self.batch = chosen.randint(1, self.length), chosen.choice((1, 2))
        # A text of which no query sees a key: numbers of torch's function, NaN by hand.
        self.hidden = chosen.choice((False, True))
        if seed >= 1000:
            self.mask = "numbers"
        self.size, self.columns, self.width = (
            scale * each for each in (self.size, self.columns, 12))
        width, heads = self.width, self.shared * self.group
        self.q = nn.Linear(width, heads * self.size)
        self.k = nn.Linear(width, self.shared * self.size)
        self.v = nn.Linear(width, self.shared * self.columns)
        self.o = nn.Linear(heads * self.columns, width)
        self.to(self.dtype)
        self.least = torch.finfo(self.dtype).min

    def __str__(self) -> str:
        return (f"{self.shared * self.group}/{self.shared} heads of {self.size}/{self.columns}, "
                f"{self.batch} x {self.length} positions on {self.ranks} ranks, {self.dtype}, mask "
                f"{self.mask} ({self.reach}){', balanced' if self.balanced else ''}"
                f"{', by hand' if self.by_hand else ''}{', a hidden text' if self.hidden else ''}")

    def inputs(self) -> dict[str, torch.Tensor]:
        made = {"x": torch.randn(self.batch, self.length, self.width).to(self.dtype)}
        if self.mask.startswith("padding"):
            made["kept"] = torch.rand(self.batch, self.length) < 0.6
            # A chunk, or the whole text, may have no key.
            made["kept"][0, self.length // 3:] = False
            made["kept"][:, 0] = True
            made["kept"][0] &= not self.hidden
        if self.mask == "numbers":
            made["kept"] = torch.randn(self.length, self.length).to(self.dtype)
        return made

    def bias(self, kept: torch.Tensor | None) -> torch.Tensor | None:
        at = torch.arange(self.length)
        distance = at[None] - at[:, None]
        if self.mask == "none":
            return None
        if self.mask == "numbers":
            return kept
        if self.mask == "slopes":
            slopes = 0.5 ** torch.arange(1, self.shared * self.group + 1)
            return (distance * slopes[:, None, None]).to(self.dtype)
        lowest = self.least if self.mask == "finite" else -INFINITY
        seen = distance <= 0
        if self.mask == "window":
            seen = seen & (distance > -self.reach)
        if self.mask == "ahead":
            seen = (distance < self.reach) & (distance > -self.reach)
        if kept is not None:
            seen = (seen if self.mask.endswith("causal") else True) & kept[:, None, None, :]
        return torch.where(seen, 0.0, torch.tensor(lowest, dtype=self.dtype)).to(self.dtype)

    def forward(self, x: torch.Tensor, kept: torch.Tensor | None = None) -> torch.Tensor:
        q = self.q(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
        k = self.k(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
        v = self.v(x).unflatten(-1, (-1, self.columns)).transpose(1, 2)
        bias = self.bias(kept)
        if self.by_hand:
            k, v = (part.repeat_interleave(self.group, 1) for part in (k, v))
            scores = q @ k.transpose(2, 3) / self.size ** 0.5
            weights = (scores if bias is None else scores + bias).softmax(
                -1, dtype=torch.promote_types(scores.dtype, torch.float32))
            mixed = weights.to(self.dtype) @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, bias, enable_gqa=True)
        y: torch.Tensor = self.o(mixed.transpose(1, 2).flatten(2))
        return y


def run(seed: int) -> bool:
    torch.manual_seed(seed)
    case = Case(seed).eval()
    inputs = case.inputs()
    with torch.no_grad():
        right = case(**inputs).float()
    model = tp.export(case, (), inputs)
    found, sent = {}, {}
    for rotate in ("gather", "ring"):
        plan = {"": tp.ContextParallel(rotate=rotate, load_balance=case.balanced)}
        with tp.compile(model, plan=plan, mesh={"cp": case.ranks}) as program:
            found[rotate] = torch.as_tensor(program(**inputs)).float()
            sent[rotate] = {row.kind for row in program.collectives if row.payload_bytes > 8}
    close = {"rtol": 2e-2, "atol": 2e-2} if case.dtype == torch.bfloat16 else {
        "rtol": 1e-4, "atol": 1e-5}
    equal = [torch.allclose(found[rotate], right, equal_nan=True, **close) for rotate in found]
    travels = "permute" in sent["ring"] and "permute" not in sent["gather"]
    if not all(equal) or not travels:
        print(f"seed {seed}, {case}: gather {'equal' if equal[0] else 'DIFFERS'}, "
              f"ring {'equal' if equal[1] else 'DIFFERS'}, sends {sent}")
    return all(equal) and travels


# Beside it the rounding of the parameters that a step makes is nothing.
RATE = 64.0


def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """A sum whose gradient differs at every element."""
    return (output * target).sum() + (output ** 2).sum() / 4


def gradients(case: Case, batch: Any, dtype: torch.dtype) -> dict[str, Any]:
    """PyTorch's, in a type."""
    module = copy.deepcopy(case).to(dtype)
    module.dtype = dtype
    inputs, target = batch
    inputs = {name: each.to(dtype) if each.is_floating_point() else each
              for name, each in inputs.items()}
    # PyTorch's fused kernel loses the logarithm of a sum beside the least number.
    with sdpa_kernel(SDPBackend.MATH):
        loss(module(**inputs), target.to(dtype)).backward()  # type: ignore[no-untyped-call]
    return {name: each.grad.double().numpy() for name, each in module.named_parameters()
            if each.grad is not None}


def far(found: dict[str, Any], right: dict[str, Any]) -> float:
    """The largest difference beside the largest number, of what is no rounding error: a bias of
    keys moves no score."""
    return max(float(np.abs(found[name] - right[name]).max()) for name in right) / max(
        float(np.abs(each).max()) for each in right.values())


def train(seed: int) -> bool:
    torch.manual_seed(seed)
    # Of smaller ones an all_reduce takes no longer than a reduce_scatter: no gradient travels.
    case = Case(seed, scale=8)
    # NaN in one text is NaN in all gradients.
    case.hidden &= not case.by_hand
    inputs = case.inputs()
    with torch.no_grad():
        target = torch.randn_like(case(**inputs))
    batch = inputs, target
    right = gradients(case, batch, torch.float64)
    allowed = 4 * far(gradients(case, batch, case.dtype), right) + 1e-6
    model = tp.export_training(case, loss, lambda each: torch.optim.SGD(each, lr=RATE), batch,
                               master_weights=case.dtype == torch.bfloat16)
    distances, sent = {}, {}
    for rotate in ("gather", "ring"):
        plan = {"": tp.ContextParallel(rotate=rotate, load_balance=case.balanced)}
        with tp.compile(model, plan=plan, mesh={"cp": case.ranks}) as step:
            names = {name: f"opt_master:{name}" if f"opt_master:{name}" in step.state else name
                     for name in right}
            before = {name: np.asarray(step.state[key], np.float64) for name, key in names.items()}
            step(**inputs, target=target)
            found = {name: (before[name] - np.asarray(step.state[key], np.float64)) / RATE
                     for name, key in names.items()}
            distances[rotate] = far(found, right)
            sent[rotate] = {row.kind for row in step.collectives if row.payload_bytes > 8}
    good = all(distance <= allowed for distance in distances.values())
    travels = "permute" in sent["ring"] and "reduce_scatter" not in sent["ring"]
    if not good or not travels:
        print(f"seed {seed}, {case}: {distances}, allowed {allowed:.2g}, sends {sent}")
    return good and travels


def main() -> None:
    check = train if "--training" in sys.argv else run
    seeds = [int(seed) for seed in sys.argv[1:] if seed != "--training"]
    equal = 0
    for seed in seeds:
        try:
            equal += check(seed)
        except tp.CompileError as error:
            print(f"seed {seed}, {Case(seed)}: {error}")
    print(f"{equal} of {len(seeds)} equal")


if __name__ == "__main__":
    main()
