"""Compares the codes of errors with the C ABI's, with docs/python.md, and with programs.

    error_codes.py REPOSITORY
"""
from __future__ import annotations

import os
import re
import sys
from typing import Any
from unittest import mock

import numpy as np
import tp
from tp.errors import Code

ROOT = sys.argv[1]
MODEL = os.path.join(ROOT, "test", "Python", "Inputs", "train.mlir")
X = np.full((4, 6), 0.25, np.float32)
WEIGHTS = {"up.weight": np.ones((6, 10), np.float32), "opt_step:step": np.array(7),
           "cache": np.zeros((4, 10), np.float32)}


def read(*path: str) -> str:
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def is_alive_after(code: int) -> bool:
    """Whether a program is, after a step that a rank has ended with this code. All its uses say so."""
    with tp.compile(MODEL, weights=WEIGHTS) as program:
        program(X)

        def fail(*_: Any) -> None:
            raise tp.RunError("failed", code=code)
        with mock.patch.object(program._shared.group, "step", fail):
            try:
                program(X)
            except tp.RunError as error:
                assert error.code == code and type(error.code) is int, error
        alive = program.alive
        for use in (lambda: program(X), lambda: program.state["cache"],
                    lambda: program.state.update(step=1)):
            try:
                use()
                assert alive, code
            except tp.RunError as error:
                assert not alive and error.code == Code.RANK_FAILED, (code, error)
        return alive


header = read("runtime", "include", "tp", "Runtime", "Runtime.h")
enum = header[header.index("TP_OK = 0"):header.index("} tp_code")]
codes = {code.name: code.value for code in Code}
assert {name: int(number) for name, number in re.findall(r"\bTP_(\w+) = (\d+)", enum)} == {
    "OK": 0, **codes}, codes
rows = re.findall(r"^\| (\d) \| `(\w+)` \|.*\| (as before|has ended) \|$", read("docs", "python.md"),
                  re.MULTILINE)
assert {name: int(number) for number, name, _ in rows} == codes, rows
for number, name, afterwards in rows:
    # Codes of files and artifacts come from no step.
    if name not in ("FILE", "FORMAT", "UNSUPPORTED"):
        assert is_alive_after(int(number)) == (afterwards == "as before"), (name, afterwards)
with tp.compile(MODEL, weights=WEIGHTS) as program:
    program(X)
    for path, code in (("nowhere.safetensors", Code.FILE), (MODEL, Code.FORMAT)):
        try:
            program.load_state(path)
        except tp.RunError as error:
            assert error.code == code and program.alive, error
    program(X)
print(len(codes), "codes")
