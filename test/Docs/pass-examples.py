#!/usr/bin/env python3
"""Runs the example of every pass in docs/reference/passes.md: its first mlir
block goes through the pass, and what comes out is its second.

  pass-examples.py PASSES.md
"""
import argparse
import re
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    with open(parser.parse_args().page) as file:
        sections = re.split(r"^### `-(.*)`$", file.read(), flags=re.M)[1:]
    count = 0
    for name, text in zip(sections[::2], sections[1::2]):
        blocks = re.findall(r"^```mlir\n(.*?)^```$", text, flags=re.M | re.S)
        if not blocks:
            continue
        if len(blocks) != 2:
            print(f"{name}: expected a block before and a block after")
            return 1
        result = subprocess.run(["tp-opt", "--" + name], input=blocks[0], text=True,
                                capture_output=True)
        # TableGen ends a description at "}]".
        expected = blocks[1].replace("} ]", "}]").strip()
        if result.returncode != 0 or result.stdout.strip() != expected:
            print(f"{name}: the pass gives\n{result.stderr}{result.stdout}")
            return 1
        count += 1
    print(f"{count} examples hold")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
