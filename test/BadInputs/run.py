#!/usr/bin/env python3
"""Bad inputs and the exact message that each one meets.

  run.py KIND.cases...            runs every case; the last line is the count
  run.py KIND.cases --only=TEXT   those whose name holds TEXT
  run.py KIND.cases --update      writes what the tools say now into the table,
                                  where every change is to be read and judged

A table is a list of cases:

    === a name that says what is wrong
    --- plan.mlir                 a file with these lines
    --- edit plan.mlir            the table's common file, changed by the lines
                                  `old => new` (each `old` must occur)
    --- append plan.mlir          lines after the end of that file
    --- make                      Python in the case's folder; make.py's
                                  functions are known: npy(...), artifact(...)
    --- run                       the command, if not the common one; %lib is the
                                  build's folder of libraries
    --- error                     what it says on the standard error output,
                                  `{{...}}` being a regular expression

The case named `common` is what all cases of the table start with. A case passes
when the command, in a folder that holds the case's files, ends in time with
exit status 1, says exactly that, and leaves no file that was not there before.
Source lines and carets under a diagnostic are not compared.
"""
import argparse
import concurrent.futures
import ctypes
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile

import make

# Far above what any case takes, on a machine that is busy.
TIME_LIMIT = 600
# Where the build leaves what is loaded before a tool.
LIBRARIES = os.path.join(os.path.dirname(os.path.dirname(
    shutil.which("tp-run") or "")), "lib")
# A header that claims a gigabyte must not be believed. Sanitizers reserve more
# address space than any limit allows.
MEMORY_LIMIT = None if os.environ.get("TP_SANITIZED") else 16 << 30


class Case:
    def __init__(self, name, line):
        self.name, self.line, self.sections = name, line, []

    def section(self, title):
        for known, lines in self.sections:
            if known == title:
                return "\n".join(lines)
        return None


def read_table(path):
    cases = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if line.startswith("=== "):
                cases.append(Case(line[4:], number))
            elif line.startswith("--- ") and cases:
                cases[-1].sections.append((line[4:], []))
            elif cases and cases[-1].sections:
                cases[-1].sections[-1][1].append(line)
    for case in cases:
        for _, lines in case.sections:
            while lines and not lines[-1]:
                lines.pop()
    names = [case.name for case in cases]
    for name in names:
        if names.count(name) > 1:
            sys.exit(f"{path}: two cases are called '{name}'")
    return cases


def write_files(case, common):
    """Fills the current folder."""
    names = dict(vars(make))
    for source in ([common] if common else []) + [case]:
        for title, lines in source.sections:
            text = "\n".join(lines) + "\n"
            if title in ("run", "error"):
                continue
            if title == "make":
                exec(text, names)
            elif title.startswith("edit "):
                name = title[5:]
                with open(name, encoding="utf-8") as file:
                    content = file.read()
                for line in lines:
                    old, new = line.split(" => ") if " => " in line else (line[:-3], "")
                    if old not in content:
                        sys.exit(f"{source.name}: '{old}' is not in {name}")
                    content = content.replace(old, new.replace("\\n", "\n"))
                with open(name, "w", encoding="utf-8") as file:
                    file.write(content)
            else:
                append = title.startswith("append ")
                name = title[7:] if append else title
                if os.path.dirname(name):
                    os.makedirs(os.path.dirname(name), exist_ok=True)
                with open(name, "a" if append else "w", encoding="utf-8") as file:
                    file.write(text)


def listing():
    found = set()
    for folder, folders, files in os.walk("."):
        found.update(os.path.join(folder, name) for name in folders + files)
    return found


def limit():
    """In the child: no privilege to read what is unreadable, bounded memory."""
    capabilities = ctypes.CDLL(None)
    for override in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        capabilities.prctl(24, override, 0, 0, 0)  # PR_CAPBSET_DROP
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if MEMORY_LIMIT:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))


def diagnostics(text):
    """Without the source lines and carets under a located message."""
    kept = []
    for line in text.splitlines():
        if kept and re.fullmatch(r"\s*\^[\s~^]*", line):
            kept.pop()
        else:
            kept.append(line)
    return "\n".join(kept).strip("\n")


def matches(pattern, text):
    parts = re.split(r"\{\{(.*?)\}\}", pattern)
    expression = "".join(f"(?:{part})" if i % 2 else re.escape(part)
                         for i, part in enumerate(parts))
    return re.fullmatch(expression, text, re.DOTALL) is not None


def run_in_folder(case, common):
    """In a process of its own, whose folder is the case's. Returns what the
    tool said and what is wrong with how it ended."""
    write_files(case, common)
    command = case.section("run") or common.section("run")
    command = command.replace("%lib", LIBRARIES)
    before = listing()
    try:
        done = subprocess.run(
            shlex.split(command), stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            timeout=TIME_LIMIT, preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return "", f"did not end in {TIME_LIMIT} s"
    said = diagnostics(done.stderr.decode("utf-8", "backslashreplace"))
    said = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]",
                  lambda found: f"\\x{ord(found[0]):02x}", said)
    if done.returncode != 1:
        return said, f"exit status {done.returncode}, expected 1"
    left = sorted(listing() - before)
    if left:
        return said, "left " + ", ".join(left)
    return said, None


def run_case(case, common):
    with tempfile.TemporaryDirectory() as folder:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                os.chdir(folder)
                said, wrong = run_in_folder(case, common)
                with os.fdopen(writer, "w", encoding="utf-8") as pipe:
                    pipe.write(repr((said, wrong)))
                status = 0
            except SystemExit as problem:
                print(problem, file=sys.stderr)
            except Exception as problem:  # shown as the case's failure
                print(f"{case.name}: {problem!r}", file=sys.stderr)
            os._exit(status)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        subprocess.run(["chmod", "-R", "u+rwx", folder], stderr=subprocess.DEVNULL)
    return eval(text) if text else ("", "the case could not be set up")


def update(path, results):
    """Writes the messages of `results` into the table at `path`."""
    out, said, skipping = [], None, False
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith("=== "):
            said = results.get(line[4:])
        if line.startswith(("=== ", "--- ")):
            skipping = False
        if skipping and line:
            continue
        if line == "--- error" and said is not None:
            out += [line] + said.splitlines()
            skipping = True
            continue
        out.append(line)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+")
    parser.add_argument("--only", default="")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    good = total = 0
    for path in options.tables:
        cases = read_table(path)
        common = next((c for c in cases if c.name == "common"), Case("common", 0))
        cases = [c for c in cases if c is not common and options.only in c.name]
        if os.environ.get("TP_SANITIZED"):
            # A sanitizer's own library has to come first, and it ends the
            # process where a crash of MLIR's would have been caught.
            cases = [c for c in cases if "LD_PRELOAD" not in (c.section("run") or "")
                     and "MLIR's parser crashes" not in (c.section("error") or "")]
        said_now = {}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = pool.map(lambda case: run_case(case, common), cases)
            for case, (said, wrong) in zip(cases, results):
                total += 1
                expected = case.section("error") or ""
                if not wrong and matches(expected, said):
                    good += 1
                    continue
                if said and not matches(expected, said):
                    said_now[case.name] = said
                print(f"{path}:{case.line}: {case.name}: "
                      f"{wrong or 'says something else'}")
                if not options.update:
                    print("  expected:", *expected.splitlines(), sep="\n    ")
                print("  got:", *said.splitlines(), sep="\n    ", flush=True)
        if options.update:
            update(path, said_now)
    print(f"{total} bad inputs, {good} met the message expected")
    return 0 if total and good == total else 1


if __name__ == "__main__":
    sys.exit(main())
