#!/usr/bin/env python3
"""Draws docs/figures/rank-program.svg: the commands of one rank, and the arena
over these commands. It compiles rank-program.mlir with the tp-compile in the
search path.

  rank_program.py           writes the figure
  rank_program.py --check   fails if the figure is stale
"""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench"))
import artifact
import figure_file

FIGURE = os.path.join(HERE, "rank-program.svg")
COLORS = {"kernel": "#8fb8de", "gemm": "#f2c078", "collective": "#a8d5a2"}
LEFT, COLUMN, TOP, HEAD, BYTES_PER_PIXEL = 92, 104, 20, 46, 160
ELEMENT_BYTES = {"f32": 4}


@dataclass
class Access:
    """A buffer that a command touches."""
    space: str
    index: int
    offset: int
    size: int
    reads: bool
    writes: bool

    def overlaps(self, other: Access) -> bool:
        return (self.space, self.index) == (other.space, other.index) and \
            self.offset < other.offset + other.size and other.offset < self.offset + self.size


@dataclass
class Live:
    """A value in the arena with its live range."""
    place: Access
    first: int
    last: int
    kind: str
    name: str


def access(buffer: dict, size: int, reads: bool, writes: bool) -> Access:
    return Access(buffer["space"], buffer.get("index", 0), buffer.get("offset", 0), size, reads, writes)


def accesses(entry: dict, command: dict) -> list[Access]:
    if command["command"] == "kernel":
        return [access(b, b["bytes"], b.get("access") != "write", b.get("access") != "read")
                for b in command["buffers"]]
    if command["command"] == "gemm":
        m, n, k = command["m"], command["n"], command["k"]
        size = ELEMENT_BYTES[command["dtype"]]
        return [access(command["a"]["buffer"], m * k * size, True, False),
                access(command["b"]["buffer"], k * n * size, True, False),
                access(command["c"]["buffer"], m * n * size, False, True)]
    row = entry["collectives"][command["id"]]
    size = row["wire_bytes"]
    return [access(command["input"], size, True, False),
            access(command["output"], size, False, True)]


def label(entry: dict, command: dict) -> tuple[str, str]:
    """What a command is, and the op that it computes."""
    kind = command["command"]
    if kind == "collective":
        row = entry["collectives"][command["id"]]
        return row["kind"], row["location"]
    if kind == "gemm":
        return f"gemm {command['m']}x{command['n']}x{command['k']}", command["location"]
    return kind, command["location"]


def port_name(entry: dict, place: Access) -> str:
    ports = entry["arguments" if place.space == "argument" else "results"]
    return ports[place.index]["name"]


def live_ranges(entry: dict) -> tuple[list[Live], list[list[str]]]:
    """The values of the arena, and per command the arguments and results it touches."""
    lives: list[Live] = []
    ports: list[list[str]] = []
    for number, command in enumerate(entry["program"]):
        touched = accesses(entry, command)
        ports.append([("reads " if a.reads else "writes ") + port_name(entry, a)
                      for a in touched if a.space in ("argument", "result")])
        for place in touched:
            for live in reversed(lives):
                if place.reads and place.space == "arena" and live.place.overlaps(place):
                    live.last = number
                    break
        for place in touched:
            if place.writes and place.space == "arena":
                lives.append(Live(place, number, number, command["command"],
                                  label(entry, command)[1]))
    return lives, ports


def text(x: float, y: float, words: str, more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle"{more}>{words}</text>'


def figure(entry: dict) -> str:
    lives, ports = live_ranges(entry)
    count = len(entry["program"])
    arena = entry["memory"]["arena_bytes"]
    top, height = TOP + HEAD + 30, arena / BYTES_PER_PIXEL
    foot = top + height + 22
    lines = [text(LEFT / 2, top - 8, "arena"),
             f'<rect x="{LEFT}" y="{top}" width="{count * COLUMN}" height="{height:g}" '
             'fill="#f4f4f4" stroke="#999"/>']
    for offset in sorted({live.place.offset for live in lives} | {arena}):
        lines.append(f'<text x="{LEFT - 6}" y="{top + offset / BYTES_PER_PIXEL + 4:g}" '
                     f'text-anchor="end" font-size="11">{offset:,}</text>')
    for number, command in enumerate(entry["program"]):
        x = LEFT + number * COLUMN
        what, name = label(entry, command)
        lines += [f'<rect x="{x + 3}" y="{TOP}" width="{COLUMN - 6}" height="{HEAD}" rx="4" '
                  f'fill="{COLORS[command["command"]]}"/>',
                  text(x + COLUMN / 2, TOP + 19, f"{number}: {name}", ' font-weight="bold"'),
                  text(x + COLUMN / 2, TOP + 36, what, ' font-size="11"')]
        lines += [text(x + COLUMN / 2, foot + 14 * i, words, ' font-size="11"')
                  for i, words in enumerate(ports[number])]
    for live in lives:
        x = LEFT + live.first * COLUMN + 3
        y = top + live.place.offset / BYTES_PER_PIXEL + 2
        width = (live.last - live.first + 1) * COLUMN - 6
        lines += [f'<rect x="{x}" y="{y:g}" width="{width}" '
                  f'height="{live.place.size / BYTES_PER_PIXEL - 4:g}" rx="4" '
                  f'fill="{COLORS[live.kind]}" stroke="#666" fill-opacity="0.7"/>',
                  text(x + (COLUMN - 6) / 2, y + 20, live.name),
                  text(x + (COLUMN - 6) / 2, y + 35, f"{live.place.size:,} bytes",
                       ' font-size="11"')]
    bottom = foot + 14 * max(map(len, ports))
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {LEFT + count * COLUMN + 20} {bottom:g}" '
        'font-family="sans-serif" font-size="13">',
        '<!-- docs/figures/rank_program.py writes this file. -->',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    return "\n".join(head + lines + ["</svg>"]) + "\n"


def drawn() -> str:
    source = os.path.join(HERE, "rank-program")
    with tempfile.TemporaryDirectory() as folder:
        # Only kernels of this target list how many bytes of a buffer they touch.
        output = os.path.join(folder, "program.tp")
        subprocess.run(["tp-compile", source + ".mlir", f"--plan={source}.plan.mlir",
                        "--target=cuda", "--chip=host", "-o", output], check=True)
        return figure(artifact.entry(output))


if __name__ == "__main__":
    sys.exit(figure_file.main(__doc__, FIGURE, drawn))
