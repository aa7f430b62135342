"""Forks processes that have called programs: the children close, drop or leave them.

    forked.py PROGRAM.tp                  the artifact of Inputs/train.mlir for two ranks
"""
from __future__ import annotations

import os
import signal
import sys

import numpy as np
import tp

X = np.full((4, 6), 0.25, np.float32)
WEIGHTS = {"up.weight": np.ones((6, 10), np.float32), "opt_step:step": np.array(7),
           "cache": np.zeros((4, 10), np.float32)}


def check(launch: str, what: str) -> None:
    """Forks with a program of the launch, and once more with what the child has."""
    program = tp.load(sys.argv[1], WEIGHTS, launch=launch)
    program(X)
    child = os.fork()
    if child == 0:
        signal.alarm(600)
        if what == "close":
            program.close()
        elif what == "drop":
            del program
        elif what == "use":
            try:
                program(X)
            except tp.RunError as error:
                print(f"{launch}: {str(error).split(', and')[1]}", flush=True)
            os._exit(0)
        sys.exit(0)  # which ends all that is left
    print(f"{launch}, {what}: status {os.waitpid(child, 0)[1]}", flush=True)
    program(X)
    program.close()


if __name__ == "__main__":
    for launch in "thread", "process":
        for what in "close", "drop", "leave", "use":
            check(launch, what)
