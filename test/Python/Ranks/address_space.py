"""Starts ranks where a limit of the address space leaves no room for them, and then where it does.

    address_space.py LLAMA
"""
from __future__ import annotations

import os
import re
import resource
import sys
from unittest import mock

import numpy as np

import tp
from tp.ranks import threads

_STACK = 1 << 30


def used() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")


def main() -> None:
    tokens = np.load(os.path.join(sys.argv[1], "tokens.npy"))
    tp.compile(sys.argv[1], plan="auto", mesh=2).save("llama.tp")
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    for launch in ("thread", "process"):
        with tp.load("llama.tp", sys.argv[1], launch=launch) as program:
            resource.setrlimit(resource.RLIMIT_AS, (used() + (30 << 20), hard))
            try:
                program(tokens)
            except tp.RunError as error:
                print(f"{launch}: {error.code}: {re.sub('[0-9]{5,}', 'N', str(error))}")
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
            print(program(tokens).shape)
    # Room for the stack of the first rank's thread alone, where nothing has foreseen it.
    with tp.load("llama.tp", sys.argv[1], launch="thread") as program, \
            mock.patch.object(threads, "check_address_space"):
        resource.setrlimit(resource.RLIMIT_AS, (used() + _STACK * 3 // 2, hard))
        try:
            program(tokens)
        except tp.RunError as error:
            print(f"{error.code}: {error}")
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        print(program(tokens).shape)


def with_large_stacks() -> None:
    """Starts this program again: the C library looks at the limit when a program starts."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    if soft != _STACK:
        resource.setrlimit(resource.RLIMIT_STACK, (_STACK, hard))
        os.execv(sys.executable, [sys.executable, *sys.argv])


if __name__ == "__main__":
    with_large_stacks()
    main()
