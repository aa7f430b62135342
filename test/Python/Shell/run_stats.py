"""What `python -m tp run --repeat=3 --stats=FILE` has written is what the program says.

    run_stats.py PROGRAM.tp FILE
"""
from __future__ import annotations

import json
import sys

import tp

PROGRAM, FILE = sys.argv[1:]
with open(FILE, encoding="utf-8") as file:
    stats = json.load(file)
program = tp.load(PROGRAM)
steps = stats["step_seconds"]
assert len(steps) == 3 and all(seconds > 0 for seconds in steps), steps
assert stats["least_step_seconds"] == min(steps), stats
assert stats["median_step_seconds"] == sorted(steps)[1], stats
assert stats["start_seconds"] > 0, stats
assert (stats["entry"], stats["target"], stats["mesh"], stats["ranks"], stats["launch"]) == (
    "main", "cpu", {"tp": 2}, 2, "thread"), stats
assert stats["collectives"] == program.collectives.as_dicts() and stats["collectives"], stats
assert stats["memory_bytes_per_rank"] == {**program.memory, "total": program.memory.total}, stats
