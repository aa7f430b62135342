#!/usr/bin/env python3
"""Checks that the code of pages is code of examples/out-of-tree, which test/Install
builds and runs: every fenced block of C or C++ has to stand in one of its files, with
any indentation.

  example-code.py PAGE.md...   fails on the first block that does not
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "out-of-tree")


def lines(text: str) -> str:
    """The text without indentation."""
    return "".join(line.strip() + "\n" for line in text.splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+")
    files = []
    for name in os.listdir(EXAMPLE):
        with open(os.path.join(EXAMPLE, name), encoding="utf-8") as file:
            files.append("\n" + lines(file.read()))
    for page in parser.parse_args().pages:
        with open(page, encoding="utf-8") as file:
            blocks = re.findall(r"^```(?:c|cpp)\n(.*?)^```$", file.read(), flags=re.M | re.S)
        for block in blocks:
            if not any("\n" + lines(block) in text for text in files):
                print(f"{page}: no file of examples/out-of-tree has\n{block}")
                return 1
        print(f"{os.path.basename(page)}: {len(blocks)} blocks")
        if not blocks:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
