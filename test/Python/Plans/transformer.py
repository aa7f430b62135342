"""`plan="transformer"`: Megatron's layouts, found in the program. Models of several families and
modules whose names say nothing compute what PyTorch computes on 1 to 4 ranks and on a mesh of two
axes, and their two layers communicate what Megatron's do.

    transformer.py             all
    transformer.py NAME ...    these
"""
from __future__ import annotations

import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import transformers
from torch import nn
from torch.nn import functional as F

import tp

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# pylint: disable=wrong-import-position
import training  # noqa: E402
from family_models import EXPERTS, GPT_SIZES, GROUPED, T5_SIZES, TEXT  # noqa: E402

# A plan, and the meshes of forward passes.
PLANS: dict[str, tuple[dict[str, int], ...]] = {
    "transformer": ({"tp": 1}, {"tp": 4}, {"dp": 2, "tp": 2}),
    "transformer{sequence_parallel, loss_parallel}": ({"tp": 2}, {"tp": 4}, {"dp": 2, "tp": 2})}
WIDTH, HEADS = 64, 4


class Mixing(nn.Module):
    """Attention whose queries, keys and values are one projection."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(WIDTH, 3 * WIDTH)
        self.b = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2)
                   for part in self.a(x).chunk(3, dim=-1))
        y: torch.Tensor = self.b(
            F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return y


class Block(nn.Module):
    """A block with names that say nothing, and a gate beside what it gates in one projection."""

    def __init__(self) -> None:
        super().__init__()
        self.c, self.d = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.e = Mixing()
        self.f = nn.Linear(WIDTH, 4 * WIDTH)
        self.g = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.e(self.c(x))
        gate, up = self.f(self.d(x)).chunk(2, dim=-1)
        y: torch.Tensor = self.g(F.silu(gate) * up) + x
        return y


class Stage(nn.Module):
    """A stage of a pipeline: neither embedding nor head."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.h = nn.ModuleList(Block() for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.h:
            x = block(x)
        return x


class Experts(nn.Module):
    """Experts of two parameters in sums of three factors: the weights of the router come last, or
    before those of the second layer."""

    def __init__(self, equation: str) -> None:
        super().__init__()
        self.m = nn.Linear(WIDTH, 4, bias=False)
        self.n = nn.Parameter(torch.randn(4, WIDTH, 2 * WIDTH) / 8)
        self.o = nn.Parameter(torch.randn(4, 2 * WIDTH, WIDTH) / 16)
        self.equation = equation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chosen = self.m(x).softmax(-1)
        h = F.silu(torch.einsum("btd,edi->btei", x, self.n))
        factors = [h, chosen, self.o] if "bte,eio" in self.equation else [h, self.o, chosen]
        return torch.einsum(self.equation, *factors)


class ExpertStage(nn.Module):
    """Blocks of attention and experts."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.h = nn.ModuleList(Mixing() for _ in range(layers))
        self.p = nn.ModuleList(Experts(("btei,eio,bte->bto", "btei,bte,eio->bto")[layer % 2])
                               for layer in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for mixing, experts in zip(self.h, self.p):
            x = x + mixing(x)
            x = x + experts(x)
        return x


class LastStage(Stage):
    """A stage with a head and no embedding."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers)
        self.i, self.j = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 256, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.j(self.i(super().forward(x)))
        return y


class Tied(Stage):
    """Tokens and logits over one table, whose size no mesh divides."""

    def __init__(self, layers: int) -> None:
        super().__init__(layers)
        self.k, self.l = nn.Embedding(251, WIDTH), nn.Embedding(16, WIDTH)
        self.i = nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.k(x) + self.l(torch.arange(x.shape[1]))
        return F.linear(self.i(super().forward(h)), self.k.weight)


def family(kind: str, sizes: dict[str, Any], *depths: str) -> Callable[[int], nn.Module]:
    """Makes a model of transformers with as many layers; `depths` are the sizes that say so."""
    def make(layers: int) -> nn.Module:
        of = getattr(transformers, kind)
        config = of.config_class(**{**sizes, **dict.fromkeys(depths, layers)})
        config.use_cache = False
        model: nn.Module = of(config).eval()
        return model
    return make


def tokens() -> dict[str, torch.Tensor]:
    return {"input_ids": torch.randint(3, 250, (2, 16))}


def pair() -> dict[str, torch.Tensor]:
    return {**tokens(), "decoder_input_ids": torch.randint(3, 250, (2, 8))}


LAYERS = "num_hidden_layers"
MODELS: dict[str, tuple[Callable[[int], nn.Module], Callable[[], dict[str, torch.Tensor]]]] = {
    "llama": (family("LlamaForCausalLM", GROUPED, LAYERS), tokens),
    "gpt2": (family("GPT2LMHeadModel", GPT_SIZES, LAYERS, "n_layer"), tokens),
    "bert": (family("BertForMaskedLM", TEXT, LAYERS), tokens),
    "t5": (family("T5ForConditionalGeneration", T5_SIZES, "num_layers", "num_decoder_layers"),
           pair),
    "gpt-neox": (family("GPTNeoXForCausalLM", TEXT, LAYERS), tokens),
    "phi3": (family("Phi3ForCausalLM", TEXT, LAYERS), tokens),
    "falcon": (family("FalconForCausalLM", {**TEXT, "new_decoder_architecture": True,
                                            "num_kv_heads": 4, "num_attention_heads": 8}, LAYERS),
               tokens),
    "mixtral": (family("MixtralForCausalLM", EXPERTS, LAYERS), tokens),
    "stage": (Stage, lambda: {"x": torch.randn(2, 16, WIDTH)}),
    "experts": (ExpertStage, lambda: {"x": torch.randn(2, 16, WIDTH)}),
    "last stage": (LastStage, lambda: {"x": torch.randn(2, 16, WIDTH)}),
    "tied": (Tied, lambda: {"x": torch.randint(251, (2, 16))}),
}


def counted(program: tp.Program) -> Counter[str]:
    """Collectives of a call by kind; those of at most 64 bytes are left out."""
    counts: Counter[str] = Counter()
    for row in program.collectives:
        counts[row.kind] += row.count * (row.payload_bytes > 64)
    return counts


def shown(counts: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()) if count) or "none"


def results_of(module: nn.Module, inputs: dict[str, Any]) -> list[np.ndarray]:
    """The tensors that PyTorch returns, in their order."""
    with torch.no_grad():
        output = module(**inputs)
    values = [output] if isinstance(output, torch.Tensor) else output.values()
    return [value.numpy() for value in values if isinstance(value, torch.Tensor)]


def check(name: str) -> int:
    """The number of runs that differ. Prints what two layers communicate on 4 ranks."""
    make, inputs_of = MODELS[name]
    torch.manual_seed(0)
    module, inputs = make(2), inputs_of()
    right = results_of(module, inputs)
    model = tp.export(module, (), inputs)
    failed = 0
    for plan, meshes in PLANS.items():
        for mesh in meshes:
            with tp.compile(model, plan=plan, mesh=mesh) as program:
                got = program(**inputs)
                got = got if isinstance(got, tuple) else (got,)
                is_equal = len(right) == len(got) and all(
                    np.allclose(one, other, rtol=1e-3, atol=1e-4)
                    for one, other in zip(got, right))
                if not is_equal:
                    print(f"{name}: {plan} on {mesh} DIFFERS")
                failed += not is_equal
                if mesh == {"tp": 4}:
                    print(f"{name}: {plan}: {shown(counted(program))}", flush=True)
    return failed


def check_training(name: str) -> int:
    """The number of runs in which a step differs from PyTorch's in f64 by more than PyTorch's own
    in f32 does, four times over."""
    torch.manual_seed(0)
    case = training.family(name, training.ADAMW)
    batches = [case.batch()]
    model = tp.export_training(case.module, case.loss, case.optimizer, batches[0])
    reference = training.Reference(case, batches)
    failed = 0
    for plan, meshes in PLANS.items():
        for mesh in meshes[-2:]:
            with tp.compile(model, plan=plan, mesh=mesh) as step:
                _, found = reference.train(step)
                if found > 1:
                    print(f"{name}: {plan} on {mesh}: a step DIFFERS")
                failed += found > 1
                if mesh == {"tp": 4}:
                    print(f"{name}: {plan}: a step: {shown(counted(step))}", flush=True)
    return failed


def main() -> None:
    warnings.simplefilter("ignore", tp.PlanWarning)
    training.main_of_plans([*MODELS, "train llama", "train gpt2"], check, check_training)


if __name__ == "__main__":
    main()
