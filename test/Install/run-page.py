#!/usr/bin/env python3
"""Runs what docs/install.md shows, as a user would: every block of indented lines is
given to bash, in a folder that holds tp's `build` and `examples` and with a home of
its own. Where a page says `prints`, the block has to print just that.

  run-page.py PAGE.md --build=DIR --folder=DIR   fails on the first block that does

What is installed stays in FOLDER/home/tp, for other tests.
"""
import os
import re
import subprocess
import sys

from build_cache import arguments, cached, environment

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Indented lines, and what they have to print if the page says so.
BLOCK = re.compile(r"((?:^ {4}[^\n]*\n)+)(?:\nprints\n\n```\n(.*?)```)?", re.M | re.S)


def blocks(page: str) -> list[tuple[str, str | None]]:
    with open(page, encoding="utf-8") as file:
        text = file.read()
    # Fenced blocks are not commands.
    return [(re.sub(r"^ {4}", "", match[1], flags=re.M), match[2])
            for match in BLOCK.finditer(re.sub(r"^```\w+\n.*?^```$", "", text,
                                               flags=re.M | re.S))]


def main() -> int:
    options = arguments(__doc__, "page")
    folder = os.path.abspath(options.folder)
    for name, target in (("build", options.build),
                         ("examples", os.path.join(ROOT, "examples")),
                         ("cc", cached(options.build, "CMAKE_C_COMPILER"))):
        os.symlink(os.path.abspath(target), os.path.join(folder, name))
    variables = environment(options.build)
    variables["HOME"] = os.path.join(folder, "home")
    variables["PATH"] = folder + os.pathsep + variables["PATH"]
    count = 0
    for commands, expected in blocks(options.page):
        done = subprocess.run(["bash", "-euc", commands], cwd=folder, env=variables,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        count += 1
        print(f"{commands}exit status {done.returncode}", flush=True)
        if done.returncode != 0 or expected not in (None, done.stdout):
            print(done.stdout)
            if expected is not None:
                print(f"expected\n{expected}")
            return 1
    print(f"{count} blocks ran")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
