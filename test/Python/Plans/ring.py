"""Random attentions whose keys travel in a ring: on 2 to 4 ranks they compute what PyTorch computes,
and what they compute where keys are gathered.

    ring.py SEED...

A case per seed: sizes, types, heads that share keys, masks, lengths that the ranks do not divide.
"""
from __future__ import annotations

import random
import sys

import torch
from torch import nn
from torch.nn import functional as F

import tp

INFINITY = float("inf")


class Case(nn.Module):
    """An attention between linear layers, of sizes and with a mask that the seed says."""

    def __init__(self, seed: int) -> None:
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
        width, heads = 12, self.shared * self.group
        self.q = nn.Linear(width, heads * self.size)
        self.k = nn.Linear(width, self.shared * self.size)
        self.v = nn.Linear(width, self.shared * self.columns)
        self.o = nn.Linear(heads * self.columns, width)
        self.to(self.dtype)

    def __str__(self) -> str:
        return (f"{self.shared * self.group}/{self.shared} heads of {self.size}/{self.columns}, "
                f"{self.batch} x {self.length} positions on {self.ranks} ranks, {self.dtype}, mask "
                f"{self.mask} ({self.reach}){', balanced' if self.balanced else ''}"
                f"{', by hand' if self.by_hand else ''}{', a hidden text' if self.hidden else ''}")

    def inputs(self) -> dict[str, torch.Tensor]:
        made = {"x": torch.randn(self.batch, self.length, 12).to(self.dtype)}
        if self.mask.startswith("padding"):
            made["kept"] = torch.rand(self.batch, self.length) < 0.6
            # A chunk, or the whole text, may have no key.
            made["kept"][0, self.length // 3:] = False
            made["kept"][:, 0] = True
            made["kept"][0] &= not self.hidden
        return made

    def bias(self, kept: torch.Tensor | None) -> torch.Tensor | None:
        at = torch.arange(self.length)
        distance = at[None] - at[:, None]
        if self.mask == "none":
            return None
        if self.mask == "slopes":
            slopes = 0.5 ** torch.arange(1, self.shared * self.group + 1)
            return (distance * slopes[:, None, None]).to(self.dtype)
        lowest = torch.finfo(self.dtype).min if self.mask == "finite" else -INFINITY
        seen = distance <= 0
        if self.mask == "window":
            seen = seen & (distance > -self.reach)
        if self.mask == "ahead":
            seen = (distance < self.reach) & (distance > -self.reach)
        if kept is not None:
            seen = (seen if self.mask.endswith("causal") else True) & kept[:, None, None, :]
        return torch.where(seen, 0.0, lowest).to(self.dtype)

    def forward(self, x: torch.Tensor, kept: torch.Tensor | None = None) -> torch.Tensor:
        q = self.q(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
        k = self.k(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
        v = self.v(x).unflatten(-1, (-1, self.columns)).transpose(1, 2)
        bias = self.bias(kept)
        if self.by_hand:
            k, v = (part.repeat_interleave(self.group, 1) for part in (k, v))
            scores = q @ k.transpose(2, 3) / self.size ** 0.5
            weights = (scores if bias is None else scores + bias).float().softmax(-1)
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


def main() -> None:
    seeds = [int(seed) for seed in sys.argv[1:]]
    equal = 0
    for seed in seeds:
        try:
            equal += run(seed)
        except tp.CompileError as error:
            print(f"seed {seed}, {Case(seed)}: {error}")
    print(f"{equal} of {len(seeds)} equal")


if __name__ == "__main__":
    main()
