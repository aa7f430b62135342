"""Runs the Python code of a page, in order and in one process, and compares what it prints.

    run_page.py PAGE.md --folder=FOLDER

A block that a line with `save it as` in it comes before becomes the file that the line names. After
a block, a paragraph `prints` and a block without a language show what it prints. A page has no
plan that the compiler warns about.
"""
from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import warnings

import tp

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"save it as `([\w./]+)`:\s*\Z")


def main() -> dict[str, object]:
    """Runs the page; the names that its code defines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("page")
    parser.add_argument("--folder", required=True)
    options = parser.parse_args()
    with open(options.page, encoding="utf-8") as file:
        page = file.read()
    warnings.simplefilter("error", tp.PlanWarning)
    os.chdir(options.folder)
    sys.path.insert(0, os.getcwd())
    names: dict[str, object] = {"__name__": "__main__"}
    code = outputs = 0
    printed: str | None = None
    end = 0
    for block in BLOCK.finditer(page):
        language, text = block.groups()
        before = page[end:block.start()]
        end = block.end()
        named = FILE.search(before) if language else None
        if language == "python" or named:
            assert not printed, f"the page does not show that a block prints {printed!r}"
            if named:
                with open(named.group(1), "w", encoding="utf-8") as file:
                    file.write(text)
                continue
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, options.page, "exec"), names)
            printed = out.getvalue()
            code += 1
        else:
            assert before.strip() == "prints", f"expected 'prints' before {text!r}"
            assert text == printed, f"the page shows\n{text}\nits code prints\n{printed}"
            printed = None
            outputs += 1
    assert not printed, f"the page does not show that a block prints {printed!r}"
    print(f"{code} blocks of code, {outputs} of output")
    return names


if __name__ == "__main__":
    main()
