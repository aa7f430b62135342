"""What `python -m tp run --stats=FILE` writes: times of steps, and what a step sends and holds."""
from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median

from ..program import Program


def stats_of(program: Program, start: float, steps: Sequence[float]) -> bytes:
    """JSON of an entry that has run.

    Args:
        start: seconds that the start of the ranks and the load of the weights took.
        steps: seconds of each call, in order; at least one.
    """
    memory = program.memory
    return json.dumps({
        "entry": program._entry,
        "target": program.target,
        "mesh": program.mesh,
        "ranks": program.size,
        "launch": program._shared.launch,
        "start_seconds": start,
        "step_seconds": list(steps),
        "least_step_seconds": min(steps),
        "median_step_seconds": median(steps),
        "collectives": program.collectives.as_dicts(),
        "memory_bytes_per_rank": {**memory, "total": memory.total},
    }, indent=2).encode() + b"\n"
