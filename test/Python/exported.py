"""Exported models on the command line: saved, compiled, run, compared with PyTorch's results."""
from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence

import numpy as np

import tp
from tp.model import bits_of, keys_of


class Exported:
    """A model in a folder, with arrays for its inputs and the results that are right."""

    def __init__(self, folder: str, model: tp.Model, inputs: Sequence[object],
                 expected: Sequence[object]) -> None:
        os.makedirs(folder, exist_ok=True)
        model.save(folder)
        self.folder = folder
        self.arguments = [f"--weights={folder}/weights.safetensors"]
        names = dict(zip(keys_of(model.arguments), model.arguments))
        inputs_of = [key for key in names if key not in model.weights]
        assert len(inputs_of) == len(inputs) and len(model.results) == len(expected), model
        for i, (key, value) in enumerate(zip(inputs_of, inputs)):
            self.arguments.append(f"--input={key}=@{self._save(f'in{i}', value)}")
        for i, (key, value) in enumerate(zip(keys_of(model.results), expected)):
            self.arguments.append(f"--expected-output={key}=@{self._save(f'out{i}', value)}")

    def _save(self, name: str, value: object) -> str:
        path = f"{self.folder}/{name}.npy"
        bits, dtype = bits_of(value)
        np.save(path, bits.view(tp.dtypes.DTYPES[dtype].numpy))
        return path

    def run(self, plan: str, ranks: int, tolerance: float = 1e-4) -> tuple[str, str]:
        """`equal`, or what differs or is refused; and how often each collective runs."""
        artifact, report = f"{self.folder}/model.tp", f"{self.folder}/report.json"
        compiled = _call(["tp-compile", f"{self.folder}/model.mlir", f"--plan={plan}",
                          f"--mesh=tp={ranks}", "-o", artifact, f"--report={report}"])
        if compiled.returncode:
            return f"refused: {_error(compiled.stderr)}", ""
        ran = _call(["tp-run", artifact, f"--ranks={ranks}", *self.arguments,
                     f"--atol={tolerance}", f"--rtol={10 * tolerance}"])
        if ran.returncode:
            return f"FAILED: {_error(ran.stderr + ran.stdout)}", ""
        return "equal", collectives(report)


def collectives(report: str) -> str:
    """How often each collective runs: `all_reduce 5`; those of scalars left out."""
    with open(report, encoding="utf-8") as file:
        rows = json.load(file)["collectives"]
    counts: dict[str, int] = {}
    for row in rows:
        if row["payload_bytes"] > 64:
            counts[row["kind"]] = counts.get(row["kind"], 0) + row["count"]
    return ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items())) or "none"


def _call(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error" in line or "differ" in line]
    first = (lines or text.splitlines() or ["no message"])[0]
    return re.sub(r"^\S*(?:\.mlir|:\d+:\d+): ", "", first)[:240]
