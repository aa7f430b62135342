"""Room for the ranks of a process under a limit of the address space (`ulimit -v`)."""
from __future__ import annotations

import os
import resource

from ..artifact import Artifact
from ..errors import Code, RunError
from ..program_tables import memory_of

_MEBIBYTE = 1 << 20
# What a thread takes besides its stack: OpenBLAS's buffer, one of malloc's heaps. These numbers and
# the next one are tp-run's (runtime/launch/AddressSpace.cpp).
_THREAD = (128 + 64) * _MEBIBYTE
# For what the libraries compile and keep.
_RESERVE = 32 * _MEBIBYTE
# The C library's stack of a thread where there is no limit of it.
_STACK = 8 * _MEBIBYTE


def check_address_space(artifact: Artifact, threads: int) -> None:
    """Raises RunError where so many ranks, each with its memory, have no room in this process.
    OpenBLAS would try forever to get a buffer that it is refused."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return
    stack = resource.getrlimit(resource.RLIMIT_STACK)[0]
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")
    held = max(memory_of(entry).total for entry in artifact.entries.values())
    needed = _RESERVE + threads * (
        held + _THREAD + (_STACK if stack == resource.RLIM_INFINITY else stack))
    if limit - used < needed:
        ranks = "1 rank needs" if threads == 1 else f"{threads} ranks need"
        advice = ("" if threads == 1 else ": expected a higher limit, or launch='process', whose "
                  "processes each hold one rank's memory")
        raise RunError(f"out of memory: {ranks} {needed} bytes of address space, the limit "
                       f"(ulimit -v) leaves {max(limit - used, 0)}{advice}", code=Code.SYSTEM)
