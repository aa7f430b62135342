"""The edge values of every element type through programs that look them up, reduce and
move them, sharded in pieces that are uneven or empty, on 1, 2 and 3 ranks, with poison in
all padding. Results have the bits that IEEE 754 gives the unsharded program.

    edge_programs.py FOLDER [--types=f32,i8] [--ranks=1,2,3] [--rows=4,5]
                     [--programs=lookups,reductions,movements] [--fakes=DIR]

With --fakes they run on devices that are the host, with the libraries in DIR.
"""

import os
import sys

import edge_runs
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import fake_devices
from element_formats import ELEMENTS, FORMATS

# Rows of what is sharded: on three ranks the pieces of four have 2, 2 and no rows.
ROWS = [1, 2, 4, 5]


class Program:
    """All programs of one element type, in one function."""

    def __init__(self, element, all_rows, programs):
        self.element, self.format = element, ELEMENTS[element]
        self.edges = self.format.few_edges()
        self.columns = len(self.edges)
        # Floats of eight bits are only moved and cast.
        self.is_narrow = element.startswith("f8")
        self.sums = "f32" if self.is_narrow else element
        self.arguments, self.lines, self.results, self.constants = [], [], [], {}
        for rows in all_rows:
            for name in programs:
                getattr(self, name)(rows)

    # Pieces of text.

    def tensor(self, *sizes, element=None):
        return "tensor<" + "".join(f"{n}x" for n in sizes) + (element or self.element) + ">"

    def argument(self, sizes, codes, pin, element=None):
        name = f"a{len(self.arguments)}"
        self.arguments.append((name, sizes, codes, element or self.element, pin))
        return f"%{name}"

    def constant(self, code, element=None):
        element = element or self.element
        name = f"%c{element}_{code:x}"
        self.constants[name] = f"{name} = arith.constant {ELEMENTS[element].literal(code)}" + \
            ("" if element == "i1" else f" : {element}")
        return name

    def value(self, text):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def result(self, what, value, sizes, expected, element=None, pin=None):
        self.results.append((what, value, sizes, expected, element or self.element, pin))

    def rotated(self, rows):
        return [self.edges[(row + column) % self.columns]
                for row in range(rows) for column in range(self.columns)]

    def generic(self, maps, loops, inputs, init, body, sizes, output=None):
        output = output or self.element
        given = "" if not inputs else "ins(" + ", ".join(v for v, _ in inputs) + " : " + \
            ", ".join(t for _, t in inputs) + ") "
        kind = self.tensor(*sizes, element=output)
        all_maps = ", ".join(f"affine_map<(i, j) -> ({m})>" for m in maps)
        iterators = ", ".join(f'"{loop}"' for loop in loops)
        return self.value(
            f"linalg.generic {{indexing_maps = [{all_maps}], iterator_types = [{iterators}]}} {given}"
            f"outs({init} : {kind}) {{\n{body}\n    }} -> {kind}")

    # Programs.

    def lookups(self, rows):
        table = self.rotated(rows)
        # Fewer reads than rows, each body with a table of its own: the ranks add up what
        # they find, which is cheaper than to gather the table.
        order = [(5 * k + 2) % rows for k in range(max(1, rows // 2))]
        index = self.argument([len(order)], [n & 0xffffffff for n in order], "replicate", "i32")
        sizes = [len(order), self.columns]
        empty = self.value(f"tensor.empty() : {self.tensor(*sizes)}")
        found = [table[row * self.columns + j] for row in order for j in range(self.columns)]
        bodies = [("lookup", "", "%x", found)]
        if self.element in FORMATS and not self.is_narrow:
            bodies.append(("lookup, negated", f"%y = arith.negf %x : {self.element}", "%y",
                           [self.format.negated(code) for code in found]))
            if self.format.infinity is not None:
                bodies.append(
                    ("lookup, times infinity",
                     f"%y = arith.mulf %x, {self.constant(self.format.infinity)} : {self.element}",
                     "%y", [self.format.times_infinity(code) for code in found]))
        if self.element in ("f32", "f64"):
            last = table[-self.columns:] * len(order)
            bodies.append(
                ("two lookups, added",
                 f"%l = arith.constant {rows - 1} : index\n"
                 f"      %z = arith.maxsi %k, %l : index\n"
                 f"      %w = tensor.extract TABLE[%z, %j] : {self.tensor(rows, self.columns)}\n"
                 f"      %y = arith.addf %x, %w : {self.element}", "%y",
                 [self.format.plus(x, y) for x, y in zip(found, last)]))
        for dim in (0, 1):
            for what, ops, yielded, expected in bodies:
                whole = self.argument([rows, self.columns], table, f"shard<{dim}>")
                made = self.generic(
                    ["i", "i, j"], ["parallel"] * 2,
                    [(index, self.tensor(len(order), element="i32"))], empty,
                    f"    ^bb0(%i: i32, %o: {self.element}):\n      %k = arith.index_cast %i : i32 to index\n"
                    f"      %j = linalg.index 1 : index\n"
                    f"      %x = tensor.extract {whole}[%k, %j] : {self.tensor(rows, self.columns)}\n"
                    f"      {ops.replace('TABLE', whole)}\n      linalg.yield {yielded} : {self.element}", sizes)
                self.result(f"{what} in {rows} rows, shard<{dim}>", made, sizes, expected)

    def reduce(self, what, rows, codes, start, op, expected):
        """`start` and `expected` are codes of what sums are kept in."""
        kind = self.tensor(self.columns, element=self.sums)
        wide, widen = "%x", ""
        if self.is_narrow:
            wide, widen = "%w", f"      %w = arith.extf %x : {self.element} to f32\n"
        for dim in (0, 1):
            x = self.argument([rows, self.columns], codes, f"shard<{dim}>")
            empty = self.value(f"tensor.empty() : {kind}")
            init = self.value(f"linalg.fill ins({self.constant(start, self.sums)} : {self.sums}) "
                              f"outs({empty} : {kind}) -> {kind}")
            made = self.generic(
                ["i, j", "j"], ["reduction", "parallel"],
                [(x, self.tensor(rows, self.columns))], init,
                f"    ^bb0(%x: {self.element}, %o: {self.sums}):\n{widen}"
                f"      %s = {op} %o, {wide} : {self.sums}\n      linalg.yield %s : {self.sums}",
                [self.columns], self.sums)
            self.result(f"{what} of {rows} rows, shard<{dim}>", made, [self.columns], expected,
                        self.sums)

    def reductions(self, rows):
        form, sums, columns = self.format, ELEMENTS[self.sums], [[] for _ in self.edges]
        wide = (lambda code: sums.round(form.value(code))) if self.is_narrow else lambda code: code
        codes = self.rotated(rows)
        for at, code in enumerate(codes):
            columns[at % self.columns].append(wide(code))
        maxima = [sums.extreme(column, True) for column in columns]
        minima = [sums.extreme(column, False) for column in columns]
        if self.element == "i1":
            self.reduce("or", rows, codes, 0, "arith.ori", maxima)
            self.reduce("and", rows, codes, 1, "arith.andi", minima)
            return
        floating = self.element in FORMATS
        self.reduce("max", rows, codes, sums.least, "arith.maximumf" if floating else "arith.maxsi",
                    maxima)
        self.reduce("min", rows, codes, sums.greatest,
                    "arith.minimumf" if floating else "arith.minsi", minima)
        if not floating:
            self.reduce("unsigned max", rows, codes, 0, "arith.maxui",
                        [max(column) for column in columns])
            self.reduce("unsigned min", rows, codes, form.mask, "arith.minui",
                        [min(column) for column in columns])
        # One row has the edge, the others the identity: the sum is exact.
        for kind, identity, start, op in (("sum", form.zero, sums.zero, "add"),
                                          ("product", form.one, sums.one, "mul")):
            if kind == "sum" and form.zero != sums.zero and floating and not form.zero:
                start = 0
            for row in range(rows):
                codes = [identity] * (rows * self.columns)
                codes[row * self.columns:(row + 1) * self.columns] = self.edges
                self.reduce(f"{kind} with row {row}", rows, codes, start,
                            f"arith.{op}{'f' if floating else 'i'}",
                            [wide(code) for code in self.edges])
        if floating and form.zero:
            # A sum that starts from 0.0 is 0.0 where all it adds is -0.0.
            self.reduce("sum from 0.0", rows, [form.zero] * (rows * self.columns), 0, "arith.addf",
                        [0] * self.columns)

    def movements(self, rows):
        codes = self.rotated(rows)
        sizes = [rows, self.columns]
        kind = self.tensor(*sizes)
        for dim in (0, 1):
            x = self.argument(sizes, codes, f"shard<{dim}>")
            y = self.argument(sizes, codes[::-1], f"shard<{1 - dim}>")
            where = f"of {rows} rows, shard<{dim}>"
            both = [2 * rows, self.columns]
            self.result(f"concat {where}",
                        self.value(f"tensor.concat dim(0) {x}, {y} : ({kind}, {kind}) -> "
                                   f"{self.tensor(*both)}"), both, codes + codes[::-1])
            cut = [rows, self.columns - 1] if self.columns > 1 else sizes
            offset = self.columns - cut[1]
            self.result(f"slice {where}",
                        self.value(f"tensor.extract_slice {x}[0, {offset}] [{rows}, {cut[1]}] [1, 1] : "
                                   f"{kind} to {self.tensor(*cut)}"), cut,
                        [code for at, code in enumerate(codes) if at % self.columns >= offset])
            turned = [self.columns, rows]
            empty = self.value(f"tensor.empty() : {self.tensor(*turned)}")
            self.result(f"transpose {where}",
                        self.value(f"linalg.transpose ins({x} : {kind}) outs({empty} : "
                                   f"{self.tensor(*turned)}) permutation = [1, 0]"), turned,
                        [codes[row * self.columns + column]
                         for column in range(self.columns) for row in range(rows)])
            for code in {self.format.zero, self.edges[-1]}:
                padded = [rows + 2, self.columns]
                # Each rank pads its rows.
                pin = f"shard<0, segments = [1, {rows}, 1]>" if dim == 0 else None
                self.result(f"pad with {code:x} {where}",
                            self.value(f"tensor.pad {x} low[1, 0] high[1, 0] {{\n    ^bb0(%i: index, "
                                       f"%j: index):\n      tensor.yield {self.constant(code)} : "
                                       f"{self.element}\n    }} : {kind} to {self.tensor(*padded)}"),
                            padded, [code] * self.columns + codes + [code] * self.columns,
                            pin=pin)

    def text(self, ranks):
        arguments = ", ".join(
            f'%{name}: {self.tensor(*sizes, element=element)} {{tp.name = "{name}", tp.kind = "user_input", '
            f'tp.pin = {{tp = #tp.placement<{pin}>}}}}'
            for name, sizes, _, element, pin in self.arguments)
        results = ", ".join(
            f'{self.tensor(*sizes, element=element)} {{tp.name = "r{i}"' +
            (f', tp.pin = {{tp = #tp.placement<{pin}>}}}}' if pin else "}")
            for i, (_, _, sizes, _, element, pin) in enumerate(self.results))
        lines = "\n    ".join([*self.constants.values(), *self.lines])
        return (f'module attributes {{tp.mesh = #tp.mesh<"tp" = {ranks}>}} {{\n'
                f"  func.func @main({arguments}) -> ({results}) {{\n    {lines}\n    return "
                f"{', '.join(row[1] for row in self.results)} : "
                f"{', '.join(self.tensor(*row[2], element=row[4]) for row in self.results)}\n  }}\n}}\n")


def check(folder, element, ranks, options):
    """The number of cells, and what is wrong with them."""
    program = Program(element, [int(rows) for rows in options.rows.split(",")],
                      options.programs.split(","))
    model, package = os.path.join(folder, "model.mlir"), os.path.join(folder, "model.tp")
    with open(model, "w") as file:
        file.write(program.text(ranks))
    flags, environment = [], None
    if options.fakes:
        flags = fake_devices.OPTIONS
        environment = fake_devices.environment(options.fakes, folder, cudnn=False)
    edge_runs.execute(["tp-compile", model, "-o", package] + flags)
    inputs = [(name, kind, sizes, codes) for name, sizes, codes, kind, _ in program.arguments]
    outputs = [(f"r{i}", kind) for i, (_, _, _, _, kind, _) in enumerate(program.results)]
    found = edge_runs.run(package, ranks, element, inputs, outputs, environment)
    wrong = [line for (what, _, _, expected, kind, _), got in zip(program.results, found)
             for line in edge_runs.differences(f"{element} {what} on {ranks} ranks", kind,
                                               expected, got)]
    return sum(len(expected) for _, _, _, expected, _, _ in program.results), wrong


def main():
    parser = edge_runs.parser()
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--programs", default="lookups,reductions,movements")
    parser.add_argument("--fakes", default="")
    options = parser.parse_args()
    return edge_runs.check_all(
        lambda folder, element, ranks: check(folder, element, ranks, options), options)


if __name__ == "__main__":
    sys.exit(main())
