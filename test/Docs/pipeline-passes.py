#!/usr/bin/env python3
"""Compares the list of passes in docs/command-lines.md with those that tp-opt dumps.

  pipeline-passes.py PAGE.md    with tp-opt in the search path

The list is the block behind `It stands for these passes`. Options and verify passes count as what
they are: passes have the same names in the same order.
"""
import argparse
import re
import subprocess
import sys

PIPELINE = "--tp-partition-pipeline=plan=plan.mlir mesh=tp=4"


def names(text: str) -> list[str]:
    """Passes without their options."""
    return re.findall(r"\btp-[a-z-]+", text)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    page = parser.parse_args().page
    with open(page, encoding="utf-8") as file:
        block = re.search(r"^It stands for these passes.*?^```\n(.*?)^```", file.read(),
                          flags=re.M | re.S)
    if not block:
        sys.exit(f"{page}: expected 'It stands for these passes' and a block")
    # Passes are printed before the first one runs, and fails on this module.
    dumped = subprocess.run(["tp-opt", PIPELINE, "--dump-pass-pipeline"], input="module {}",
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pipeline = re.search(r"^builtin\.module\(\n(.*?)^\)$", dumped.stderr, flags=re.M | re.S)
    if not pipeline:
        sys.exit(f"expected a pipeline of builtin.module, got\n{dumped.stderr}")
    shown, passes = names(block[1]), names(pipeline[1])
    if shown != passes:
        sys.exit(f"{page}: expected {' '.join(passes)}\ngot {' '.join(shown)}")
    print(f"{len(passes)} passes are listed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
