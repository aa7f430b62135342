#!/usr/bin/env python3
"""Checks the C and C++ lines that changed against a base commit, as CI does.

    check-format.py --base=REV        what changed since REV, committed or not
    check-format.py --base=REV --fix  writes the format of what changed

clang-format checks the lines that changed. clang-tidy checks them where a compile database
is in the build folder (cmake writes one), with every warning an error; it takes minutes.
Headers are checked with the files that include them. Prints what is wrong and
`N files, N wrong`.
"""
from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = (".cpp", ".c")
HUNK = re.compile(r"^@@ -\S+ \+(\d+)(?:,(\d+))? @@")
Ranges = dict[str, list[tuple[int, int]]]


def program(name: str) -> str | None:
    """LLVM 22's, since other versions format otherwise."""
    return shutil.which(name + "-22")


def changed_lines(base: str) -> Ranges:
    """The lines of every C and C++ file that `base` does not have, first and last. Files that
    git does not track yet count, those that it ignores do not."""
    command = ["git", "-C", ROOT, "diff", "--unified=0", "--no-color", "--no-ext-diff",
               "--diff-filter=d", base, "--", "*.h", "*.cpp", "*.c"]
    found: Ranges = {}
    path = ""
    for line in subprocess.check_output(command, text=True).splitlines():
        if line.startswith("+++ b/"):
            path = line[len("+++ b/"):]
        elif (hunk := HUNK.match(line)) and (count := int(hunk[2] or 1)):
            found.setdefault(path, []).append((int(hunk[1]), int(hunk[1]) + count - 1))
    untracked = ["git", "-C", ROOT, "ls-files", "--others", "--exclude-standard", "--",
                 "*.h", "*.cpp", "*.c"]
    for path in subprocess.check_output(untracked, text=True).splitlines():
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            found[path] = [(1, max(1, len(file.readlines())))]
    return found


def wrong_format(tool: str, path: str, lines: list[tuple[int, int]], fix: bool) -> bool:
    """Prints, or writes, what clang-format makes of the lines; if that is other than what is
    there."""
    full = os.path.join(ROOT, path)
    options = [f"--lines={first}:{last}" for first, last in lines]
    if fix:
        subprocess.run([tool, "-i", *options, full], check=True)
        return False
    with open(full, encoding="utf-8") as file:
        before = file.read()
    after = subprocess.check_output([tool, *options, full], text=True)
    sys.stdout.writelines(difflib.unified_diff(before.splitlines(True), after.splitlines(True),
                                               path, path, n=1))
    return before != after


def wrong_by_tidy(tool: str, build: str, changed: Ranges) -> bool:
    """Prints what clang-tidy says of the lines; if it says anything."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        known = {os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
                 for entry in json.load(file)}
    files = sorted(path for path in changed if path.endswith(SOURCES) and path in known)
    if not files:
        return False
    # Names are compared from their ends.
    lines = [{"name": path, "lines": ranges} for path, ranges in changed.items()]
    done = subprocess.run([tool, "-p", build, "--quiet", "--warnings-as-errors=*",
                           f"--line-filter={json.dumps(lines)}", *files],
                          cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    sys.stdout.write(done.stdout)
    return done.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", metavar="REV", required=True)
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--build", metavar="FOLDER", default=os.path.join(ROOT, "build"),
                        help="where compile_commands.json is")
    parser.add_argument("--no-tidy", action="store_true", help="clang-format alone")
    options = parser.parse_args()
    formatter = program("clang-format")
    if not formatter:
        parser.error("expected clang-format 22, found none; install clang-format-22")
    try:
        changed = changed_lines(options.base)
    except subprocess.CalledProcessError:
        parser.error(f"--base: expected a commit, got '{options.base}'")
    wrong = sum(wrong_format(formatter, path, lines, options.fix)
                for path, lines in sorted(changed.items()))
    database = os.path.exists(os.path.join(options.build, "compile_commands.json"))
    if changed and database and not options.no_tidy and not options.fix:
        tidy = program("clang-tidy")
        if not tidy:
            parser.error("expected clang-tidy 22, found none; install clang-tidy-22, or give "
                         "--no-tidy")
        wrong += wrong_by_tidy(tidy, options.build, changed)
    print(f"{len(changed)} files, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
