#!/usr/bin/env python3
"""Calls every command of the repository with --help, which prints how it is used, and
with an option that it does not have, which it refuses with exit status 2. Neither does
anything: no file of the repository or of the folder it is called in changes.

    commands.py

A command is a file outside of build folders that can be executed or that starts with
`#!`. Prints what is wrong and `N of N commands say how they are used`.
"""
import argparse
import os
import stat
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = (".ci", "bench", "docs", "examples", "hardware", "include", "lib", "runtime",
           "scripts", "test", "tools")
# Commands that take the options of another one.
STAND_INS = {"test/OnDevice/tp_run.py": "stands in for tp-run"}
# Far above what any takes, on a machine that is busy.
TIME_LIMIT = 120


def is_command(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"#!" or bool(os.stat(path).st_mode & stat.S_IXUSR)


def commands():
    for top in FOLDERS:
        for folder, inner, files in os.walk(os.path.join(ROOT, top)):
            inner[:] = [name for name in inner if name != "__pycache__"]
            for name in files:
                path = os.path.join(folder, name)
                if is_command(path):
                    yield os.path.relpath(path, ROOT)


def source_times():
    """When every file of the repository was changed, but for what Python keeps."""
    times = {}
    for top in FOLDERS + (".",):
        for folder, inner, files in os.walk(os.path.join(ROOT, top)):
            inner[:] = [] if top == "." else [n for n in inner if n != "__pycache__"]
            for name in files:
                path = os.path.join(folder, name)
                times[path] = os.lstat(path).st_mtime_ns
    return times


def call(path, option, folder):
    with open(path, "rb") as file:
        python = b"python" in file.readline()
    before = [sys.executable, "-B"] if python else []
    # As it is outside of tests: what lit sets is not for commands.
    return subprocess.run([*before, path, option], cwd=folder, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=TIME_LIMIT)


def says_usage(name, text):
    return "usage: " in text or os.path.basename(name) in text


def problem(name, folder):
    path = os.path.join(ROOT, name)
    done = call(path, "--help", folder)
    if done.returncode != 0 or not says_usage(name, done.stdout):
        return (f"--help: expected exit status 0 and how it is used, got "
                f"{done.returncode}: {done.stdout}{done.stderr}")
    done = call(path, "--no-such-option", folder)
    if done.returncode != 2 or "error:" not in done.stderr or \
            not says_usage(name, done.stderr):
        return (f"--no-such-option: expected exit status 2 and how it is used, got "
                f"{done.returncode}: {done.stdout}{done.stderr}")
    left = os.listdir(folder)
    return f"left {left}" if left else None


def main():
    argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    names = sorted(set(commands()) - set(STAND_INS))
    good, before = 0, source_times()
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong = problem(name, folder)
            except subprocess.TimeoutExpired:
                wrong = f"did not end in {TIME_LIMIT} s"
        good += not wrong
        if wrong:
            print(f"{name}: {wrong}")
    changed = sorted(path for path, time in source_times().items()
                     if before.get(path) != time)
    if changed:
        print("changed:", *changed)
    print(f"{good} of {len(names)} commands say how they are used")
    return 0 if names and good == len(names) and not changed else 1


if __name__ == "__main__":
    sys.exit(main())
