"""The command line of a script that draws a figure."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Callable


def main(description: str, path: str, draw: Callable[[], str]) -> int:
    """Writes what `draw` makes to `path`. With --check compares it with the file, and fails
    if that differs. Returns the exit status."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    drawn = draw()
    if options.check:
        with open(path, encoding="utf-8") as file:
            if file.read() != drawn:
                sys.exit(f"{path} is stale; run {sys.argv[0]}")
        return 0
    with open(path, "w", encoding="utf-8") as file:
        file.write(drawn)
    return 0
