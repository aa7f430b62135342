"""Trains under the options of tp.export_training, and compares with loops of PyTorch's own.

    options.py          the runs of continuous integration
    options.py --all    all runs

A decoder of one layer, with tied embeddings, trains with micro-batches, clipping by the global norm,
a GradScaler whose gradients are infinite once, rates that each call gives or that a scheduler makes,
and f32 masters of bf16 parameters. What is right is the loop in f64; tp may be four times as far
from it as the loop is in f32, or bf16. Numbers of a scaler and of steps are equal.
"""
from __future__ import annotations

import copy
import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

import tp
from tp import FullyShard
from plans import TITAN, VOCABULARY, LENGTH, Decoder  # sets the path of training
from training import distance

BATCH = 12
UNITS = {"layers.*": FullyShard(), "": FullyShard()}
DATA = {"argument tokens": tp.Shard(0), "argument target.0": tp.Shard(0),
        "argument target.1": tp.Shard(0)}
SGD = partial(torch.optim.SGD, lr=0.5, momentum=0.9, weight_decay=0.01)
ADAMW = partial(torch.optim.AdamW, lr=1e-2, eps=1e-4, weight_decay=0.1)
WARM_UP = partial(torch.optim.lr_scheduler.LambdaLR, lr_lambda=lambda step: (step + 1) / 4)
Batch = tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]


def loss(output: torch.Tensor, target: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Cross entropy, weighed by sample."""
    labels, weight = target
    each = F.cross_entropy(output.flatten(0, 1), labels.flatten(), reduction="none")
    return (each.view(labels.shape).mean(1) * weight).mean()


def scaler() -> torch.amp.GradScaler:
    """One that grows and shrinks within a few steps."""
    return torch.amp.GradScaler("cpu", init_scale=64.0, growth_interval=2)


@dataclass
class Case:
    """What is trained, and how."""
    options: dict[str, Any]
    optimizer: Any
    calls: int
    dtype: torch.dtype = torch.float32
    infinite: tuple[int, ...] = ()
    rates: tuple[float, ...] = ()

    def batches(self) -> list[Batch]:
        """One for every call."""
        shape, result = (BATCH, LENGTH), []
        for call in range(self.calls):
            weight = torch.rand(BATCH) * 8
            if call in self.infinite:
                weight[3] = torch.inf
            result.append((torch.randint(VOCABULARY, shape),
                           (torch.randint(VOCABULARY, shape), weight.to(self.dtype))))
        return result


CASES = {
    "clip": Case({"clip_grad_norm": 1.0}, SGD, 2),
    "all": Case({"accumulate": 2, "clip_grad_norm": 1.0, "loss_scale": scaler(), "lr": "input"},
                ADAMW, 10, infinite=(4,), rates=tuple(0.01 / (1 + i) for i in range(10))),
    "bf16": Case({"accumulate": 3, "clip_grad_norm": 2.0, "loss_scale": 128.0,
                  "master_weights": True, "lr_scheduler": WARM_UP, "steps": 2}, SGD, 9,
                 torch.bfloat16),
}
BOTH = {"dp": 2, "tp": 2}
RUNS: list[tuple[str, str, Any, dict[str, int]]] = [
    (case, *run) for case in CASES for run in (
        ("one", None, {"tp": 1}), ("tp", TITAN, {"tp": 2}), ("tp", TITAN, {"tp": 3}),
        ("tp", TITAN, {"tp": 4}), ("dp and tp", {"dp": DATA, "tp": TITAN}, BOTH),
        ("fsdp", UNITS, {"dp": 3}), ("fsdp", UNITS, {"dp": 4}),
        ("zero", {"": FullyShard(stage=2)}, {"dp": 2}),
        ("fsdp and tp", {"dp": UNITS, "tp": TITAN}, BOTH))]
CI = {("all", "tp", 3), ("all", "fsdp and tp", 4), ("all", "zero", 2), ("bf16", "dp and tp", 4),
      ("bf16", "fsdp", 3)}


def decoder(dtype: torch.dtype) -> Decoder:
    """Of one layer."""
    torch.manual_seed(0)
    module = Decoder()
    module.layers = module.layers[:1]
    return module.to(dtype)


def torch_loop(case: Case, module: Decoder, batches: list[Batch],
               dtype: torch.dtype) -> dict[str, np.ndarray]:
    """Losses, norms (between two steps that of the sum so far) and parameters of PyTorch's own loop,
    computed in `dtype`."""
    module = copy.deepcopy(module).to(dtype)
    options, parameters = case.options, list(module.parameters())
    has_masters = options.get("master_weights", False)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    masters = [torch.nn.Parameter(parameter.detach().to(wide, copy=True))
               for parameter in parameters] if has_masters else parameters
    optimizer = case.optimizer(masters)
    scheduler = options["lr_scheduler"](optimizer) if "lr_scheduler" in options else None
    scale = options.get("loss_scale", 1.0)
    grads = copy.deepcopy(scale) if isinstance(scale, torch.amp.GradScaler) else (
        torch.amp.GradScaler("cpu", init_scale=scale, growth_factor=1.0 + 1e-12,
                             backoff_factor=0.999, growth_interval=10 ** 9))
    count = options.get("accumulate", 1)
    losses, norms = [], []
    for call, (tokens, (labels, weight)) in enumerate(batches):
        value = loss(module(tokens), (labels, weight.to(dtype)))
        grads.scale(value / count).backward()
        if has_masters:
            for master, parameter in zip(masters, parameters):
                added = parameter.grad.to(wide)
                master.grad = added if master.grad is None else master.grad + added
                parameter.grad = None
        losses.append(float(value.detach()))
        if (call + 1) % count:
            norms.append(float(torch.nn.utils.get_total_norm(
                [master.grad / grads.get_scale() for master in masters])))
            continue
        if case.rates:
            for group in optimizer.param_groups:
                group["lr"] = case.rates[call]
        grads.unscale_(optimizer)
        norms.append(float(torch.nn.utils.clip_grad_norm_(masters, options["clip_grad_norm"])))
        before = grads.get_scale()
        grads.step(optimizer)
        grads.update()
        optimizer.zero_grad()
        if scheduler is not None and grads.get_scale() >= before and call // count < 1:
            scheduler.step()
        if has_masters:
            with torch.no_grad():
                for master, parameter in zip(masters, parameters):
                    parameter.copy_(master.to(torch.bfloat16))
    positions = {id(parameter): i for i, parameter in enumerate(parameters)}
    values = [(name, masters[positions[id(parameter)]]) for name, parameter
              in module.named_parameters(remove_duplicate=False)]
    return {"loss": np.array(losses), "norm": np.array(norms),
            "scaler": np.array([grads.get_scale(), grads.state_dict()["_growth_tracker"]]),
            **{name: value.detach().double().numpy() for name, value in values}}


def tp_loop(case: Case, step: tp.Program, batches: list[Batch]) -> dict[str, np.ndarray]:
    """The same of the program."""
    losses, norms = [], []
    for call, (tokens, target) in enumerate(batches):
        named = {"lr": case.rates[call]} if case.rates else {}
        value, norm = step(tokens, *target, **named)
        losses.append(float(value))
        norms.append(float(norm))
    prefix = "opt_master:" if case.options.get("master_weights") else ""
    names = [name for name in step.state if name.startswith(prefix) and (
        prefix or not name.startswith("opt_")) and name != "angles" and name != "lr_schedule"]
    found = {"loss": np.array(losses), "norm": np.array(norms),
             **{name.removeprefix(prefix): step.state[name] for name in names}}
    if "opt_loss_scale:loss_scale" in step.state:
        found["scaler"] = np.array([float(step.state["opt_loss_scale:loss_scale"]),
                                    float(step.state["opt_growth_tracker:growth_tracker"])])
        assert int(step.state["opt_micro_batch:micro_batch"]) == 0
    return found


def farthest(got: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> float:
    """The largest difference of what is finite in both; infinite where it is not the same."""
    found = {}
    for name, value in got.items():
        finite = np.isfinite(value)
        if name != "scaler" and not np.array_equal(finite, np.isfinite(right[name])):
            return np.inf
        found[name] = np.where(finite, value, 0)
    if "scaler" in got and not np.array_equal(got["scaler"], right["scaler"]):
        return np.inf
    return distance(found, {name: np.where(np.isfinite(value), value, 0)
                            for name, value in right.items()})


def check(name: str, runs: list[tuple[str, str, Any, dict[str, int]]]) -> int:
    """Prints a row for each run; the number of those that differ."""
    case = CASES[name]
    module = decoder(case.dtype)
    batches = case.batches()
    model = tp.export_training(module, loss, case.optimizer, batches[0], **case.options)
    right = torch_loop(case, module, batches, torch.float64)
    allowed = max(1.0, 4 * farthest(torch_loop(case, module, batches, case.dtype), right))
    differing = 0
    for _, kind, plan, mesh in runs:
        with tp.compile(model, plan=plan, mesh=mesh) as step:
            got = tp_loop(case, step, batches)
            assert len({*got} - {"loss", "norm", "scaler"}) == len(list(module.parameters()))
            found = farthest(got, right)
            differing += not found <= allowed
            small = Counter(row.axes for row in step.collectives
                            if row.kind == "all_reduce" and row.payload_bytes <= 64)
            print(f"{name} {kind} {mesh}: {'equal' if found <= allowed else 'DIFFERS'}, small "
                  f"all_reduces {sorted(small.items())}, {found / allowed:.2f} of what is allowed",
                  flush=True)
    return differing


def main() -> None:
    differing = 0
    for name in CASES:
        runs = [run for run in RUNS if run[0] == name and (
            "--all" in sys.argv or (name, run[1], np.prod([*run[3].values()])) in CI)]
        differing += check(name, runs) if runs else 0
    print(f"{differing} runs differ")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()
