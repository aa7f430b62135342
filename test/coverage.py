#!/usr/bin/env python3
"""What of the sharding rules is checked, and which planted faults tests catch.

  coverage.py [--build=DIR] [--rules-only] [--op=NAME] [options of plant-faults.py]

Takes the programs of test/Interfaces/check-*.mlir and every named op of linalg
through tp-check-sharding-rules, on one axis, on two and on two parts of one,
and prints a table: a row for each op that has a rule and each way of splitting
it (`whole`: none), columns for chunks and for the kind of partial values that
pass through it on another axis. A cell is the number of runs that checked it on
all ranks against the unsharded op, before and after the partition; `-` where no
rule of such an op allows it, `HOLE` where one does and nothing checks it. With
--op=tensor.pad only the programs that have the op run, and only its rows are
printed. Then prints the table of plant-faults.py. Exits non-zero if there is a hole or a
fault that no test catches.

The ways: test/lib/Interfaces/RuleCells.h.
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

from llvm_folder import llvm_folder

TEST = os.path.dirname(os.path.abspath(__file__))
WAYS = ("whole", "parallel", "reduced", "broadcast", "indexed", "captured",
        "minor", "packed", "nested", "two")
PASSES = ("none", "sum", "avg", "product", "max", "min")
CHUNKS = ("even", "uneven")
# Named ops have sizes that 6 divides and 4 and 5 do not.
ON_ONE_AXIS = ("ranks=2", "ranks=3", "ranks=4", "ranks=5")
ON_TWO = ("ranks=2,2", "ranks=2,3", "ranks=5,2", "ranks=2,5",
          "ranks=2,2 sub-axes=true")


def run_checks(tp_opt, program, options, work):
    """The lines that one run of tp-check-sharding-rules writes."""
    cells = os.path.join(
        work, f"{os.path.basename(program)} {options}.txt".replace(" ", "-"))
    # The functions of the custom ops in these programs.
    linked = os.path.join(os.path.dirname(os.path.dirname(tp_opt)), "lib", "tp_test_custom_ops.so")
    done = subprocess.run(
        [tp_opt, program, "-o", os.devnull, f"--link={linked}", "--tp-check-sharding-rules="
         f"{options} new-cells=true cells={cells}"],
        capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        sys.exit(f"{program} on {options}: " +
                 (errors[0] if errors else done.stderr))
    with open(cells) as file:
        return [line.split() for line in file]


def programs_with(op, llvm, work):
    """The files of all programs, or of those with `op`."""
    named = os.path.join(work, "named-ops.mlir")
    with open(named, "w") as file:
        subprocess.run(
            [sys.executable, os.path.join(TEST, "linalg_named_ops.py"),
             f"{llvm}/include/mlir/Dialect/Linalg/IR/LinalgStructuredOps.h.inc"],
            stdout=file, check=True)
    found = []
    for path in [named] + sorted(glob.glob(f"{TEST}/Interfaces/check-*.mlir")):
        with open(path) as file:
            if not op or re.search(rf"{re.escape(op)}\b", file.read()):
                found.append(path)
    return found


def collect(tp_opt, programs, work):
    """(ops with a rule, cells that rules have, runs of each cell)"""
    rules, allowed, runs = set(), set(), collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = [pool.submit(run_checks, tp_opt, program, options, work)
                   for options in ON_TWO + ON_ONE_AXIS for program in programs]
        for result in results:
            for what, op, *cell in result.result():
                if what == "rule":
                    rules.add(op)
                elif what == "has":
                    allowed.add((op, *cell))
                else:
                    runs[(op, *cell)] += 1
    return rules, allowed, runs


def print_table(rules, allowed, runs):
    """Returns the number of holes."""
    width = max(map(len, rules))
    columns = [(chunks, kind) for chunks in CHUNKS for kind in PASSES]
    print(f"{'op':{width}} {'split':10}" + "".join(
        f"{chunks:>8}" for chunks, _ in columns))
    print(f"{'':{width}} {'':10}" + "".join(f"{kind:>8}" for _, kind in columns))
    holes = checks = 0
    for op in sorted(rules):
        ways = [way for way in WAYS
                if any((op, way, *column) in allowed for column in columns)]
        if not ways:
            holes += 1
            print(f"{op:{width}} {'':10}    HOLE  no program has it")
        for way in ways:
            row = ""
            for column in columns:
                cell = (op, way, *column)
                text = str(runs[cell]) if cell in runs else \
                    "HOLE" if cell in allowed else "-"
                holes += text == "HOLE"
                checks += cell in runs
                row += f"{text:>8}"
            print(f"{op:{width}} {way:10}{row}")
    print(f"{len(rules)} ops with a rule, {checks} cells checked, "
          f"{holes} holes")
    return holes


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(os.path.dirname(TEST), "build"))
    parser.add_argument("--rules-only", action="store_true")
    parser.add_argument("--op", default="", help="the op whose rows are printed")
    for option in ("--work", "--only", "--part", "--jobs"):
        parser.add_argument(option, help="of plant-faults.py")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        rules, allowed, runs = collect(os.path.join(options.build, "bin", "tp-opt"),
                                       programs_with(options.op, llvm_folder(), work), work)
    if options.op:
        if options.op not in rules:
            parser.error(f"no program has an op '{options.op}' with a rule")
        rules = {options.op}
        runs = {cell: count for cell, count in runs.items() if cell[0] == options.op}
    holes = print_table(rules, allowed, runs)
    missed = 0
    if not options.rules_only:
        words = [f"--{name}={getattr(options, name)}"
                 for name in ("work", "only", "part", "jobs") if getattr(options, name)]
        missed = subprocess.run(
            [sys.executable, os.path.join(TEST, "plant-faults.py"), *words]).returncode
    sys.exit(holes > 0 or missed)


if __name__ == "__main__":
    main()
