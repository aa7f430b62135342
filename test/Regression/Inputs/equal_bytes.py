"""Compiles one model twice, in two processes and two folders, under each form of a plan, and compares
what is written.

    equal_bytes.py EXAMPLE FOLDER
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys

from tp.tools import find_tool

EXAMPLE, FOLDER = map(os.path.abspath, sys.argv[1:])
PLAN = {"layers.*.attention.wq": "colwise", "layers.*.attention.wk": "colwise",
        "layers.*.attention.wv": "colwise", "layers.*.attention.wo": "rowwise"}
# A program that no exporter wrote: the locations of its ops are lines of a file.
LINES = """func.func @main(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<8x8xf32> {tp.name = "w", tp.kind = "parameter"})
    -> (tensor<4x8xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x8xf32>)
    outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
"""
ROWS = 'tp.plan @p on <"tp" = 2>["tp"] {\n  tp.argument "w" shard<0>\n}\n'
IN_PYTHON = """
import numpy as np, tp
lines = tp.Model({lines!r}, [], [], {{"w": np.zeros((8, 8), "f4")}})
tp.compile({model}, plan={plan}, mesh={{"tp": 2}}, **{more}).save("out.tp")
"""


def python(plan: str, model: str = '"llama"', **more: str) -> list[str]:
    """The command line of tp.compile."""
    return [sys.executable, "-B", "-c",
            IN_PYTHON.format(lines=LINES, plan=plan, model=model, more=more)]


def tool(plan: str, *more: str, model: str = "llama/model.mlir") -> list[str]:
    """The command line of tp-compile."""
    return [find_tool("tp-compile"), model, f"--plan={plan}", "--mesh=tp=2", "-o",
            "out.tp", *more]


def written(folder: str, command: list[str], absolute: bool) -> dict[str, bytes]:
    """What the command writes into the folder; `absolute` names its inputs by whole paths."""
    os.makedirs(folder)
    shutil.copytree(EXAMPLE, os.path.join(folder, "llama"))
    for name, text in (("lines.mlir", LINES), ("rows.plan.mlir", ROWS)):
        with open(os.path.join(folder, "llama", name), "w", encoding="utf-8") as file:
            file.write(text)
    if absolute:
        command = [part.replace("llama/", f"{folder}/llama/") for part in command]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {}
    for name in os.listdir(folder):
        if name != "llama":
            with open(os.path.join(folder, name), "rb") as output:
                found[name] = output.read()
    return found


def main() -> None:
    cases = {
        "tp.compile, a dict": python(repr(PLAN)),
        "tp.compile, a dict, a plan that is written": python(repr(PLAN), write_plan="written.mlir"),
        "tp.compile, auto": python("'auto'", write_plan="torch:written.py"),
        "tp.compile, a file": python("'llama/megatron.plan.mlir'"),
        "tp.compile, lines as locations": python("{'argument w': tp.Shard(0)}", "lines"),
        "tp-compile, lines as locations": tool("llama/rows.plan.mlir", model="llama/lines.mlir"),
        "tp-compile, a file": tool("llama/megatron.plan.mlir", "--write-plan=written.mlir"),
        "tp-compile, a file, explained": tool("llama/megatron.plan.mlir", "--explain=why.json"),
        "tp-compile, auto": tool("auto", "--write-plan=written.mlir", "--report=report.json"),
        "tp-compile, transformer": tool("transformer"),
    }
    failed = 0
    for number, (name, command) in enumerate(cases.items()):
        first, second = (written(os.path.join(FOLDER, f"{number}-{'ab'[turn] * (5 + 7 * turn)}"),
                                 command, bool(turn)) for turn in (0, 1))
        assert "out.tp" in first and first.keys() == second.keys(), (name, first.keys())
        # Explanations name the plan as the command line does.
        unequal = sorted(file for file in first if first[file] != second[file]
                         and file != "why.json")
        paths = FOLDER.encode() in second["out.tp"] or b"/tp-" in second["out.tp"]
        if unequal or paths:
            failed += 1
            print(f"{name}: other bytes in {unequal}{', a path in the artifact' if paths else ''}")
    print(f"{len(cases)} compilations, {failed} differ")


if __name__ == "__main__":
    main()
