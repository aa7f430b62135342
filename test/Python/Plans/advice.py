"""What program.explain() advises: each entry compiles in the plan, and sends what it says. The text
is made once, and without what the first compilation wrote.

    advice.py EXAMPLE FOLDER
"""
from __future__ import annotations

import os
import re
import sys
import warnings
from typing import Any

import tp
from tp import compiler

EXAMPLE, FOLDER = sys.argv[1:]
MODEL = os.path.join(EXAMPLE, "model.mlir")
PLAN: dict[str, Any] = {
    "layers.*.attention.wq": "colwise", "layers.*.attention.wk": "colwise",
    "layers.*.attention.wv": "colwise", "layers.*.attention.wo": "rowwise",
    "layers.*.feed_forward.w1": "colwise", "layers.*.feed_forward.w3": "colwise"}
OUTPUT: dict[str, Any] = {
    **PLAN, "tok_embeddings": "rowwise",
    "output": tp.ColwiseParallel(output_layouts=tp.Replicate())}
# An item of a dict or an option, and where it goes.
ADVICE = re.compile(r"(?:to send (\d+) bytes less in all, )?(?:to ask for it, )?write '(.*?)' "
                    r"(in place of|at this entry,|in the plan)(?: plan entry '([^']*)')?")

runs: list[list[str]] = []
run_tool = compiler.run_tool


def counted(name: str, arguments: Any) -> Any:
    """The tool, whose calls are kept."""
    runs.append(list(arguments))
    return run_tool(name, arguments)


setattr(compiler, "run_tool", counted)
warnings.simplefilter("ignore")  # of weights that the plan forgets


def sent(program: tp.Program) -> int:
    """Ring bytes of a rank in a step."""
    return sum(row.ring_bytes_per_rank * row.count for row in program.collectives)


def with_advice(plan: dict[str, Any], text: str, place: str, key: str) -> dict[str, Any]:
    """The plan with an advised entry or option, as a user writes it."""
    changed = dict(plan)
    if place == "at this entry,":
        style = changed[key]
        assert type(style) is tp.ColwiseParallel, (key, style)
        changed[key] = eval(f"tp.ColwiseParallel({text}, output_layouts=output)",
                            {"tp": tp, "output": style.output_layouts})
        return changed
    if place == "in place of":
        del changed[key]
    return {**changed, **eval("{" + text + "}", {"tp": tp})}


found = []
for plan, size in ((PLAN, 2), (OUTPUT, 4)):
    program = tp.compile(MODEL, plan=plan, mesh=size, verify=size == 2, verify_seed=3,
                         write_plan=os.path.join(FOLDER, "plan.mlir"))
    os.remove(os.path.join(FOLDER, "plan.mlir"))
    runs.clear()
    explained = program.explain()
    assert program.explain() is explained and len(runs) == 1, runs
    assert not any(argument.startswith(("-o", "--verify", "--write-plan")) for argument in runs[0])
    assert not os.path.exists(os.path.join(FOLDER, "plan.mlir"))
    for saved, text, place, key in sorted(set(ADVICE.findall(explained))):
        advised = tp.compile(MODEL, plan=with_advice(plan, text, place, key), mesh=size)
        assert sent(advised) <= sent(program) - int(saved or 0), (text, sent(advised))
        found.append(f"{text} {place} {key}".strip())
print("\n".join(found))
