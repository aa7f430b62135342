#!/usr/bin/env python3
"""Prints one block of fenced MLIR under a heading of a page.

  reference-block.py PAGE.md NAME NUMBER   NAME is the heading, NUMBER counts from 1
"""
import argparse
import re
import sys


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("name")
    parser.add_argument("number", type=int)
    options = parser.parse_args()
    with open(options.page, encoding="utf-8") as file:
        sections = re.split(r"^###? (.*)$", file.read(), flags=re.M)[1:]
    for heading, text in zip(sections[::2], sections[1::2]):
        blocks = re.findall(r"^```mlir\n(.*?)^```$", text, flags=re.M | re.S)
        if heading == options.name and 0 < options.number <= len(blocks):
            print(blocks[options.number - 1])
            return 0
    print(f"{options.page} has no block {options.number} under {options.name}",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
