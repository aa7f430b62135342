"""Trains under limits of what a rank may hold: tp chooses what is computed again.

The limits are what `explain` says that a rank holds where modules are computed again. Under each
the program compiles, holds less than without a limit, and trains as PyTorch does; below the last
one nothing compiles.
"""
from __future__ import annotations

import re
import warnings
from functools import partial
from typing import Any

import torch

import tp
import plans  # sets the path of training
from plans import TITAN, Decoder, distance_of_all
from training import STEPS, Case, Reference, language_loss

SGD = partial(torch.optim.SGD, lr=0.05, momentum=0.9)
ROW = re.compile(r"^ +(\d+) +(\d+) +([\d.]+)  (.*)$", re.MULTILINE)


def front_of(step: tp.Program) -> list[tuple[int, str]]:
    """What a rank may hold, and what is then computed again; most bytes first."""
    text = step.explain()
    table = text[text.index("what a rank may hold"):]
    rows = [(int(row[1]), row[4]) for row in ROW.finditer(table)]
    assert [held for held, _ in rows] == sorted((held for held, _ in rows), reverse=True), table
    return rows


def compiled(model: tp.Model, plan: Any, mesh: dict[str, int], limit: int) -> tp.Program:
    """Under a limit in bytes; what tp remarks is known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tp.compile(model, plan=plan, mesh=mesh, memory_limit=limit)


def main() -> None:
    torch.manual_seed(0)
    plans.LAYERS = 4
    case = Case(Decoder(), language_loss, SGD, TITAN, plans.batch)
    data = [plans.batch() for _ in range(STEPS)]
    model = tp.export_training(case.module, case.loss, case.optimizer, data[0])
    reference = Reference(case, data)
    for mesh, plan in ({"tp": 1}, "auto"), ({"tp": 2}, TITAN):
        with tp.compile(model, plan=plan, mesh=mesh) as step:
            front, arena = front_of(step), step.memory["arena"]
        print(f"{mesh}: {'several rows' if len(front) > 2 else front}")
        for held, _ in (front[len(front) // 2], front[-1]):
            with compiled(model, plan, mesh, held) as step:
                equal = distance_of_all(reference, case, step) <= 1
                saves = step.memory["arena"] < arena
            print(f"{mesh}: {'less' if saves else 'NO LESS'}, {'equal' if equal else 'DIFFERS'}")
        try:
            compiled(model, plan, mesh, front[-1][0] // 2)
            print("a limit that nothing keeps was kept")
        except tp.CompileError as error:
            told = f"bytes, the limit is {front[-1][0] // 2}" in str(error)
            print(f"{mesh}: {'refused' if told else error}")


if __name__ == "__main__":
    main()
