#!/usr/bin/env python3
"""Runs the commands that pages show: every indented line that starts with one
of tp's tools, in a folder that holds the files the pages speak of.

  run-commands.py PAGE.md...   fails on the first command that does
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "llama")
NAMES = {
    "model.mlir": "model.mlir", "plan.mlir": "megatron.plan.mlir",
    "w.safetensors": "weights.safetensors", "tokens.npy": "tokens.npy",
    "logits.npy": "logits.npy",
}


def commands(page):
    """The commands of a page: continued lines joined, comments and the
    brackets around what is optional taken off."""
    with open(page) as file:
        text = file.read().replace("\\\n", " ")
    for line in text.splitlines():
        if re.match(r" {4,}tp-(compile|run|opt) ", line):
            line = line.split(" #")[0].strip()
            yield re.sub(r"\[(--[^\]]*)\]", r"\1", line)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+")
    options = parser.parse_args()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, source in NAMES.items():
            os.symlink(os.path.join(EXAMPLE, source), os.path.join(folder, name))
        os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
        run = lambda command: subprocess.run(
            command, shell=True, cwd=folder, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        run("tp-compile model.mlir --plan=plan.mlir -o model.tp --dump-stages=stages "
            "--dump-details && "
            "mv stages/*-insert-collectives.mlir layouts.mlir && "
            "mv stages/*-partition.mlir local.mlir")
        for page in options.pages:
            for command in commands(page):
                result = run(command)
                count += 1
                print(f"{os.path.basename(page)}: {command}: exit status {result.returncode}")
                if result.returncode != 0:
                    print(result.stdout)
                    return 1
    print(f"{count} commands ran")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
