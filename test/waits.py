#!/usr/bin/env python3
"""Keeps the tests free of what depends on the machine's speed, or on who else runs
tests on it. Prints every line that may, and `N lines`; exit status 0 if there is none.

  waits.py              looks through test/ and .ci/
  waits.py FILE...      looks through these

What is looked for, and what to write instead:

  a limit under 60 s    what must happen is waited for with patience: patience() of
                        test/Runtime/Patience.h, or a TIME_LIMIT of minutes
  a sleep               wait for an event: a line, a file, a process's state
                        (eventually(), waitUntilStopped() and the like)
  a clock               no test compares times; an outcome or a message says what
                        happened
  a fixed port or name  a port that the system gives (ReservedPort), a folder of
                        its own (TemporaryFolder, %t)

test/waits.txt has the exceptions, each with its reason. One that no line needs any
more is an error too.
"""
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LEAST = 60
ITSELF = ("test/waits.py", "test/Tools/waits.test")
NAMES = (".cpp", ".h", ".c", ".py", ".test", ".mlir", ".cases", ".sh")

LIMIT = re.compile(
    r"""(?: time_?out(?:_?seconds)? ["']?\s*[=:(]\s*
        | \btimeout\s+(?:-\S+\s+)*
        | \btime_?limit\w*\s*=\s*
        | -max-time[= ]
        | \b(?:wait|join|communicate|finish|poll)\(\s*(?:timeout=)?
        | \bbarrier\(\w+,\s*
        ) (?P<number>\d+(?:\.\d+)?) (?![\w.]*\d)""", re.X | re.I)
LITERAL = re.compile(r"""\bchrono::(?P<unit>hours|minutes|seconds|milliseconds|microseconds|
                         nanoseconds)(?:\s+\w+)?\((?P<number>[\d']+)\)""", re.X)
SECONDS = {"hours": 3600, "minutes": 60, "seconds": 1, "milliseconds": 1e-3,
           "microseconds": 1e-6, "nanoseconds": 1e-9}
SLEEP = re.compile(r"sleep_(?:for|until)\s*\(|\b(?:u|nano)?sleep\s*\(|\bsleep\s+[\d.$]")
CLOCK = re.compile(r"\b\w*[Cc]lock::now\(|clock_gettime\(|"
                   r"\btime\.(?:time|monotonic|perf_counter)\(|EXPECT_L[TE]\(.*econds")
FIXED = re.compile(r"(?:127\.0\.0\.1|localhost):[1-9]\d*|MASTER_PORT=\d|"
                   r"(?<![\w$}])/tmp/|/dev/shm/\w")


def allowed_rows():
    """(end of a file's path, part of a line, why it may stay)"""
    with open(os.path.join(ROOT, "test", "waits.txt"), encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                path, part, why = (field.strip() for field in line.split("|"))
                yield path, part, why


def finding(line):
    """What in the line depends on the machine, or None."""
    match = LIMIT.search(line)
    if match and 0 < float(match["number"]) < LEAST:
        return f"a limit under {LEAST} s"
    if SLEEP.search(line):
        return "a sleep"
    match = LITERAL.search(line)
    if match and 0 < int(match["number"].replace("'", "")) * SECONDS[match["unit"]] < LEAST:
        return f"a limit under {LEAST} s"
    if CLOCK.search(line):
        return "a clock"
    if FIXED.search(line):
        return "a fixed port or name"
    return None


def paths():
    for folder in ("test", ".ci"):
        for where, folders, files in os.walk(os.path.join(ROOT, folder)):
            folders[:] = sorted(set(folders) - {"__pycache__"})
            for name in sorted(files):
                path = os.path.join(where, name)
                if path.endswith(ITSELF):
                    continue
                if folder == ".ci" or name.endswith(NAMES):
                    yield path


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE")
    chosen, used, found = parser.parse_args().files, set(), 0
    exceptions = list(allowed_rows())
    for path in chosen or paths():
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                what = finding(line)
                allowed = [row for row in exceptions
                           if path.endswith(row[0]) and row[1] in line.strip() + "$"]
                used.update(allowed if what else [])
                if what and not allowed:
                    found += 1
                    print(f"{os.path.relpath(path, ROOT)}:{number}: {what}: {line.strip()}")
    for row in exceptions:
        if not chosen and row not in used:
            found += 1
            print(f"no line of {row[0]} needs this any more: {row[1]}")
    print(f"{found} lines")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
