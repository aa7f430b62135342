"""tp: tensor-parallel programs compiled ahead of time, and run from Python.

    program = tp.compile("llama/", plan="auto", mesh={"tp": 4})
    logits = program(tokens)

docs/python.md describes the interface. Running needs numpy alone.
"""
from __future__ import annotations

import sys as _sys

from .shell import interrupts as _interrupts

if _sys.argv[:1] == ["-m"]:  # `python -m tp` imports this package, and then runs __main__
    _interrupts.end_at_once()

from . import blas as _blas  # noqa: F401  it loads the runtime, before others do
from .compiler import compile
from .errors import CompileError, Error, ExportError, ExportWarning, PlanWarning, RunError
from .export import export, export_entries, export_training, join_entries
from .export.local_map import local_map
from .export_jax import export_jax
from .generation.text import TextModel, generate
from .model import Model
from .program import Program, State, load
from .progress import progress
from .views.local_parts import from_local, to_local
from .views.sharding import Sharding, visualize_sharding
from .styles import (ColwiseParallel, ContextParallel, ExpertParallel, FullyShard, Override,
                     PairwiseParallel, PairwiseSequenceParallel, Partial, PrepareModuleInput,
                     PrepareModuleInputOutput, PrepareModuleOutput, Recompute, Replicate,
                     ReplicateParallel, RowwiseParallel, Rule, SequenceParallel, Shard)


def __getattr__(name: str) -> str:
    if name == "__version__":
        from .tools import version
        return version()
    raise AttributeError(f"module 'tp' has no attribute '{name}'")


__all__ = ["ColwiseParallel", "CompileError", "ContextParallel", "Error", "ExpertParallel",
           "ExportError", "ExportWarning", "FullyShard", "Model", "Override", "PairwiseParallel",
           "PairwiseSequenceParallel", "Partial", "PlanWarning", "PrepareModuleInput",
           "PrepareModuleInputOutput", "PrepareModuleOutput", "Program", "Recompute", "Replicate",
           "ReplicateParallel", "RowwiseParallel", "Rule", "RunError", "SequenceParallel", "Shard",
           "Sharding", "State", "TextModel", "compile", "export", "export_entries", "export_jax",
           "export_training", "from_local", "generate", "join_entries", "load", "local_map", "progress",
           "to_local", "visualize_sharding"]
