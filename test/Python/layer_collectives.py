"""What a layer of a model communicates, and the least that it could (docs/families.md).

A layer is what a model with a layer more communicates more.
"""
from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import torch

from family_models import FAMILIES, SavedModel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from ring import Collectives, ring  # pylint: disable=wrong-import-position

# What a style of a plan asks for at the output of its module.
ASKED = {"rowwise": "all_reduce", "rowwise_rep": "all_reduce", "rowwise_split_input": "all_reduce",
         "embedding_rowwise": "all_reduce", "packed_rowwise": "all_reduce",
         "all_reduce": "all_reduce", "moe_tp_experts": "all_reduce", "colwise_rep": "all_gather",
         "colwise_gather_output": "all_gather"}

# What tp-propagate counts for a collective beside its bytes (docs/propagate.md).
COLLECTIVE_COST = 1024
# An all_reduce of more bytes costs as much as the two collectives that it consists of.
LATENCY_BYTES = 16 * 1024


class Unproved(Exception):
    """tp-propagate has no proof for what the program sends."""


@dataclass
class Layer:
    """What a layer sends on a ring, and the least."""
    sent: Collectives
    least: Collectives

    def is_above(self) -> bool:
        """Whether it sends more bytes than the least, or as many in more collectives."""
        more = self.sent.bytes - self.least.bytes
        rounding = self.sent.counts.total() + self.least.counts.total()
        return more > rounding or (more >= -rounding and
                                   self.sent.counts.total() > self.least.counts.total())

    def cells(self) -> str:
        """The two cells of a table's row; a layer above the least is bold."""
        shown = self.sent.shown()
        return f"{f'**{shown}**' if self.is_above() else shown} | {self.least.shown()}"


def layer_of(model: SavedModel, deeper: SavedModel, plan: str, ranks: int) -> Layer:
    """What `deeper`, which has a layer more, sends more. Raises Unproved."""
    report, report_of_deeper = (compiled(of, plan, ranks) for of in (model, deeper))
    found = sent(report_of_deeper).minus(sent(report))
    if model.plans()[plan]:
        return Layer(found, asked(deeper, plan, ranks).minus(asked(model, plan, ranks)))
    least = []
    for of in (deeper, model):
        report = compiled(of, plan, 2, f"--dump-stages={of.folder}/stages")
        check_proof(of.folder, report)
        least.append(sent_on(ranks, report))
    return Layer(found, least[0].minus(least[1]))


def compiled(model: SavedModel, plan: str, ranks: int, *flags: str) -> list[dict[str, Any]]:
    """The collectives of the report."""
    report = f"{model.folder}/layer.json"
    subprocess.run(["tp-compile", f"{model.folder}/model.mlir", f"--mesh=tp={ranks}",
                    f"--plan={model.plan_argument(plan)}", f"--report={report}", *flags],
                   capture_output=True, check=True)
    with open(report, encoding="utf-8") as file:
        rows: list[dict[str, Any]] = json.load(file)["collectives"]
    return rows


def sent(report: list[dict[str, Any]]) -> Collectives:
    """The report's collectives, those of scalars too."""
    result = Collectives()
    for row in report:
        result.counts[row["kind"]] += row["count"]
        result.bytes += row["count"] * row["ring_bytes_per_rank"]
    return result


def sent_on(ranks: int, report: list[dict[str, Any]]) -> Collectives:
    """The collectives of a report of two ranks, if as many ranks make them."""
    result = Collectives()
    for row in report:
        is_of_whole = row["kind"] in ("all_reduce", "all_gather", "reduce_scatter")
        payload = row["payload_bytes"] * (1 if is_of_whole else 2 / ranks)
        result.add(row["kind"], row["count"], payload, ranks)
    return result


def asked(model: SavedModel, plan: str, ranks: int) -> Collectives:
    """What the plan's entries ask for: an all_reduce or an all_gather of a module's output, for
    each call of the module. Where a layer adds two blocks, and where a block adds shared experts to
    the others, the sum of both is reduced."""
    outputs: Counter[tuple[str, int]] = Counter()

    def count(kind: str) -> Any:
        def hook(_module: torch.nn.Module, _inputs: Any, output: torch.Tensor) -> None:
            outputs[kind, output.numel() * output.element_size()] += 1
        return hook
    hooks = []
    entries = model.found_entries if plan == "transformer" else model.plans()[plan]
    styles = {name: next((style for pattern, style in entries.items()
                          if fnmatchcase(name, pattern)), "")
              for name, _ in model.module.named_modules()}
    blocks = tuple(name.rpartition(".")[0] + "." for name, style in styles.items()
                   if style == "moe_tp_experts")
    for name, module in model.module.named_modules():
        style = styles[name]
        if style in ASKED and (style == "moe_tp_experts" or not name.startswith(blocks)):
            hooks.append(module.register_forward_hook(count(ASKED[style])))
    with torch.no_grad():
        model.module(**model.inputs)
    for hook in hooks:
        hook.remove()
    result = Collectives()
    for (kind, size), calls in outputs.items():
        is_sum = FAMILIES[model.name].beside and kind == "all_reduce"
        result.add(kind, (calls + 1) // 2 if is_sum else calls, size, ranks)
    return result


def check_proof(folder: str, report: list[dict[str, Any]]) -> None:
    """Checks that no assignment of layouts costs less than the collectives of the report, by
    tp-propagate's own proof.

    folder: of a model, with the stages of its compilation for two ranks. Raises Unproved.
    """
    found = sent(report)
    said = subprocess.run(["tp-opt", f"{folder}/stages/3-normalize.mlir", "-o", os.devnull,
                           "--tp-propagate=report-solver"],
                          capture_output=True, text=True, check=True).stderr
    costs = re.findall(r"remark: .*axis '.*cost (\d+) \+", said)
    unproved = re.search(r"no assignment is proved to be the best: [^;]+", said)
    if unproved:
        raise Unproved(unproved.group())
    if len(costs) != 1:
        raise Unproved(f"expected the cost of one axis, got {len(costs)}")
    twice = sum(row["count"] for row in report
                if row["kind"] == "all_reduce" and row["payload_bytes"] > LATENCY_BYTES)
    cost = found.bytes + COLLECTIVE_COST * (found.counts.total() + twice)
    # Later passes may share what the assignment counts twice, but never add to it.
    if cost > int(costs[0]) + found.counts.total():
        raise Unproved(f"{found.shown()} cost {cost:,.0f}, the assignment {int(costs[0]):,}")
