"""Options of tp-compile that tp.compile and `python -m tp` take by the same names."""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .errors import CompileError, listed, near

# What each does; the value of an option is True or False.
FLAGS = {
    "dump_details": "with --dump-stages: locations and numbers of values too",
    "merge_gemms": "one product of those that read one matrix",
    "no_implicit_collectives": "a collective that no plan entry asks for is an error",
    "no_unnamed_weights": "a weight that no plan entry names and that is whole on every rank is an "
                          "error",
    "remarks": "tells on stderr why layouts change where they do",
    "replicate_unknown": "every rank does all of an op that has no sharding rule",
    "strict": "a plan entry without effect is an error",
    "tf32": "products of f32 round their operands to tf32 on GPUs",
    "verify": "simulates all ranks on random data after every stage",
}
# What a value stands for, and what the option does.
VALUES = {
    "attention_memory": ("BYTES", "of target cuda: what the scores of one step of an attention may "
                                  "take"),
    "dump_stages": ("FOLDER", "writes the program after every stage"),
    "hardware": ("FILE|NAME", "the machine that costs are for: a100, h100, ... or a .json file"),
    "memory_limit": ("BYTES", "the most that a rank may hold: 80GB, 16GiB"),
    "objective": ("WHAT", "what layouts are chosen by: communication or time"),
    "target_cpu": ("NAME", "the processor that runs the program, as LLVM names it: x86-64-v3; "
                           "native, the default, is that of this machine"),
    "unroll_limit": ("OPS", "of target cpu: a loop of which unrolling would make more ops is kept"),
    "verify_seed": ("N", "seed of --verify's data"),
    "weight_storage": ("TYPE", "f16 or bf16: what matrices of f32 are rounded to when they are "
                               "loaded"),
    "write_plan": ("FILE", "the plan with what tp chose; torch:FILE is Python for PyTorch"),
}
# What to write in place of tp-compile's other options.
ANSWERS = {"compare": "program.explain()", "explain": "program.explain()",
           "report": "program.report(path)", "what_if": "tp-compile --what-if", "o": "program.save",
           "output": "program.save(path)", "chip": "chips=", "devices": "mesh={'tp': n}"}


# What tp.compile takes besides.
ARGUMENTS = ("plan", "mesh", "target", "chips", "weights", "launch", "timeout", "rules", "link")


def option_flags(options: Mapping[str, Any]) -> list[str]:
    """The options of tp-compile for those of tp.compile. Raises CompileError."""
    flags = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if name in FLAGS:
            if not isinstance(value, bool):
                raise CompileError(f"tp.compile: option {name}: expected True or False, got "
                                   f"{value!r}")
            flags += [flag] if value else []
        elif name in VALUES:
            if value is None or isinstance(value, (bool, list, tuple, dict)):
                raise CompileError(f"tp.compile: option {name}: expected a number or a text, got "
                                   f"{value!r}")
            if name == "write_plan" and value == "-":
                raise CompileError("tp.compile: option write_plan: expected a file, got '-'")
            if name == "weight_storage" and value not in ("f16", "bf16"):
                raise CompileError("tp.compile: option weight_storage: expected 'f16' or 'bf16', got "
                                   f"{value!r}")
            flags.append(f"{flag}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
        elif name in ANSWERS:
            raise CompileError(f"tp.compile: no option '{name}': write {ANSWERS[name]}")
        else:
            known = [*FLAGS, *VALUES, *ARGUMENTS]
            raise CompileError(f"tp.compile: no option '{name}'"
                               f"{near(name, known) or f'; the options are {listed(known, 99)}'}")
    return flags
