"""Compares the threads of a process, and its environment, before and after it loads tp."""
import os

import numpy


def threads() -> int:
    """Of this process."""
    return len(os.listdir("/proc/self/task"))


before, variables = threads(), dict(os.environ)
import tp  # noqa: E402

print(threads() == before, os.environ == variables, tp.__version__ != "")
