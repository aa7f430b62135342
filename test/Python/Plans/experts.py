"""Expert parallelism: ranks share experts. Blocks of transformers under their own plans, and blocks
that bring tokens to experts within a capacity, compute on 1 to 4 ranks what PyTorch computes
without a plan, forward and in a training step, also where experts have many tokens or none.

    experts.py             all
    experts.py NAME ...    these
"""
from __future__ import annotations

import copy
import functools
import importlib
import os
import sys
import tempfile
from collections import Counter
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn
from torch.nn import functional as F

import tp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../bench"))
import artifact

WIDTH, INNER, EXPERTS, CHOICES, CAPACITY, GROUPS, TOKENS = 16, 12, 5, 2, 5, 4, 12
RANKS = (1, 2, 3, 4)
Mesh = dict[str, int]


class Stacked(nn.Module):
    """Experts of tokens by expert: [experts, groups, places, width]."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Parameter(torch.randn(EXPERTS, INNER, WIDTH) / 4)
        self.down = nn.Parameter(torch.randn(EXPERTS, WIDTH, INNER) / 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = F.gelu(torch.einsum("egcw,eiw->egci", x, self.up))
        return torch.einsum("egci,ewi->egcw", inner, self.down)


class Routed(nn.Module):
    """Every group has CAPACITY places at each expert; what a token chose beyond is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = Stacked()

    def choices(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Weights and experts, both [groups, choices * tokens], all first choices first, and the
        place of each at its expert."""
        weights, choice = self.gate(x).softmax(-1).topk(CHOICES, dim=-1)
        weights, choice = (part.transpose(1, 2).flatten(1) for part in (weights, choice))
        chosen = F.one_hot(choice, EXPERTS)
        place = ((chosen.cumsum(1) - chosen) * chosen).sum(-1)
        return weights, choice, place, chosen


class OneHot(Routed):
    """Tokens go to their places, and back, by products with ones and zeros."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, _, place, chosen = self.choices(x)
        place = F.one_hot(place.clamp(max=CAPACITY), CAPACITY + 1)[..., :CAPACITY].to(x.dtype)
        at = torch.einsum("gse,gsc->gsec", chosen.to(x.dtype), place)
        at = at.unflatten(1, (CHOICES, -1))
        combine = torch.einsum("gkt,gktec->gtec", weights.unflatten(1, (CHOICES, -1)), at)
        made = self.experts(torch.einsum("gtec,gtw->egcw", at.sum(1), x))
        return torch.einsum("gtec,egcw->gtw", combine, made)


class Sorted(Routed):
    """Tokens are sorted by their experts, and looked up where a place is taken."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, choice, place, chosen = self.choices(x)
        order = torch.argsort(choice, dim=1, stable=True)
        count = chosen.sum(1)
        places = torch.arange(CAPACITY)
        slot = (count.cumsum(1) - count).unsqueeze(-1) + places
        slot = slot.clamp(max=choice.shape[1] - 1).flatten(1)
        token = torch.gather(order, 1, slot) % x.shape[1]
        rows = torch.gather(x, 1, token.unsqueeze(-1).expand(-1, -1, WIDTH))
        rows = rows.unflatten(1, (EXPERTS, CAPACITY)) * (places < count.unsqueeze(-1)).unsqueeze(-1)
        made = self.experts(rows.transpose(0, 1)).transpose(0, 1).flatten(1, 2)
        at = choice * CAPACITY + place.clamp(max=CAPACITY - 1)
        back = torch.gather(made, 1, at.unsqueeze(-1).expand(-1, -1, WIDTH))
        back = back * (weights * (place < CAPACITY)).unsqueeze(-1)
        return back.unflatten(1, (CHOICES, -1)).sum(1)


class Block(nn.Module):
    """A module under the name that plans of transformers give it."""

    def __init__(self, mlp: nn.Module) -> None:
        super().__init__()
        self.mlp = mlp

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.mlp(x)
        return x + (y[0] if isinstance(y, tuple) else y)


def of_transformers(family: str, block: str, config: str, **sizes: Any) -> tuple[nn.Module, Any]:
    """A block with the plans of its model: for experts on `ep`, and beside it on `tp`."""
    made = getattr(transformers, config)(
        hidden_size=WIDTH, moe_intermediate_size=INNER, num_experts_per_tok=CHOICES,
        num_local_experts=EXPERTS, num_experts=EXPERTS, n_routed_experts=EXPERTS,
        **{"intermediate_size": INNER, **sizes})
    made._experts_implementation = "grouped_mm"
    module = importlib.import_module(f"transformers.models.{family}.modeling_{family}")
    mlp = getattr(module, block)(made)

    def plan(of_model: dict[str, str]) -> dict[str, str]:
        inside = {key.removeprefix("layers.*."): style for key, style in of_model.items()}
        names = {name for name, _ in (*Block(mlp).named_modules(), *Block(mlp).named_parameters())}
        return {key: style for key, style in inside.items() if key in names}

    return mlp, {"ep": plan(made.base_model_ep_plan), "tp": plan(made.base_model_tp_plan or {})}


BY_EXPERT = {"ep": {"mlp.experts": tp.ExpertParallel(input_layouts=tp.Shard(0),
                                                     output_layouts=tp.Shard(0)),
                    "argument x": tp.Shard(0)}}
BY_BATCH = {"ep": {"mlp.experts": tp.ExpertParallel(output_layouts=tp.Shard(0)),
                   "argument x": tp.Shard(0)}}
torch.manual_seed(0)
CASES: dict[str, tuple[nn.Module, Any]] = {
    "mixtral": of_transformers("mixtral", "MixtralSparseMoeBlock", "MixtralConfig"),
    "qwen3": of_transformers("qwen3_moe", "Qwen3MoeSparseMoeBlock", "Qwen3MoeConfig"),
    "deepseek": of_transformers("deepseek_v3", "DeepseekV3MoE", "DeepseekV3Config", n_group=1,
                                topk_group=1, n_shared_experts=1),
    "gpt-oss": of_transformers("gpt_oss", "GptOssMLP", "GptOssConfig"),
    "mixtral by batch": (
        of_transformers("mixtral", "MixtralSparseMoeBlock", "MixtralConfig")[0], BY_BATCH),
    "one-hot": (OneHot(), BY_EXPERT),
    "sorted": (Sorted(), BY_EXPERT),
}


def router_of(mlp: nn.Module) -> Any:
    """The module whose weight has a row for each expert."""
    return mlp.gate if hasattr(mlp, "gate") else mlp.router


def one_for_all(module: nn.Module, x: torch.Tensor) -> None:
    """Makes every token choose the first expert, and none the last."""
    x[..., 0] = 1
    weight = router_of(module.mlp).weight
    with torch.no_grad():
        weight.copy_(torch.randn_like(weight) / 4)
        weight[0, 0], weight[-1, 0] = 4, -4


def distance(got: Any, right: Any) -> float:
    """The largest difference of two arrays."""
    return float(np.abs(np.asarray(got) - np.asarray(right)).max())


def sent(program: tp.Program) -> str:
    """The collectives of more than 64 bytes by kind, with their payload bytes."""
    rows = [row for row in program.collectives if row.payload_bytes > 64]
    kinds = Counter(row.kind for row in rows)
    total = {kind: sum(row.payload_bytes for row in rows if row.kind == kind) for kind in kinds}
    return ", ".join(f"{kind} {kinds[kind]} ({total[kind]} bytes)" for kind in sorted(kinds))


def leaving_out(program: tp.Program) -> str:
    """How many products with each of several experts' weights leave out what is not chosen."""
    with tempfile.TemporaryDirectory() as folder:
        program.save(os.path.join(folder, "program.tp"))
        commands = artifact.entry(os.path.join(folder, "program.tp"))["program"]
    products = [command for command in commands
                if command["command"] == "gemm" and len(command.get("batch", [])) == 1]
    some = sum("rows" in command or "terms" in command for command in products)
    return f"{some} of {len(products)} products of chosen tokens"


def check(name: str) -> int:
    """Prints a row; the number of runs that differ."""
    mlp, plans = CASES[name]
    module = Block(mlp)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    x, target = torch.randn(2, GROUPS, TOKENS, WIDTH)
    one_for_all(module, x)
    forward = tp.export(module, (x,))
    make = functools.partial(torch.optim.SGD, lr=0.5)
    training = tp.export_training(module, F.mse_loss, make, (x, target))
    right = module(x).detach()
    trained = copy.deepcopy(module)
    loss = F.mse_loss(trained(x), target)
    loss.backward()
    # Any step but that of a router that no gradient reaches would be the same.
    assert router_of(trained.mlp).weight.grad.abs().max() > 1e-6
    make(trained.parameters()).step()
    state = {key: value.detach() for key, value in trained.named_parameters()}
    wrong = []
    meshes: list[Mesh] = [{"ep": ranks} for ranks in RANKS]
    if plans.get("tp"):
        meshes.append({"ep": 2, "tp": 2})
    for mesh in meshes:
        plan = {axis: plans[axis] for axis in mesh}
        with tp.compile(forward, plan=plan, mesh=mesh) as program:
            if distance(program(x.numpy()), right) > 1e-4:
                wrong.append(f"forward on {mesh}")
            if mesh == {"ep": RANKS[-1]}:
                row = f"forward {sent(program)}"
        if "argument x" in plan["ep"]:
            plan["ep"] = {**plan["ep"], "argument target": tp.Shard(0)}
        with tp.compile(training, plan=plan, mesh=mesh) as step:
            far = distance(step(x.numpy(), target.numpy()), loss.item())
            far = max(far, *(distance(step.state[key], state[key]) for key in state))
            if far > 1e-4:
                wrong.append(f"training on {mesh}")
            if mesh == {"ep": RANKS[-1]}:
                row += f"; training {sent(step)}, {leaving_out(step)}"
    print(f"{name}: {'; '.join(wrong) or 'equal'}; {row}", flush=True)
    return len(wrong)


names = sys.argv[1:] or list(CASES)
print(f"{len(names)} blocks: {sum(map(check, names))} runs differ")
