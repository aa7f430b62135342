"""tp: tensor-parallel programs compiled ahead of time, and run from Python.

    program = tp.compile("llama/", plan="auto", mesh={"tp": 4})
    logits = program(tokens)

docs/python.md describes the interface. Running needs numpy alone.
"""
from __future__ import annotations

from .errors import CompileError, Error, RunError
from .program import Program, State, load
from .progress import progress

__all__ = ["CompileError", "Error", "Program", "RunError", "State", "load", "progress"]
