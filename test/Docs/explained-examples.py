#!/usr/bin/env python3
"""Holds a page's tool output against what the tools say.

  explained-examples.py PAGE.md            fails where the page is not fresh
  explained-examples.py PAGE.md --update   writes it anew

Of every fenced block that follows a line `    tp-compile ...`, after one empty
line, the text is what that command prints, run in the repository's root.
"""
import argparse
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(^ {4}(tp-compile [^\n]*)\n\n```\n)(.*?)(^```$)", re.M | re.S)


def said(command):
    done = subprocess.run(command, shell=True, cwd=ROOT, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{command}: exit status {done.returncode}\n{done.stdout}")
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    page = options.page
    with open(page, encoding="utf-8") as file:
        text = file.read()
    fresh, count = BLOCK.subn(
        lambda found: found[1] + said(found[2]) + found[4], text)
    if options.update:
        with open(page, "w", encoding="utf-8") as file:
            file.write(fresh)
    elif fresh != text:
        for old, new in zip(text.splitlines(), fresh.splitlines()):
            if old != new:
                sys.exit(f"{page} is not fresh; run {sys.argv[0]} {page} --update\n"
                         f"page: {old}\nsaid: {new}")
        sys.exit(f"{page} is not fresh; run {sys.argv[0]} {page} --update")
    print(f"{count} outputs are fresh")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
