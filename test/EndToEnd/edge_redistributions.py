"""The edge values of every element type through every layout change: from each layout
through each kind of partial value to each layout, with pieces that are uneven, empty,
or of tensors without elements, on 1, 2 and 3 ranks, with poison in all padding. One rank
at most contributes anything but an identity, so every result has the bits of its input.

    edge_redistributions.py FOLDER [--types=f32,i8] [--ranks=1,2,3]
"""

import argparse
import os
import subprocess
import sys

from edge_formats import FORMATS, is_float, kinds_of, read_npy, write_npy

PLAIN = ["replicate", "shard<0>", "shard<1>"]
# Rows; there are as many columns as edge values. On three ranks the pieces of the first
# have 2, 2 and no rows, of the second one rank has all, of the third none has any.
ROWS = [4, 1, 0]


class Failure(Exception):
    pass


def ways(element):
    for first in PLAIN:
        for last in PLAIN:
            yield [first, last] if first != last else None
            for kind in kinds_of(element):
                yield [first, f"partial<{kind}>", last]
    # From one kind to another, which goes through the value.
    for kind in kinds_of(element):
        for other in kinds_of(element):
            if kind != other:
                yield ["shard<0>", f"partial<{kind}>", f"partial<{other}>", "replicate"]


class Program:
    """All ways of one element type on so many ranks."""

    def __init__(self, element, ranks):
        self.element, self.ranks = element, ranks
        self.arguments, self.lines, self.results = [], [], []
        edges = FORMATS[element].edges()
        self.data = {}
        for rows in ROWS:
            codes = [edges[(row + column) % len(edges)]
                     for row in range(rows) for column in range(len(edges))]
            for first in PLAIN:
                name = f"x{rows}_{PLAIN.index(first)}"
                self.data[name] = ((rows, len(edges)), codes)
                self.arguments.append((name, self.typed(name, first)))
        for rows in ROWS:
            for way in filter(None, ways(element)):
                self.add(f"x{rows}_{PLAIN.index(way[0])}", way)

    def typed(self, name, layout):
        rows, columns = self.data[name][0]
        return f'tensor<{rows}x{columns}x{self.element}, #tp.layout<#mesh, ["tp" = {layout}]>>'

    def add(self, name, way):
        value = f"%{name}"
        number = len(self.results)
        for step, (a, b) in enumerate(zip(way, way[1:])):
            self.lines.append(f"    %v{number}_{step} = tp.redistribute {value} : "
                              f"{self.typed(name, a)} to {self.typed(name, b)}")
            value = f"%v{number}_{step}"
        self.results.append((value, self.typed(name, way[-1]), name, way))

    def text(self):
        arguments = ", ".join(f'%{name}: {kind} {{tp.name = "{name}"}}'
                              for name, kind in self.arguments)
        results = ", ".join(f'{kind} {{tp.name = "y{i}"}}'
                            for i, (_, kind, _, _) in enumerate(self.results))
        lines = "\n".join(self.lines)
        return (f'#mesh = #tp.mesh<"tp" = {self.ranks}>\n'
                "module attributes {tp.mesh = #mesh} {\n"
                f"  func.func @main({arguments}) -> ({results}) {{\n{lines}\n    return "
                f"{', '.join(r[0] for r in self.results)} : "
                f"{', '.join(r[1] for r in self.results)}\n  }}\n}}\n")


def execute(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{' '.join(command)[:300]} ends with {done.returncode}: "
                      f"{(done.stderr + done.stdout)[:1500]}")


def check(folder, element, ranks):
    """The number of cells, and what is wrong with them."""
    program = Program(element, ranks)
    path = lambda name: os.path.join(folder, name)
    os.makedirs(folder, exist_ok=True)
    with open(path("layouts.mlir"), "w") as file:
        file.write(program.text())
    execute(["tp-opt", path("layouts.mlir"), "--tp-insert-collectives", "--tp-verify-collectives",
             "--tp-partition", "--tp-verify-partitioned", "--tp-bucket-collectives",
             "--tp-verify-partitioned", f"--tp-cpu-compile=output={path('layouts.tp')}",
             "-o", os.devnull])
    options = []
    for name, (shape, codes) in program.data.items():
        write_npy(path(f"{name}.npy"), element, shape, codes)
        options.append(f"--input={name}=@{path(name + '.npy')}")
    for i in range(len(program.results)):
        options.append(f"--output=y{i}=@{path(f'y{i}.npy')}")
    if is_float(element) and element not in ("f64", "f32", "f16"):
        options.append(f"--dtype={element}")
    execute(["tp-run", path("layouts.tp"), f"--ranks={ranks}", "--poison"] + options)
    cells, wrong = 0, []
    same = FORMATS[element].same
    for i, (_, _, name, way) in enumerate(program.results):
        shape, expected = program.data[name]
        got = read_npy(path(f"y{i}.npy"), element)
        cells += max(1, len(expected))
        if len(got) != len(expected):
            wrong.append(f"{element} {shape} {way}: {len(got)} elements, expected {len(expected)}")
            continue
        wrong += [f"{element} {shape} {' -> '.join(way)} on {ranks} ranks, element {at}: "
                  f"{b:#x}, expected {a:#x}"
                  for at, (a, b) in enumerate(zip(expected, got)) if not same(a, b)]
    return cells, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--types", default=",".join(FORMATS))
    parser.add_argument("--ranks", default="1,2,3")
    options = parser.parse_args()
    cells, wrong, failed = 0, [], 0
    for element in options.types.split(","):
        for ranks in options.ranks.split(","):
            try:
                count, found = check(os.path.join(options.folder, f"{element}-{ranks}"), element,
                                     int(ranks))
            except Failure as failure:
                print(f"{element} on {ranks} ranks: {failure}")
                failed += 1
                continue
            cells += count
            wrong += found
    for line in wrong[:20]:
        print(line)
    print(f"{cells} cells, {len(wrong)} wrong" + (f", {failed} programs failed" if failed else ""))
    return int(bool(wrong or failed))


if __name__ == "__main__":
    sys.exit(main())
