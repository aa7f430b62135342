"""Assembles the kernels of every program of kernel_cases.py with ptxas, or those of
per-rank modules, and tells of those that it refuses or that spill registers.

    ptxas.py TP_OPT PTXAS FOLDER [--all] [--chip=sm_90] [--dtype=f32] [--module=MODULE.mlir]

Every program is for one of the chips: each kind of op and each element type for all of
them. With --all every program is for all.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

import kernel_cases
from kernel_program import BYTES

CHIPS = ["sm_80", "sm_90", "sm_100"]


def assemble(options, name, chip):
    """How many kernels there are; what is wrong with each."""
    base = os.path.join(options.folder, name)
    ptx = f"{base}.{chip}.ptx"
    made = subprocess.run([options.tp_opt, base + ".mlir",
                           f"--tp-cuda-compile=show=ptx chip={chip}", "-o", os.devnull],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900)
    if made.returncode:
        return 0, [made.stderr.decode()]
    with open(ptx, "wb") as file:
        file.write(made.stdout)
    done = subprocess.run([options.ptxas, f"-arch={chip}", "-v", ptx, "-o", base + ".cubin"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=900)
    text = done.stdout.decode()
    if done.returncode:
        return 0, [text]
    spills = re.findall(r"Function properties for (\S+)\n\s+(.*(?:[1-9]\d*) bytes spill.*)",
                        text)
    return text.count("Compiling entry function"), \
        [f"{kernel}: {line}" for kernel, line in spills
         if not re.search(r"\b0 bytes spill stores, 0 bytes spill loads", line)]


def main():
    parser = argparse.ArgumentParser()
    for name in ("tp_opt", "ptxas", "folder"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--chip", action="append")
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--module", action="append")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    names, turns = [], []
    if options.module:
        for number, module in enumerate(options.module):
            names.append(f"module-{number}")
            turns.append(number)
            shutil.copy(module, os.path.join(options.folder, names[-1] + ".mlir"))
    else:
        kinds = {}
        for row, dtype in enumerate(options.dtype or list(BYTES)):
            for kind, p in kernel_cases.programs(dtype):
                names.append(f"{dtype}-{kind}")
                turns.append(row + kinds.setdefault(kind, len(kinds)))
                with open(os.path.join(options.folder, names[-1] + ".mlir"), "w") as file:
                    file.write(p.text())
    bad = kernels = 0
    for name, turn in zip(names, turns):
        chips = CHIPS if options.all else [CHIPS[turn % len(CHIPS)]]
        for chip in options.chip or chips:
            count, problems = assemble(options, name, chip)
            kernels += count
            bad += len(problems)
            for problem in problems:
                print(f"{name} {chip}: {problem}")
    print(f"{kernels} kernels assembled, {bad} problems")
    return int(bad > 0 or kernels == 0)


if __name__ == "__main__":
    sys.exit(main())
