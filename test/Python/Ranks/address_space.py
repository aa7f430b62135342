"""Starts ranks where a limit of the address space leaves no room for them, and then where it does.

    address_space.py LLAMA
"""
from __future__ import annotations

import os
import re
import resource
import sys

import numpy as np

import tp


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


if __name__ == "__main__":
    main()
