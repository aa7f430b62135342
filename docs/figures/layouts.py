#!/usr/bin/env python3
"""Draws docs/figures/layouts.svg: one dimension under several layouts, and the
buffer of every rank.

  layouts.py            writes the figure
  layouts.py --check    fails if the figure is stale
"""
from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field

import figure_file

FIGURE = os.path.splitext(os.path.abspath(__file__))[0] + ".svg"
COLORS = ("#8fb8de", "#f2c078", "#a8d5a2", "#d9a5c7")
CELL, GAP, LEFT, RIGHT = 26, 30, 20, 420


@dataclass
class Layout:
    """Axis parts of one dimension, major first: (size, shards or replicates)."""
    title: str
    spelling: str
    size: int
    parts: list[tuple[int, bool]]
    segments: list[int] = field(default_factory=list)

    def ranks(self) -> int:
        count = 1
        for size, _ in self.parts:
            count *= size
        return count

    def runs(self, rank: int) -> list[tuple[list[int], int]]:
        """The indices that a rank has of every segment, and the size of the chunk."""
        coordinates, rest = [], rank
        for size, _ in reversed(self.parts):
            coordinates.insert(0, rest % size)
            rest //= size
        found, start = [], 0
        for size in self.segments or [self.size]:
            begin, end, chunk = start, start + size, size
            for (ranks, shards), coordinate in zip(self.parts, coordinates):
                if shards:
                    chunk = -(-chunk // ranks)
                    begin = min(end, begin + coordinate * chunk)
                    end = min(end, begin + chunk)
            found.append((list(range(begin, end)), chunk))
            start += size
        return found


LAYOUTS = (
    Layout("uneven chunks over an axis", '"tp" = 4: [shard&lt;0&gt;]', 5, [(4, True)]),
    Layout("uneven chunks over the two sub-axes of that axis",
           '["tp":1:2 = shard&lt;0&gt;, "tp":2:2 = shard&lt;0&gt;]', 5, [(2, True), (2, True)]),
    Layout("two heads on four ranks: two ranks per head",
           '["tp":1:2 = shard&lt;0&gt;, "tp":2:2 = replicate]', 2, [(2, True), (2, False)]),
    Layout("a packed dimension: every segment by itself",
           '"tp" = 2: [shard&lt;0, segments = [4, 2, 2]&gt;]', 8, [(2, True)], [4, 2, 2]),
)


def text(x: float, y: float, content: str, style: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}"{style}>{content}</text>'


def cell(x: float, y: float, fill: str, label: str) -> list[str]:
    shape = (f'<rect x="{x:g}" y="{y:g}" width="{CELL}" height="{CELL}" fill="{fill}" '
             'stroke="#333"/>')
    middle = ' text-anchor="middle"'
    return [shape, text(x + CELL / 2, y + 18, label, middle)] if label else [shape]


def draw_dimension(layout: Layout, y: float) -> list[str]:
    """Every index, in the colours of the ranks that have it."""
    lines, starts = [], set()
    total = 0
    for size in layout.segments:
        starts.add(total)
        total += size
    x = LEFT
    for index in range(layout.size):
        x += 8 if index in starts and index else 0
        owners = [rank for rank in range(layout.ranks())
                  if any(index in run for run, _ in layout.runs(rank))]
        for position, owner in enumerate(owners):
            width = CELL / len(owners)
            lines.append(f'<rect x="{x + position * width:g}" y="{y:g}" width="{width:g}" '
                         f'height="{CELL}" fill="{COLORS[owner]}"/>')
        lines += cell(x, y, "none", str(index))
        x += CELL
    return lines


def draw_buffers(layout: Layout, y: float) -> list[str]:
    lines = []
    for rank in range(layout.ranks()):
        lines.append(text(RIGHT, y + 18, f"rank {rank}"))
        x = RIGHT + 60
        for run, chunk in layout.runs(rank):
            for place in range(chunk):
                known = place < len(run)
                lines += cell(x, y, COLORS[rank] if known else "url(#padding)",
                              str(run[place]) if known else "")
                x += CELL
            x += 8
        y += CELL + 4
    return lines


def figure() -> str:
    lines, y = [], 30
    for layout in LAYOUTS:
        lines.append(text(LEFT, y, layout.title, ' font-weight="bold"'))
        lines.append(text(LEFT, y + 20, layout.spelling, ' font-family="monospace"'))
        lines += draw_dimension(layout, y + 34)
        lines += draw_buffers(layout, y - 14)
        y += max(80, layout.ranks() * (CELL + 4)) + GAP
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {y - GAP}" '
        'font-family="sans-serif" font-size="13">',
        '<!-- docs/figures/layouts.py writes this file. -->',
        '<defs><pattern id="padding" width="6" height="6" patternUnits="userSpaceOnUse">'
        '<path d="M0,6 L6,0" stroke="#999"/></pattern></defs>',
        '<rect width="100%" height="100%" fill="white"/>',
    ]
    return "\n".join(head + lines + ["</svg>"]) + "\n"


if __name__ == "__main__":
    sys.exit(figure_file.main(__doc__, FIGURE, figure))
