#!/usr/bin/env python3
"""Draws docs/figures/training.svg: the losses of examples/train, by PyTorch and by tp on meshes.

  training.py            writes the figure
  training.py --check    fails if the figure is stale

training.csv has a column for each run; `--add NAME LOSSES.csv` adds one that examples/train wrote.
"""
from __future__ import annotations

import csv
import os
import sys

import figure_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "examples", "train"))
from plot import plot, read  # noqa: E402

FIGURE = os.path.join(HERE, "training.svg")
TABLE = os.path.join(HERE, "training.csv")


def curves() -> dict[str, list[float]]:
    """The losses of all runs, by their names."""
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE, encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return {name: [float(row[i]) for row in rows] for i, name in enumerate(names)}


def add(name: str, path: str) -> None:
    """Adds a run, whose losses have as many digits as rounding leaves equal."""
    table = {**curves(), name: read(path)}
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows([f"{value:.4f}" for value in row] for row in zip(*table.values()))


def figure() -> str:
    """The image."""
    return plot(curves(), "loss of examples/train, 300 steps")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--add"] and len(sys.argv) == 4:
        add(*sys.argv[2:])
        sys.exit(0)
    sys.exit(figure_file.main(__doc__, FIGURE, figure))
