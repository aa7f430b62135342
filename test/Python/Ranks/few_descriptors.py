"""Starts processes of ranks with ever more descriptors: a start that fails says why, and leaves no
descriptor open.

    few_descriptors.py MODEL
"""
from __future__ import annotations

import os
import re
import resource
import sys

import numpy as np
import tp

WEIGHTS = {"up.weight": np.ones((6, 10), np.float32), "opt_step:step": np.array(7),
           "cache": np.ones((4, 10), np.float32)}
X = np.full((4, 6), 0.25, np.float32)


def opened() -> set[str]:
    """What this process has open, without the folder that is read for it."""
    return {name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")}


def main() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    texts: dict[str, None] = {}
    with tp.compile(sys.argv[1], plan="auto", mesh={"tp": 2}, weights=WEIGHTS,
                    launch="process") as program:
        before = opened()
        for limit in range(3, soft):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
            try:
                program(X)
                break
            except tp.RunError as error:
                texts[f"{error.code}: {re.sub('[0-9]{3,}', 'N', str(error))}"] = None
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert opened() == before, (limit, opened(), before)
    print(*texts, "runs", sep="\n")


if __name__ == "__main__":
    main()
