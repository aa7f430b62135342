#!/usr/bin/env python3
"""Runs `tp-compile --verify` on every program in some folders that tp-compile takes.

  verify_every_program.py [--mesh=M] [--jobs=J] [--seconds=S] [--elements=N] [--show]
                          PATH...

A program is what stands between `// -----` in a .mlir file. One that has no mesh of its
own gets layouts by --plan=auto on mesh M. A program that --verify refuses is one
that compiles without it: such a program is printed, and the exit status is 1. So is
one that takes longer than S seconds either way. Programs with a tensor of more than
N elements (--elements) are left out: an interpreter takes long for them.
"""

import argparse
import concurrent.futures
import math
import os
import re
import subprocess
import sys
import tempfile


def programs_in(paths):
    """(name, text) of all that may be a program."""
    for path in paths:
        files = [path] if os.path.isfile(path) else sorted(
            os.path.join(folder, name) for folder, _, names in os.walk(path)
            for name in names if name.endswith(".mlir"))
        for file in files:
            with open(file, encoding="utf-8", errors="replace") as source:
                text = source.read()
            parts = re.split(r"(?m)^// -----.*$", text)
            for number, part in enumerate(parts):
                if re.search(r"func\.func (public )?@", part):
                    yield file + (f"#{number}" if len(parts) > 1 else ""), file, part


def largest(text):
    """The elements of the largest tensor."""
    return max((math.prod(int(n) for n in shape.split("x") if n)
                for shape in re.findall(r"tensor<((?:\d+x)+)", text)), default=1)


def execute(command, seconds):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds)
    except subprocess.TimeoutExpired:
        return None, f"takes more than {seconds} s"
    return done.returncode, done.stdout.decode(errors="replace")


def check(program, options):
    """(outcome, what is said): verified, in part, refused, no program."""
    name, file, text = program
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.mlir")
        if name == file:
            path = file  # Resources stand beside it.
        else:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        flags = [] if re.search(r"tp\.mesh\s*=", text) else \
            ["--plan=auto", f"--mesh={options.mesh}"]
        # On the way to code too much is refused that is no business of --verify.
        code, said = execute(["tp-compile", path, "--verify", *flags], options.seconds)
        if code == 0:
            return ("in part" if "not verified" in said else "verified"), said
        output = os.path.join(folder, "model.tp")
        plain, _ = execute(["tp-compile", path, "-o", output, *flags], options.seconds)
        return ("no program" if plain else "refused"), said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--mesh", default="tp=2")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--elements", type=int, default=1 << 20)
    parser.add_argument("--show", action="store_true", help="what is said of each program")
    parser.add_argument("path", nargs="+")
    options = parser.parse_args()
    counts = dict.fromkeys(("verified", "in part", "refused", "no program"), 0)
    found = list(programs_in(options.path))
    small = [program for program in found if largest(program[2]) <= options.elements]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for program, (outcome, said) in zip(
                small, pool.map(lambda p: check(p, options), small)):
            counts[outcome] += 1
            if outcome in ("in part", "refused") or options.show:
                why = [line for line in said.splitlines()
                       if re.search("(error|remark|takes)", line)]
                print(f"{program[0]}: {outcome}: {why[0] if why else said[:200]}", flush=True)
    total = sum(counts.values()) - counts["no program"]
    print(f"{total} programs, {counts['verified']} verified, {counts['in part']} verified in "
          f"part, {counts['refused']} refused; {counts['no program']} others do not compile, "
          f"{len(found) - len(small)} are too large")
    return int(counts["refused"] > 0 or total == 0)


if __name__ == "__main__":
    sys.exit(main())
