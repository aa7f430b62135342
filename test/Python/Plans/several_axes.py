"""Plans for several axes of a mesh at once: what tp computes on meshes of two and three axes,
forward and in a training step, is what PyTorch computes without a plan. Shards of a parameter are
those of PyTorch's DTensor.

    several_axes.py             all
    several_axes.py NAME ...    these
"""
from __future__ import annotations

import copy
import functools
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.distributed.tensor import Shard
from torch.distributed.tensor._utils import _compute_local_shape_and_global_offset
from torch.nn import functional as F

import tp
from context import CONTEXT, Decoder
from styles import FusedAttention, Block, Mixture, distance, layers

LAYERS = {"inner.0": "colwise", "inner.2": "rowwise", "inner.4": "colwise", "inner.6": "rowwise"}
HEADS = {"inner.qkv": "packed_colwise", "inner.o": "rowwise"}
EXPERTS = {"inner.experts.gate_up_proj": "grouped_gemm", "inner.experts.down_proj": "grouped_gemm",
           "inner.experts": "ep_dispatch_experts"}
UNITS = {"": tp.FullyShard()}
PAIR = ("a", "b")
SQUARE, UNEVEN = {"a": 2, "b": 2}, {"a": 2, "b": 3}
CUBE = {"a": 2, "b": 2, "c": 2}
Inputs = Callable[[], tuple[torch.Tensor, torch.Tensor]]


def rows() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(12, 6, 16), torch.randn(12, 6, 16)


def tokens() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randint(50, (4, 24)), torch.randint(50, (4, 24))


def language_loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(output.flatten(0, 1), target.flatten())


# By name: the model, its data, a plan, and meshes for it.
MODELS: dict[str, tuple[nn.Module, Inputs, Any, list[dict[str, int]]]] = {}
torch.manual_seed(0)
MODELS["layers"] = (Block(layers()), rows, {PAIR: LAYERS}, [SQUARE, UNEVEN, CUBE])
MODELS["all axes"] = (Block(layers()), rows, {"a, b, c": LAYERS}, [CUBE])
MODELS["heads"] = (Block(FusedAttention()), rows, {PAIR: HEADS}, [SQUARE, UNEVEN])
MODELS["heads beside a batch"] = (Block(FusedAttention()), rows, {
    "a": {"": "data_parallel"}, ("b", -1): HEADS}, [CUBE])
MODELS["batch"] = (Block(layers()), rows, {PAIR: {"": "data_parallel"}}, [SQUARE, UNEVEN])
MODELS["experts"] = (Block(Mixture(count=5)), rows, {PAIR: EXPERTS}, [SQUARE])
MODELS["fully sharded"] = (Block(layers()), rows, {PAIR: UNITS}, [SQUARE, UNEVEN])
MODELS["kept"] = (Block(layers()), rows, {PAIR: {"": tp.FullyShard(keep=True)}}, [SQUARE])
MODELS["states"] = (Block(layers()), rows, {PAIR: {"": tp.FullyShard(stage=2)}}, [SQUARE])
MODELS["fully sharded and tensors"] = (Block(layers()), rows, {PAIR: UNITS, "c": LAYERS}, [CUBE])
MODELS["replicas"] = (Block(layers()), rows, {
    "a": {"": "data_parallel"}, ("b", "c"): UNITS}, [CUBE])
# The batch is split over "a", the sequence over "b", parameters over both.
MODELS["context"] = (Decoder(1), tokens, {PAIR: UNITS, "b": CONTEXT}, [SQUARE, UNEVEN])


def adam(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.Adam(parameters, lr=1e-2, eps=1e-2)


def differ_from_dtensor(step: tp.Program, module: nn.Module) -> list[str]:
    """The parameters of which ranks have other shards than those of a DTensor that is sharded on
    the flattened mesh, where their number divides the dimension."""
    wrong, compared = [], 0
    for name, weight in module.named_parameters():
        parts = tp.to_local(step, name, weight.detach().numpy())
        dim = next((d for d, size in enumerate(weight.shape)
                    if size != parts[0].shape[d] and size % len(parts) == 0), None)
        if dim is None:
            continue
        for rank, part in enumerate(parts):
            shape, offset = _compute_local_shape_and_global_offset(
                weight.shape, [len(parts)], [rank], [Shard(dim)])
            there = weight.detach()[tuple(slice(start, start + size)
                                          for start, size in zip(offset, shape))]
            compared += 1
            if not np.array_equal(part, there.numpy()):
                wrong.append(name)
    return wrong if compared else ["no parameter was compared"]


def check(name: str) -> int:
    """Prints a row for each mesh; the number of runs that differ."""
    module, data, plan, meshes = MODELS[name]
    x, target = data()
    loss_of = language_loss if data is tokens else F.mse_loss
    right = module(x).detach().numpy()
    forward = tp.export(module, (x,))
    training = tp.export_training(module, loss_of, adam, (x, target))
    trained = copy.deepcopy(module)
    optimizer = adam(trained.parameters())
    loss = loss_of(trained(x), target)
    loss.backward()
    optimizer.step()
    state = {key: value.detach().numpy() for key, value in trained.named_parameters()}
    count = 0
    for mesh in meshes:
        wrong = []
        with tp.compile(forward, plan=plan, mesh=mesh, verify=True) as program:
            if distance(program(x.numpy()), right) > 1e-4:
                wrong.append("forward")
            sent = [f"{row.kind} {row.axes}" for row in program.collectives
                    if row.payload_bytes > 64]
        with tp.compile(training, plan=plan, mesh=mesh) as step:
            far = distance(step(x.numpy(), target.numpy()), loss.item())
            if max(far, *(distance(step.state[key], state[key]) for key in state)) > 1e-4:
                wrong.append("training")
            if plan == {PAIR: UNITS}:
                wrong += differ_from_dtensor(step, module)
        shown = "; ".join(f"{kind} x {number}" for kind, number in sorted(Counter(sent).items()))
        print(f"{name} {list(mesh.values())}: {', '.join(wrong) or 'equal'}, sends {shown}",
              flush=True)
        count += len(wrong)
    return count


if __name__ == "__main__":
    names = sys.argv[1:] or list(MODELS)
    print(f"{len(names)} models: {sum(map(check, names))} runs differ")
