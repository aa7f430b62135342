"""The edge values of every element type through every layout change: from each layout
through each kind of partial value to each layout, with pieces that are uneven, empty,
or of tensors without elements, on 1, 2 and 3 ranks, with poison in all padding. One rank
at most contributes anything but an identity, so every result has the bits of its input.

    edge_redistributions.py FOLDER [--types=f32,i8] [--ranks=1,2,3]
"""

import os
import sys

import edge_runs
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from element_formats import ELEMENTS, FORMATS

PLAIN = ["replicate", "shard<0>", "shard<1>"]
# Rows; there are as many columns as edge values. On three ranks the pieces of the first
# have 2, 2 and no rows, of the second one rank has all, of the third none has any.
ROWS = [4, 1, 0]


def kinds_of(element):
    """The kinds of partial values that elements of a type can be."""
    if element == "i1":
        return ["max", "min"]
    return ["sum", "product", "max", "min"] + (["avg"] if element in FORMATS else [])


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
        edges = ELEMENTS[element].few_edges()
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


def check(folder, element, ranks):
    """The number of cells, and what is wrong with them."""
    program = Program(element, ranks)
    model, package = os.path.join(folder, "layouts.mlir"), os.path.join(folder, "layouts.tp")
    with open(model, "w") as file:
        file.write(program.text())
    edge_runs.execute(["tp-opt", model, "--tp-insert-collectives", "--tp-verify-collectives",
                       "--tp-partition", "--tp-verify-partitioned", "--tp-bucket-collectives",
                       "--tp-verify-partitioned", f"--tp-cpu-compile=output={package}",
                       "-o", os.devnull])
    inputs = [(name, element, shape, codes) for name, (shape, codes) in program.data.items()]
    outputs = [(f"y{i}", element) for i in range(len(program.results))]
    cells, wrong = 0, []
    found = edge_runs.run(package, ranks, element, inputs, outputs)
    for (_, _, name, way), got in zip(program.results, found):
        shape, expected = program.data[name]
        cells += max(1, len(expected))
        wrong += edge_runs.differences(f"{element} {shape} {' -> '.join(way)} on {ranks} ranks",
                                       element, expected, got)
    return cells, wrong


if __name__ == "__main__":
    sys.exit(edge_runs.check_all(check, edge_runs.parser().parse_args()))
