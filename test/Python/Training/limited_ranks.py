"""Trains an artifact on four processes under a limit of the address space, without torch.

    limited_ranks.py ARTIFACT BATCHES LIMIT CHECKPOINT FILE...

Three steps, a checkpoint, and a fourth step of another program that goes on from it. Prints the
losses, or what tp.RunError says. LIMIT 0 is none: then also the most address space that a process
has had.
"""
from __future__ import annotations

import resource
import sys

import numpy as np
import tp


def peak(process: object = "self") -> int:
    """The most bytes of address space that a process has had."""
    with open(f"/proc/{process}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmPeak"))


def children() -> list[str]:
    """The processes of ranks."""
    with open("/proc/thread-self/children", encoding="ascii") as file:
        return file.read().split()


def main() -> None:
    artifact, batches, limit, checkpoint, *files = sys.argv[1:]
    if int(limit):
        resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
    data = list(np.load(batches))
    with tp.load(artifact, files, launch="process") as step:
        losses = [step(*pair) for pair in data[:3]]
        step.save_checkpoint(checkpoint)
        peaks = [peak(process) for process in children()]
    with tp.load(artifact, files, launch="process") as step:
        step.load_checkpoint(checkpoint)
        losses.append(step(*data[3]))
    print(*(float(loss).hex() for loss in losses))
    if not int(limit):
        print(max(*peaks, peak()))


if __name__ == "__main__":
    try:
        main()
    except tp.RunError as error:
        print(error)
