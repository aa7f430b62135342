"""Styles beyond colwise and rowwise on small modules: what tp computes on 1 to 4 ranks, forward and
in a training step, is what PyTorch computes without a plan.

    styles.py             every module
    styles.py NAME ...    these
"""
from __future__ import annotations

import copy
import functools
import sys
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import tp
from tp import styles
from tp.export.own_plan import own_plan_of

WIDTH, HEADS, TOKENS = 16, 4, 6
FORWARD, TRAINING = (1, 4), (2, 3)  # ranks; a training step has a forward pass too


def heads_of(x: torch.Tensor) -> torch.Tensor:
    """[batch, tokens, width] as [batch, heads, tokens, width of a head]."""
    return x.unflatten(-1, (HEADS, -1)).transpose(1, 2)


class GateUp(nn.Module):
    """A gate and what it gates from one projection with a bias, of sizes that no mesh divides."""

    def __init__(self) -> None:
        super().__init__()
        self.gate_up = nn.Linear(WIDTH, 2 * 10)
        self.down = nn.Linear(10, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        y: torch.Tensor = self.down(F.silu(gate) * up)
        return y


class FusedAttention(nn.Module):
    """Queries, keys and values from one projection with a bias."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.o = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = map(heads_of, self.qkv(x).chunk(3, dim=-1))
        y: torch.Tensor = self.o(
            F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return y


class TorchAttention(nn.Module):
    """torch's own module, whose projections are in_proj_weight and in_proj_bias."""

    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        nn.init.normal_(self.attn.in_proj_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.attn(x, x, x, need_weights=False)[0]
        return y


class CrossAttention(nn.Module):
    """torch's own module, of queries and of keys that are another value."""

    def __init__(self) -> None:
        super().__init__()
        self.attn = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        nn.init.normal_(self.attn.in_proj_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        keys = x.flip(1)
        y: torch.Tensor = self.attn(x, keys, keys, need_weights=False)[0]
        return y


class Experts(nn.Module):
    """Experts whose weights are one parameter, as transformers has them, or transposed."""

    def __init__(self, is_transposed: bool, count: int) -> None:
        super().__init__()
        self.is_transposed = is_transposed
        shapes = [(count, 2 * 10, WIDTH), (count, WIDTH, 10)]
        if is_transposed:
            shapes = [(count, columns, rows) for _, rows, columns in shapes]
        self.gate_up_proj = nn.Parameter(torch.randn(shapes[0]) / 4)
        self.down_proj = nn.Parameter(torch.randn(shapes[1]) / 4)

    def forward(self, x: torch.Tensor, routing: torch.Tensor) -> torch.Tensor:
        one, other = ("ehi", "eih") if self.is_transposed else ("eih", "ehi")
        gate, up = torch.einsum(f"bth,{one}->btei", x, self.gate_up_proj).chunk(2, dim=-1)
        made = torch.einsum(f"btei,{other}->bteh", F.silu(gate) * up, self.down_proj)
        return (made * routing.unsqueeze(-1)).sum(2)


class Mixture(nn.Module):
    def __init__(self, is_transposed: bool = False, count: int = 3) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, count, bias=False)
        self.experts = Experts(is_transposed, count)
        self.shared = nn.Sequential(nn.Linear(WIDTH, 10), nn.GELU(), nn.Linear(10, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.experts(x, self.gate(x).softmax(-1)) + self.shared(x)
        return y


class Latent(nn.Module):
    """Keys and values from a latent vector, beside which a part of the keys is for all heads; a
    sink per head."""

    def __init__(self) -> None:
        super().__init__()
        self.q = nn.Linear(WIDTH, HEADS * 6)
        self.kv_a_proj_with_mqa = nn.Linear(WIDTH, 8 + 2)
        self.norm = nn.LayerNorm(8)
        self.kv_b = nn.Linear(8, HEADS * 8)
        self.sinks = nn.Parameter(torch.randn(HEADS))
        self.o = nn.Linear(HEADS * 4, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        latent, shared = self.kv_a_proj_with_mqa(x).split([8, 2], dim=-1)
        k, v = heads_of(self.kv_b(self.norm(latent))).chunk(2, dim=-1)
        k = torch.cat([k, shared.unsqueeze(1).expand(-1, HEADS, -1, -1)], dim=-1)
        scores = heads_of(self.q(x)) @ k.transpose(-1, -2)
        sinks = self.sinks.view(1, HEADS, 1, 1).expand(*scores.shape[:-1], 1)
        weights = torch.cat([scores, sinks], dim=-1).softmax(-1)[..., :-1]
        y: torch.Tensor = self.o((weights @ v).transpose(1, 2).flatten(2))
        return y


class Block(nn.Module):
    """A module under the name that plans give it."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = x + self.inner(x)
        return y


class Tables(nn.Module):
    """Two tables of what is largest in each row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(WIDTH, WIDTH)
        self.columns = nn.Embedding(WIDTH, WIDTH)
        self.o = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ids = x.argmax(-1)
        y: torch.Tensor = self.rows(ids) + self.o(self.columns(ids))
        return y


class Passing(Mixture):
    """Experts, one of which hands on what it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.zero = nn.Identity()
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.norm(x)
        y: torch.Tensor = super().forward(x) + self.zero(x)
        return y


def layers() -> nn.Module:
    """Four linear layers."""
    return nn.Sequential(nn.Linear(WIDTH, 10), nn.ReLU(), nn.Linear(10, WIDTH), nn.ReLU(),
                         nn.Linear(WIDTH, 12), nn.ReLU(), nn.Linear(12, WIDTH))


SHARED = {"inner.shared.0": "colwise", "inner.shared.2": "rowwise", "inner.shared": "all_reduce"}
CASES: dict[str, tuple[nn.Module, Any]] = {}


def add(name: str, module: nn.Module, plan: Any) -> None:
    """A case: what is right, and a plan. A plan names what is in `module` with `inner.` in front;
    the model is x + module(x)."""
    CASES[name] = (Block(module), plan)


torch.manual_seed(0)
add("packed", GateUp(), {"inner.gate_up": "packed_colwise", "inner.down": "packed_rowwise"})
add("fused", FusedAttention(), {"inner.qkv": "packed_colwise", "inner.o": "rowwise"})
add("attention", TorchAttention(), {"inner.attn": "packed_colwise",
                                    "inner.attn.out_proj": "rowwise"})
add("attention by parameters", TorchAttention(),
    {"inner.attn.in_proj_*": "packed_colwise", "inner.attn.out_proj": "rowwise"})
add("cross attention", CrossAttention(),
    {"inner.attn.in_proj_*": "packed_colwise", "inner.attn.out_proj": "rowwise"})
add("experts", Mixture(), {"inner.experts.gate_up_proj": "packed_colwise",
                           "inner.experts.down_proj": "rowwise",
                           "inner.experts": "moe_tp_experts", **SHARED})
add("experts transposed", Mixture(True), {"inner.experts.gate_up_proj": "packed_rowwise",
                                          "inner.experts.down_proj": "colwise",
                                          "inner.experts": "moe_tp_experts", **SHARED})
add("experts of a rank", Mixture(count=5), {
    "inner.experts.gate_up_proj": "grouped_gemm", "inner.experts.down_proj": "grouped_gemm",
    "inner.experts": "ep_dispatch_experts", "inner.gate": "ep_router", **SHARED,
    "inner.shared": "gather"})
add("latent", Latent(), {"inner.q": "colwise", "inner.kv_a_proj_with_mqa": "mla_kv_a_proj",
                         "inner.norm": "replicated_with_grad_allreduce", "inner.kv_b": "colwise",
                         "inner.sinks": "colwise", "inner": "local_params", "inner.o": "rowwise"})
add("gathered", layers(), {"inner.0": "colwise_rep", "inner.2": "rowwise_rep",
                           "inner.4": "colwise_gather_output", "inner.6": "rowwise_split_input"})
add("tables", Tables(), {"inner.rows": "embedding_rowwise", "inner.columns": "embedding_colwise",
                         "inner.o": "rowwise"})
add("norm", nn.Sequential(nn.LayerNorm(WIDTH), *layers()),
    {"inner.0": "sequence_parallel", "inner.1": "colwise", "inner.3": "rowwise",
     "inner.[57]": "replicate"})
add("passing expert", Passing(), {
    "inner.experts.gate_up_proj": "packed_colwise", "inner.experts.down_proj": "rowwise",
    "inner.experts": "moe_tp_experts", "inner.zero": "moe_identity_expert",
    "inner.norm": "replicate", **SHARED})
add("pairwise", layers(), {"inner": tp.PairwiseParallel()})
add("pairwise sequence", layers(), {"inner": tp.PairwiseSequenceParallel()})
add("prepared", layers(), {
    "inner.0": tp.ColwiseParallel(
        _prepare_input=styles.make_input_reshard_replicate,
        _prepare_output=styles.make_sharded_output_tensor),
    "inner.2": tp.RowwiseParallel(
        _prepare_output=functools.partial(styles.make_output_shard_1d, dim=1)),
    "inner.[46]": "replicate"})
add("prepared by shards", layers(), {
    "inner.0": tp.ColwiseParallel(
        _prepare_input=functools.partial(styles.make_input_shard_1d, dim=1),
        _prepare_output=styles.make_output_replicate_1d),
    "inner.2": tp.RowwiseParallel(_prepare_input=styles.make_input_replicate_1d,
                                  _prepare_output=styles.make_output_reshard_tensor),
    "inner.4": tp.ColwiseParallel(_prepare_input=styles.make_input_reshard_replicate),
    "inner.6": tp.RowwiseParallel(_prepare_input=styles.make_input_shard_1d_last_dim,
                                  _prepare_output=styles.make_output_tensor)})


class PreTrainedModel(Mixture):
    """A transformers model, by its class, with a plan for more than it has."""
    _tp_plan = {"experts.gate_up_proj": "packed_colwise", "experts": "moe_tp_experts",
                "shared.*": "colwise", "layers.*.q": "colwise", "head": "colwise_rep"}


PreTrainedModel.__module__ = "transformers.modeling"
assert own_plan_of(Block(PreTrainedModel())) == {
    "inner.experts.gate_up_proj": "packed_colwise", "inner.experts": "moe_tp_experts",
    "inner.shared.*": "colwise"}


def distance(got: Any, right: Any) -> float:
    """The largest difference of two arrays."""
    return float(np.abs(np.asarray(got) - np.asarray(right)).max())


def check(name: str) -> int:
    """Prints a row of the forward pass and one of a training step; the number that differ."""
    module, plan = CASES[name]
    x = torch.randn(3, TOKENS, WIDTH)
    right = module(x).detach().numpy()
    target = torch.randn(right.shape)
    forward = tp.export(module, (x,))
    make = functools.partial(torch.optim.SGD, lr=0.5)
    training = tp.export_training(module, F.mse_loss, make, (x, target))
    trained = copy.deepcopy(module)
    optimizer = make(trained.parameters())
    loss = F.mse_loss(trained(x), target)
    loss.backward()
    optimizer.step()
    state = {key: value.detach().numpy() for key, value in trained.named_parameters()}
    wrong, sent = [], []
    for ranks in FORWARD:
        with tp.compile(forward, plan=plan, mesh={"tp": ranks}) as program:
            if distance(program(x.numpy()), right) > 1e-4:
                wrong.append(f"forward on {ranks}")
            kinds = [row.kind for row in program.collectives if row.payload_bytes > 64]
            sent.append(", ".join(f"{kind} {kinds.count(kind)}" for kind in sorted(set(kinds))))
    for ranks in TRAINING:
        with tp.compile(training, plan=plan, mesh={"tp": ranks}) as step:
            far = distance(step(x.numpy(), target.numpy()), loss.item())
            far = max(far, *(distance(step.state[key], state[key]) for key in state))
            if far > 1e-4:
                wrong.append(f"training on {ranks}")
    print(f"{name}: {'; '.join(wrong) or 'equal'}; forward on {FORWARD[-1]} ranks: "
          f"{sent[-1] or 'none'}", flush=True)
    return len(wrong)


if __name__ == "__main__":
    names = sys.argv[1:] or list(CASES)
    print(f"{len(names)} modules: {sum(map(check, names))} runs differ")
