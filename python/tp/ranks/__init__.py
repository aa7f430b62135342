"""The ranks of a program: threads, spawned processes, or one rank in each process of torchrun or
another launcher."""
from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..artifact import Artifact
from ..errors import Code, RunError, listed
from .group import Group, limit_text
from .launcher import Launched, find_launcher

LAUNCHES = ("thread", "process", "torchrun")


def choose_launch(launch: str | None, artifact: Artifact) -> str:
    """How ranks are started: what the caller asks for, else `torchrun` where this process is one
    of several that torchrun or another launcher started, else processes for several devices, else
    threads. Raises RunError."""
    size = artifact.size
    if launch is not None and launch not in LAUNCHES:
        raise RunError(f"launch: expected one of {listed(LAUNCHES)}, got {launch!r}")
    launched = find_launcher() if launch in (None, "torchrun") else None
    if launch is None:
        launch = "torchrun" if launched is not None and launched.size > 1 else (
            "process" if artifact.is_cuda and size > 1 else "thread")
    if launch == "thread" and artifact.is_cuda and size > 1:
        raise RunError("launch: ranks on devices are processes, which can be ended when a device "
                       "hangs: write launch='process'")
    if launch == "torchrun":
        _check_launched(launched, size)
    return launch


def _check_launched(launched: Launched | None, size: int) -> None:
    if launched is None:
        text = "RANK and WORLD_SIZE are not in the environment: start the"
        by = f"by torchrun --nproc-per-node={size}"
        raise RunError(f"launch='torchrun': {text} script {by}, or write launch='thread'",
                       in_shell=f"--launch=torchrun: {text} command {by} -m tp, or write "
                                "--launch=thread")
    option = "--nproc-per-node=" if launched.by == "torchrun" else "-n "
    if launched.size != size:
        raise RunError(f"{launched.by} started {launched.size} ranks, the program is for {size}: "
                       f"write {option}{size}, compile for a mesh of {launched.size} ranks, or "
                       "write launch='thread' to have all ranks in every process")
    if launched.rank >= size:
        raise RunError(f"{launched.rank_variable} is {launched.rank}, expected 0 to {size - 1}")
    if not launched.run:
        raise RunError(f"{launched.rank_variable} is set, but no variable that tells this job from "
                       "others: set MASTER_PORT in all processes of the job to a number that no "
                       "other job has, or start the script by torchrun")


@contextmanager
def telling_others(launch: str | None, timeout: float) -> Iterator[None]:
    """Where each rank is a process of its own, the others hear at once that this one fails here."""
    try:
        yield
    except RunError as error:
        if launch in (None, "torchrun"):
            from .torchrun import tell_failure
            tell_failure(error, timeout)
        raise


def start(artifact: Artifact, launch: str, timeout: float) -> Group:
    """Starts the ranks; their arguments are zero. Raises RunError."""
    try:
        return _started(artifact, launch, timeout)
    except OSError as error:  # of what is imported, at the latest now
        raise RunError(f"cannot start the ranks: {error.strerror}{limit_text(error)}",
                       code=Code.SYSTEM) from error


def _started(artifact: Artifact, launch: str, timeout: float) -> Group:
    if launch == "process":
        from .processes import ProcessGroup
        return ProcessGroup(artifact, timeout)
    if launch == "torchrun":
        from .torchrun import TorchrunGroup
        return TorchrunGroup(artifact, timeout)
    from .threads import ThreadGroup
    return ThreadGroup(artifact, timeout)
