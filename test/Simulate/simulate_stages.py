#!/usr/bin/env python3
"""Takes programs through the stages of the partition and simulates each.

  simulate_stages.py TP_OPT PROGRAMS.mlir ...            programs with pins
  simulate_stages.py TP_OPT MODEL.mlir --plan=P --mesh=M  a model and its plan

PROGRAMS.mlir holds sections that start with `//--- name`; where one has layout
changes already, the first stage is the program as it stands. The program before
tp-partition is simulated by itself; the partitioned one against the program
with layouts in its types. Prints one line per stage; exits non-zero at the
first error.
"""
import argparse
import os
import subprocess
import sys
import tempfile


class Failure(Exception):
    """`stage` went wrong with `message`; `by_simulator` says who found it."""

    def __init__(self, program, stage, message, by_simulator):
        super().__init__(message)
        self.program, self.stage = program, stage
        self.message, self.by_simulator = message, by_simulator


def run(program, stage, command, by_simulator=False):
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=900)
    except subprocess.TimeoutExpired:
        raise Failure(program, stage, "does not end", by_simulator)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error:" in line]
        message = lines[0].split("error: ", 1)[1] if lines else \
            f"exit status {done.returncode}"
        raise Failure(program, stage, message, by_simulator)
    return done.stderr.strip()


def stages(tp_opt, name, path, work, plan="", mesh="", seed=1):
    """Yields (stage, what the simulator covered)."""
    def tool(stage, source, target, passes):
        run(name, stage, [tp_opt, source, "--mlir-print-debuginfo", "-o",
                          target] + passes)

    def simulate(stage, source, more=""):
        return run(name, stage,
                   [tp_opt, source, "-o", os.devnull,
                    f"--tp-simulate=report=true seed={seed} {more}"],
                   by_simulator=True)

    layouts, collectives, local = (
        os.path.join(work, stage + ".mlir")
        for stage in ("materialize", "insert-collectives", "partition"))
    before = ["--tp-propagate", "--tp-materialize"]
    if plan:
        before[:0] = [f"--tp-apply-plan=plan={plan} mesh={mesh}",
                      "--tp-normalize"]
    with open(path) as file:
        if "tp.redistribute" in file.read():
            before = []
    tool("materialize", path, layouts, before)
    yield "materialize", simulate("materialize", layouts)
    tool("insert-collectives", layouts, collectives,
         ["--tp-insert-collectives"])
    yield "insert-collectives", simulate("insert-collectives", collectives)
    tool("partition", collectives, local, ["--tp-partition"])
    yield "partition", simulate("partition", local, f"reference={layouts}")


def sections(path):
    """The programs of a file: (name, text)."""
    with open(path) as file:
        parts = file.read().split("\n//--- ")
    return [part.split("\n", 1) for part in parts[1:]]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tp_opt")
    parser.add_argument("paths", nargs="+", metavar="PROGRAMS.mlir")
    parser.add_argument("--plan")
    parser.add_argument("--mesh")
    words = parser.parse_args()
    tp_opt, paths = words.tp_opt, words.paths
    options = {name: value for name, value in
               (("plan", words.plan), ("mesh", words.mesh)) if value}
    with tempfile.TemporaryDirectory() as work:
        programs = []
        for path in paths:
            if "plan" in options:
                programs.append((os.path.basename(path), path))
                continue
            for name, text in sections(path):
                programs.append((name, os.path.join(work, name + ".mlir")))
                with open(programs[-1][1], "w") as file:
                    file.write(text)
        try:
            for name, path in programs:
                for stage, covered in stages(tp_opt, name, path, work,
                                             **options):
                    print(f"{name}: {stage}: {covered}")
        except Failure as failure:
            sys.exit(f"{failure.program}: {failure.stage}: {failure.message}")


if __name__ == "__main__":
    main()
