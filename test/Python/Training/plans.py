"""Plans of torchtitan's kind on training steps: styles of modules bind what the modules are called
with and return in the forward pass.

A decoder with grouped heads, rotary embeddings that the layers share, and tied embeddings is
trained for three steps under torchtitan's plan for Llama, on tp=2 and on dp=2 x tp=2. What is right
is what PyTorch computes in f64; tp may be four times as far from it as PyTorch is in f32.
"""
from __future__ import annotations

import os
import sys
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

import tp
from tp import (ColwiseParallel, PrepareModuleInput, PrepareModuleInputOutput, PrepareModuleOutput,
                Replicate, RowwiseParallel, SequenceParallel, Shard)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from training import (  # pylint: disable=wrong-import-position
    STEPS, Case, Reference, language_loss)

LAYERS, VOCABULARY, DIM, HEADS, KV_HEADS, LENGTH = 3, 64, 32, 4, 2, 16
HEAD = DIM // HEADS


def rotated(x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    """[batch, length, heads, HEAD], halves rotated by [length, HEAD / 2]."""
    cos, sin = angles.cos()[None, :, None], angles.sin()[None, :, None]
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class Attention(nn.Module):
    """Causal attention with grouped heads."""

    def __init__(self) -> None:
        super().__init__()
        self.wq = nn.Linear(DIM, HEADS * HEAD, bias=False)
        self.wk = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.wv = nn.Linear(DIM, KV_HEADS * HEAD, bias=False)
        self.wo = nn.Linear(HEADS * HEAD, DIM, bias=False)

    def forward(self, x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        """[batch, length, DIM] to the same."""
        batch, length, _ = x.shape
        q = rotated(self.wq(x).view(batch, length, HEADS, HEAD), angles)
        k = rotated(self.wk(x).view(batch, length, KV_HEADS, HEAD), angles)
        v = self.wv(x).view(batch, length, KV_HEADS, HEAD)
        mixed = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2),
                                               v.transpose(1, 2), is_causal=True, enable_gqa=True)
        return self.wo(mixed.transpose(1, 2).reshape(batch, length, -1))


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Linear(DIM, 40, bias=False)
        self.w2 = nn.Linear(40, DIM, bias=False)
        self.w3 = nn.Linear(DIM, 40, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, length, DIM] to the same."""
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Layer(nn.Module):
    """Attention and feed-forward, each behind its norm."""

    def __init__(self) -> None:
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = nn.RMSNorm(DIM), nn.RMSNorm(DIM)

    def forward(self, x: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
        """[batch, length, DIM] to the same."""
        x = x + self.attention(self.attention_norm(x), angles)
        return x + self.feed_forward(self.ffn_norm(x))


class Decoder(nn.Module):
    """A Llama with tied embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(DIM)
        self.output = nn.Linear(DIM, VOCABULARY, bias=False)
        self.output.weight = self.tok_embeddings.weight
        nn.init.normal_(self.output.weight, std=DIM ** -0.5)
        rates = 10000.0 ** (-torch.arange(0, HEAD, 2) / HEAD)
        angles = torch.outer(torch.arange(2 * LENGTH), rates)
        self.register_buffer("angles", angles, persistent=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """[batch, length] to logits [batch, length, VOCABULARY]."""
        x = self.tok_embeddings(tokens)
        angles = self.angles[:tokens.shape[1]]
        for layer in self.layers:
            x = layer(x, angles)
        return self.output(self.norm(x))


INPUT = PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),))
TITAN = {
    "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "layers.*.attention_norm": SequenceParallel(),
    "layers.*.attention": PrepareModuleInput(input_layouts=(Shard(1), Replicate()),
                                             desired_input_layouts=(Replicate(), Replicate())),
    "layers.*.attention.wq": ColwiseParallel(),
    "layers.*.attention.wk": ColwiseParallel(),
    "layers.*.attention.wv": ColwiseParallel(),
    "layers.*.attention.wo": RowwiseParallel(output_layouts=Shard(1)),
    "layers.*.ffn_norm": SequenceParallel(),
    "layers.*.feed_forward": INPUT,
    "layers.*.feed_forward.w1": ColwiseParallel(),
    "layers.*.feed_forward.w3": ColwiseParallel(),
    "layers.*.feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
    "norm": SequenceParallel(),
    "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1),
                              use_local_output=False),
}
DATA = {"argument tokens": Shard(0), "argument target": Shard(0)}
# Adam divides by roots of gradients, which a large eps keeps away from rounding errors.
ADAMW = partial(torch.optim.AdamW, lr=1e-2, eps=1e-4, weight_decay=0.1)


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Tokens and targets."""
    return torch.randint(VOCABULARY, (2, LENGTH)), torch.randint(VOCABULARY, (2, LENGTH))


def distance_of_all(reference: Reference, case: Case, step: tp.Program) -> float:
    """How far losses and parameters are after the steps: at most 1 is equal."""
    got, found = reference.train(step)
    # The losses, the parameters, and the other name of the tied one.
    assert len(got) == 1 + len(list(case.module.parameters())) + 1, sorted(got)
    return found


def check_training(model: tp.Model, case: Case,
                   data: list[tuple[torch.Tensor, torch.Tensor]]) -> None:
    """Trains on both meshes, and compares with PyTorch."""
    reference = Reference(case, data)
    for mesh, plan in ({"tp": 2}, TITAN), ({"dp": 2, "tp": 2}, {"dp": DATA, "tp": TITAN}):
        with tp.compile(model, plan=plan, mesh=mesh) as step:
            found = distance_of_all(reference, case, step)
            inside = [row.kind for row in step.collectives
                      if row.axes == "tp" and not row.module.startswith(("bwd:", "<"))]
            print(f"{mesh}: {'equal' if found <= 1 else 'DIFFERS'}, forward on tp: "
                  f"{inside.count('all_gather')} all_gather, "
                  f"{inside.count('reduce_scatter')} reduce_scatter of {len(inside)}", flush=True)


def check_styles(model: tp.Model, case: Case, tokens: torch.Tensor, target: torch.Tensor) -> None:
    """Prints the collectives of plans with one entry, and checks the loss."""
    shard, whole = Shard(1), Replicate()
    first = PrepareModuleInput(input_layouts=(shard, None), desired_input_layouts=(whole, None))
    by_name = PrepareModuleInput(input_kwarg_layouts={"x": shard},
                                 desired_input_kwarg_layouts={"x": whole})
    second = PrepareModuleInput(input_layouts=(None, whole), desired_input_layouts=(None, Shard(0)))
    second_by_name = PrepareModuleInput(input_kwarg_layouts={"angles": whole},
                                        desired_input_kwarg_layouts={"angles": Shard(0)})
    output = PrepareModuleOutput(output_layouts=(shard,), desired_output_layouts=(whole,))
    both = PrepareModuleInputOutput(input_layouts=(shard,), desired_input_layouts=(whole,),
                                    output_layouts=(shard,), desired_output_layouts=(whole,))
    right = float(case.loss(case.module(tokens), target).detach())
    for name, layer, module, style in (
            ("input by position", 1, "attention", first),
            ("input by name", 1, "attention", by_name),
            # Exporters compute the cosines of all layers once, in the first layer.
            ("second input", 0, "attention", second),
            ("second input by name", 0, "attention", second_by_name),
            ("output", 1, "attention", output),
            ("input and output", 2, "feed_forward", both),
            ("norm", 1, "ffn_norm", SequenceParallel())):
        with tp.compile(model, plan={f"layers.{layer}.{module}": style}, mesh={"tp": 2}) as step:
            assert abs(float(step(tokens, target)) - right) < 1e-5 * right, name
            rows = [f"{row.kind} {row.module} {row.payload_bytes}" for row in step.collectives]
            print(f"{name}: {', '.join(rows)}", flush=True)


def main() -> None:
    torch.manual_seed(0)
    case = Case(Decoder(), language_loss, ADAMW, TITAN, batch)
    data = [batch() for _ in range(STEPS)]
    model = tp.export_training(case.module, case.loss, case.optimizer, data[0])
    check_training(model, case, data)
    check_styles(model, case, *data[0])
    with tp.compile(tp.export(case.module, (data[0][0],)), plan=TITAN, mesh={"tp": 2}) as forward:
        torch.testing.assert_close(forward(data[0][0]), case.module(data[0][0]).detach())


if __name__ == "__main__":
    main()
