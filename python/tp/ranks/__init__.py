"""The ranks of a program: threads, spawned processes, or one rank in each process of torchrun."""
from __future__ import annotations

import os

from ..artifact import Artifact
from ..errors import RunError, listed
from .group import Group

LAUNCHES = ("thread", "process", "torchrun")


def choose_launch(launch: str | None, artifact: Artifact) -> str:
    """How ranks are started: what the caller asks for, else torchrun's where this process is one
    of several that torchrun started, else processes for several devices, else threads. Raises
    RunError."""
    size = artifact.size
    if launch is not None and launch not in LAUNCHES:
        raise RunError(f"launch: expected one of {listed(LAUNCHES)}, got {launch!r}")
    world = os.environ.get("WORLD_SIZE")
    if launch is None:
        launch = "torchrun" if world not in (None, "1") and "RANK" in os.environ else (
            "process" if artifact.is_cuda and size > 1 else "thread")
    if launch == "thread" and artifact.is_cuda and size > 1:
        raise RunError("launch: ranks on devices are processes, which can be ended when a device "
                       "hangs: write launch='process'")
    if launch == "torchrun":
        if world is None or "RANK" not in os.environ:
            raise RunError("launch='torchrun': RANK and WORLD_SIZE are not in the environment: "
                           "start the script by torchrun --nproc-per-node="
                           f"{size}, or write launch='thread'")
        if world != str(size):
            raise RunError(f"torchrun started {world} ranks, the program is for {size}: write "
                           f"--nproc-per-node={size}, compile for a mesh of {world} ranks, or write "
                           "launch='thread' to have all ranks in every process")
    return launch


def start(artifact: Artifact, launch: str, timeout: float) -> Group:
    """Starts the ranks; their arguments are zero. Raises RunError."""
    if launch == "process":
        from .processes import ProcessGroup
        return ProcessGroup(artifact, timeout)
    if launch == "torchrun":
        from .torchrun import TorchrunGroup
        return TorchrunGroup(artifact, timeout)
    from .threads import ThreadGroup
    return ThreadGroup(artifact, timeout)
