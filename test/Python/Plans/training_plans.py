"""Training steps of transformers' families with shards of the sequence, compared with PyTorch's.

    training_plans.py FOLDER              all families
    training_plans.py FOLDER llama t5     these
    training_plans.py FOLDER --page=docs/families.md   writes the page's table

Each trains three steps under `transformer{sequence_parallel, loss_parallel}` on tp=2, tp=4 and
dp=2 x tp=2, and with parameters fully sharded, layer by layer, on dp=4 and on dp=2 beside that
plan on tp=2. What is right is what training.py says. A layer is what a model with a layer more
communicates more on 4 ranks. The least of it: every sum over the ranks that the plan's forward pass
has is a reduce_scatter and an all_gather, and both again in the backward pass; and an all_reduce of
the gradient of each parameter that several ranks hold, such as norms and shared heads, or of the
gradient of what it makes where that is less. These are joined in buckets: their bytes count, their
number does not.
"""
from __future__ import annotations

import argparse
import math
import os
import re
import sys
import warnings
from typing import Any

import torch

import tp

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# pylint: disable=wrong-import-position
from families import replace_table  # noqa: E402
from family_models import FAMILIES, saved_model  # noqa: E402
from layer_collectives import Collectives, Layer, asked, ring  # noqa: E402
from training import ADAM, ADAMW, SGD, STEPS, Reference, family  # noqa: E402

PLAN = "transformer{sequence_parallel, loss_parallel}"
MESHES: tuple[dict[str, int], ...] = ({"tp": 2}, {"tp": 4}, {"dp": 2, "tp": 2})
FULLY_SHARDED: tuple[dict[str, int], ...] = ({"dp": 4}, {"dp": 2, "tp": 2})
RANKS = 4
TOKENS = 32
OPTIMIZERS = {"SGD": SGD, "Adam": ADAM, "AdamW": ADAMW}
MODELS = {"llama": "AdamW", "gpt2": "Adam", "bert": "Adam", "t5": "AdamW", "gpt-neox": "Adam",
          "phi3": "AdamW", "mixtral": "AdamW", "qwen3-moe": "AdamW", "qwen3": "SGD",
          "gemma": "AdamW", "opt": "Adam", "bloom": "SGD", "mistral": "AdamW"}
TITLE = "| model | optimizer | three steps on | a layer | least |"


def sent(step: tp.Program) -> Collectives:
    """What a rank sends in a step; all_reduces, which are those of gradients, are not counted."""
    result = Collectives()
    for row in step.collectives:
        result.counts[row.kind] += row.count * (row.kind != "all_reduce")
        result.bytes += row.count * row.ring_bytes_per_rank
    return result


def least_of_gradients(model: tp.Model, step: tp.Program) -> float:
    """Bytes that a rank sends for gradients of parameters that several ranks hold. That of a bias
    beside a cut weight is a sum of what the backward pass gathers."""
    total = 0.0
    layouts = {name: str(step.layouts[name]) for name in step.layouts}
    for port in model.arguments:
        if port.kind != "parameter" or port.name not in layouts or "shard" in layouts.get(
                port.name.removesuffix("bias") + "weight", "") and port.name.endswith("bias"):
            continue
        parts = re.findall(r"tp(?:\[\d+:(\d+)\])?: (\w+)", layouts[port.name])
        holders = math.prod(int(size or RANKS) for size, how in parts or [("", "replicate")]
                            if how == "replicate")
        rows, columns = port.shape if len(port.shape) == 2 else (math.prod(port.shape), 1)
        total += ring("all_reduce", 4 * rows * min(columns, TOKENS) * holders / RANKS, holders)
    return total


def least_of(name: str, folder: str) -> Collectives:
    """What a layer has to send in a step, gradients of shared parameters left out."""
    sums = asked(saved_model(name, f"{folder}/deeper", is_deeper=True), "transformer",
                 RANKS).minus(asked(saved_model(name, folder), "transformer", RANKS))
    result = Collectives()
    result.counts.update(all_gather=2 * sums.counts["all_reduce"],
                         reduce_scatter=2 * sums.counts["all_reduce"])
    result.bytes = 2 * sums.bytes
    return result


def fully_sharded(module: torch.nn.Module) -> dict[str, tp.Style]:
    """Every layer of a list, and what is in none."""
    lists = [name for name, part in module.named_modules()
             if isinstance(part, torch.nn.ModuleList)]
    outer = [name for name in lists
             if not any(name.startswith(f"{other}.") for other in lists)]
    return {"": tp.FullyShard(), **{f"{name}.*": tp.FullyShard() for name in outer}}


def check(name: str, folder: str) -> tuple[int, bool, str]:
    """The number of runs that differ, whether a layer is above the least, and the page's row."""
    torch.manual_seed(0)
    optimizer = OPTIMIZERS[MODELS[name]]
    case = family(name, optimizer)
    batches = [case.batch() for _ in range(STEPS)]
    model = tp.export_training(case.module, case.loss, case.optimizer, batches[0])
    reference = Reference(case, batches)
    outcomes: dict[str, list[str]] = {}
    found, gradients = Collectives(), 0.0
    by_layers = fully_sharded(case.module)
    runs: list[tuple[str, dict[str, int], Any]] = [("", mesh, PLAN) for mesh in MESHES]
    runs += [("FSDP ", mesh, {"dp": by_layers, "tp": PLAN} if "tp" in mesh else by_layers)
             for mesh in FULLY_SHARDED]
    for kind, mesh, plan in runs:
        shown = kind + " x ".join(f"{axis}={size}" for axis, size in mesh.items())
        with tp.compile(model, plan=plan, mesh=mesh) as step:
            _, distance = reference.train(step)
            outcome = "equal" if distance <= 1 else "DIFFERS"
            outcomes.setdefault(outcome, []).append(shown)
            print(f"{name}: {shown}: {outcome}, {distance:.2f} of what is allowed", flush=True)
            if mesh == {"tp": RANKS}:
                found = sent(step)
                gradients = least_of_gradients(model, step)
    deeper = family(name, optimizer, is_deeper=True)
    deeper_model = tp.export_training(deeper.module, deeper.loss, deeper.optimizer, batches[0])
    with tp.compile(deeper_model, plan=PLAN, mesh={"tp": RANKS}) as step:
        least = least_of(name, f"{folder}/{name}")
        least.bytes += least_of_gradients(deeper_model, step) - gradients
        layer = Layer(sent(step).minus(found), least)
    print(f"{name}: a layer: {layer.cells()}", flush=True)
    equal = "; ".join(f"{what} on {', '.join(meshes)}" for what, meshes in outcomes.items())
    return (len(outcomes.get("DIFFERS", [])), layer.is_above(),
            f"| {name} | {MODELS[name]} | {equal} | {layer.cells()} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--page", metavar="FILE", help="write the table of docs/families.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore", tp.PlanWarning)
    names = options.names or list(MODELS)
    unknown = [name for name in names if name not in FAMILIES or name not in MODELS]
    if unknown:
        parser.error(f"unknown families {', '.join(unknown)}")
    results = [check(name, options.folder) for name in names]
    if options.page:
        replace_table(options.page, TITLE, [row for _, _, row in results])
    failed = sum(differ for differ, _, _ in results)
    above = [name for name, (_, is_above, _) in zip(names, results) if is_above]
    print(f"{len(above)} layers above the least: {', '.join(above) or 'none'}")
    print(f"{len(names)} models, {STEPS} steps each: {failed} runs differ")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
