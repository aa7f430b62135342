"""Curves of losses as an SVG image.

    plot.py OUT.svg NAME=LOSSES.csv...     each line of a .csv file is `step,loss`
"""
from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping, Sequence
from html import escape

COLORS = ("#222222", "#d1495b", "#2e86ab", "#3c8d40", "#e09f3e", "#7d5ba6")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 50, 15, 20, 40


def read(path: str | os.PathLike[str]) -> list[float]:
    """The losses of a file, whose lines are `step,loss` from step 0 on. A last line that was not
    written whole is left out."""
    losses: list[float] = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            step, _, loss = line.partition(",")
            if not line.endswith("\n") or int(step) != len(losses):
                break
            losses.append(float(loss))
    return losses


def step_of(most: float) -> float:
    """The distance of about five marks."""
    size = 10.0 ** math.floor(math.log10(most / 5))
    return next(size * factor for factor in (1, 2, 5, 10) if size * factor * 6 >= most)


def plot(curves: Mapping[str, Sequence[float]], title: str = "loss") -> str:
    """The image. Each curve is drawn thinner than the one before, so that equal ones are seen."""
    count = max((len(curve) for curve in curves.values()), default=0)
    values = [value for curve in curves.values() for value in curve if math.isfinite(value)]
    if count < 2 or not values:
        raise ValueError("expected a curve of at least two losses")
    most = max(values) * 1.05 or 1.0
    steps, losses = step_of(count - 1), step_of(most)

    def x(step: float) -> float:
        return LEFT + step / (count - 1) * (WIDTH - LEFT - RIGHT)

    def y(loss: float) -> float:
        return HEIGHT - BOTTOM - loss / most * (HEIGHT - TOP - BOTTOM)
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{LEFT}" y="{TOP - 6}">{escape(title)}</text>',
             f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">step</text>']
    for i in range(int(most / losses) + 1):
        mark = i * losses
        lines.append(f'<path d="M{LEFT} {y(mark):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>'
                     f'<text x="{LEFT - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>')
    for i in range(int((count - 1) / steps) + 1):
        mark = i * steps
        lines.append(f'<text x="{x(mark):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">'
                     f'{mark:g}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        color = COLORS[number % len(COLORS)]
        width = 1.5 + 2.0 * (len(curves) - 1 - number)
        points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in enumerate(curve)
                          if math.isfinite(loss))
        lines.append(f'<polyline points="{points}" fill="none" stroke="{color}" '
                     f'stroke-width="{width:g}" stroke-linejoin="round"/>')
        row = TOP + 18 * number + 14
        lines.append(f'<path d="M{WIDTH - 200} {row - 4}h24" stroke="{color}" '
                     f'stroke-width="{width:g}"/><text x="{WIDTH - 170}" y="{row}">{escape(name)}'
                     '</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    curves = {name: read(path) for name, _, path in (arg.partition("=") for arg in sys.argv[2:])}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        file.write(plot(curves))


if __name__ == "__main__":
    main()
