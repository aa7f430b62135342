"""Who started this process as one rank of several: what the environment says."""
from __future__ import annotations

import os
from dataclasses import dataclass

from ..errors import RunError


@dataclass(frozen=True)
class Launched:
    """This process as a rank.

    Attributes:
        by: the launcher.
        rank_variable: what names the rank.
        run: the variables that tell this run from others, `MASTER_PORT=29500`; empty if none of
            them does.
        local_size: how many of its ranks are on this host, None where the launcher does not say.
    """
    by: str
    rank_variable: str
    rank: int
    size: int
    local_size: int | None
    run: str


@dataclass(frozen=True)
class _Variables:
    by: str
    rank: str
    size: str
    local_size: str
    run: str
    part: str = ""  # which part of the run: it says nothing alone


# As in runtime/launch/Launcher.cpp. MASTER_PORT stands for the run where ranks are started by hand.
_LAUNCHERS = (
    _Variables("torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE",
               "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"),
    _Variables("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
               "OMPI_COMM_WORLD_LOCAL_SIZE", "PMIX_NAMESPACE"),
    _Variables("mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "PMI_JOBID"),
    _Variables("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "", "SLURM_JOB_ID",
               "SLURM_STEP_ID"),
)


def find_launcher() -> Launched | None:
    """The first launcher whose variables are set. Raises RunError where they are no numbers, or
    where one of several processes does not know which it is."""
    for names in _LAUNCHERS:
        rank, size = _number(names.rank), _number(names.size)
        if rank is None or size is None:
            if names.by == "torchrun":
                _check_half(names, rank, size)
            continue
        return Launched(names.by, names.rank, rank, size, _number(names.local_size), _run(names))
    return None


def _check_half(names: _Variables, rank: int | None, size: int | None) -> None:
    """Not for srun, which sets some of its variables in a batch script too."""
    if rank is None and size in (None, 1):
        return
    there, missing = (names.size, names.rank) if rank is None else (names.rank, names.size)
    raise RunError(f"{there} is in the environment, but {missing} is not: set both in every "
                   "process, or write launch='thread' to have all ranks in this one")


def _run(names: _Variables) -> str:
    set_names = [name for name in (names.run, "MASTER_PORT") if os.environ.get(name)]
    # torchrun calls every run "none" that has no --rdzv-id.
    if all(name == "TORCHELASTIC_RUN_ID" and os.environ[name] == "none" for name in set_names):
        return ""
    part = [names.part] if os.environ.get(names.part) else []
    return ", ".join(f"{name}={os.environ[name]}" for name in set_names + part)


def _number(variable: str) -> int | None:
    text = os.environ.get(variable)
    if not text:
        return None
    if not text.isdecimal():
        raise RunError(f"{variable}: expected a number, got '{text}'")
    return int(text)
