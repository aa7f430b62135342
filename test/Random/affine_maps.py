#!/usr/bin/env python3
"""linalg.generic with random affine indexing maps, under random layouts: what 1, 2 and
3 ranks compute must be what Python computes, by numpy where it is there.

  affine_maps.py FOLDER [--seed=S] [--count=N] [--batch=B] [--ranks=1,2,3] [--verify=P]
                 [--jobs=J] [--fakes=FOLDER]

A program is one linalg.generic, sometimes with an op before or after it. Programs are
compiled B at a time in one module, and by themselves where that fails. Some read
outside of a tensor: these have to be refused. With --verify a share P of the modules
is simulated too; with --fakes all are compiled for NVIDIA devices, which are the host.
"""

import collections
import concurrent.futures
import functools
import itertools
import math
import os
import random
import re
import shutil
import subprocess
import sys

import affine_expr
import arrays
import fake_devices  # In a folder that arrays.py adds.
import layouts
import seeds
from check import PASSED_ON
from program_text import Port
from values import type_of

try:
    import numpy
except ImportError:
    numpy = None

ELEMENTS = ["i32", "i32", "i64", "i8", "f32", "f32", "f64"]
WIDTHS = {"i8": 8, "i32": 32}
OPS = {"add": ("addi", "addf"), "sub": ("subi", "subf"), "mul": ("muli", "mulf"),
       "max": ("maxsi", "maximumf")}


class Pinned:
    """What layouts.py asks of a program."""

    def __init__(self, rng):
        self.rng = rng

    def has(self, feature):
        return self.rng.random() < layouts.FEATURES[feature]


class Program:
    """`number` names its ports. `escapes`: it reads outside of a tensor."""

    def __init__(self, number):
        self.number, rng = number, random.Random(number)
        self.rng = rng
        rank = rng.randint(1, 4)
        most = {1: 40, 2: 24, 3: 12, 4: 6}[rank]
        self.extents = [rng.choice([1, 2, 3, 4, rng.randint(1, most), rng.randint(1, most)])
                        for _ in range(rank)]
        self.reduced = [rng.random() < 0.3 for _ in range(rank)]
        self.element = rng.choice(ELEMENTS)
        self.kept = [i for i in range(rank) if not self.reduced[i]]
        rng.shuffle(self.kept)
        self.shape = [self.extents[i] for i in self.kept]
        self.inputs = []
        order = rng.sample(range(rank), rank)
        if any(self.reduced) or rng.random() < 0.7:
            self.inputs.append(([self.extents[i] for i in order],
                                [affine_expr.dim(i) for i in order]))
        for _ in range(rng.randint(1, 2)):
            self.inputs.append(self.random_input())
        self.escapes = rng.random() < 0.02 and self.shrink()
        self.ops = [rng.choice(list(OPS)) for _ in self.inputs[1:]]
        self.combiner = rng.choice(["add", "add", "max"])
        # A number of the loops that the body computes by affine.apply.
        self.applied = rng.random() < 0.3 and affine_expr.Expr(
            "mod", affine_expr.draw(rng, rank), 7)
        self.doubled = [rng.random() < 0.3 for _ in self.inputs]
        self.squared = rng.random() < 0.3

    def points(self):
        """Every point of the loops: one tuple of arrays, or tuples of numbers."""
        if numpy:
            return [tuple(numpy.indices(self.extents).astype(numpy.int64))]
        return itertools.product(*map(range, self.extents))

    def limits(self, expr):
        values = [expr.at(point) for point in self.points()]
        if numpy:
            return int(numpy.min(values[0])), int(numpy.max(values[0]))
        return min(values), max(values)

    def random_input(self):
        shape, exprs = [], []
        for _ in range(self.rng.choice([0, 1, 1, 2, 2, 2, 3])):
            if self.rng.random() < 0.25:
                loop = self.rng.randrange(len(self.extents))
                exprs.append(affine_expr.dim(loop))
                shape.append(self.extents[loop])
                continue
            expr = affine_expr.draw(self.rng, len(self.extents))
            low, high = self.limits(expr)
            if high - low > 40:
                expr, low = affine_expr.Expr("mod", expr, 13), 0
            if low:
                expr = affine_expr.Expr("+", expr, affine_expr.constant(-low))
            if expr.kind == "dim":
                shape.append(self.extents[expr.a])
            else:
                shape.append(self.limits(expr)[1] + 1 + self.rng.choice([0, 0, 0, 1, 2]))
            exprs.append(expr)
        return shape, exprs

    def shrink(self):
        """Makes a dimension too small for its index; False where none can be."""
        for shape, exprs in self.inputs:
            for dim, expr in enumerate(exprs):
                high = self.limits(expr)[1]
                if expr.kind != "dim" and high > 0:
                    shape[dim] = high
                    return True
        return False

    def arguments(self):
        names = [f"a{self.number}_{i}_max2" for i in range(len(self.inputs))]
        shapes = [shape for shape, _ in self.inputs]
        return [Port(name, type_of(shape, self.element), tuple(shape), self.element)
                for name, shape in zip(names + [f"o{self.number}_max2"],
                                       shapes + [self.shape])]

    def result(self):
        return Port(f"r{self.number}", type_of(self.shape, self.element), tuple(self.shape),
                    self.element)

    def op(self, kind):
        return "arith." + OPS[kind][self.element[0] == "f"]

    def lines(self):
        """The ops, which give %rNUMBER."""
        n, kind, out = self.number, self.element, []
        ports = self.arguments()
        names = [f"%{port.name}" for port in ports]
        for i, doubled in enumerate(self.doubled):
            if doubled:
                out.append(f"%d{n}_{i} = {self.op('add')} {names[i]}, {names[i]} : "
                           f"{ports[i].type}")
                names[i] = f"%d{n}_{i}"
        dims = ", ".join(f"d{i}" for i in range(len(self.extents)))
        maps = [[e.text() for e in exprs] for _, exprs in self.inputs]
        maps.append([f"d{i}" for i in self.kept])
        maps = ", ".join(f"affine_map<({dims}) -> ({', '.join(m)})>" for m in maps)
        loops = ", ".join('"reduction"' if r else '"parallel"' for r in self.reduced)
        inputs = range(len(self.inputs))
        out.append(f"%g{n} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
                   f"[{loops}]}} ins({', '.join(names[:-1])} : "
                   f"{', '.join(p.type for p in ports[:-1])}) "
                   f"outs({names[-1]} : {ports[-1].type}) {{")
        out.append("^bb0(" + ", ".join(f"%i{i}: {kind}" for i in inputs) + f", %o: {kind}):")
        last = "%i0"
        for i, op in enumerate(self.ops):
            out.append(f"  %v{i} = {self.op(op)} {last}, %i{i + 1} : {kind}")
            last = f"%v{i}"
        if self.applied:
            out += self.applied_lines(dims)
            out.append(f"  %with = {self.op('add')} {last}, %number : {kind}")
            last = "%with"
        out += [f"  %y = {self.op(self.combiner)} %o, {last} : {kind}",
                f"  linalg.yield %y : {kind}", f"}} -> {ports[-1].type}"]
        made = f"%g{n}"
        if self.squared:
            out.append(f"%s{n} = {self.op('add')} {made}, {names[-1]} : {ports[-1].type}")
            made = f"%s{n}"
        return out, made

    def applied_lines(self, dims):
        out = [f"  %l{i} = linalg.index {i} : index" for i in range(len(self.extents))]
        names = ", ".join(f"%l{i}" for i in range(len(self.extents)))
        out.append(f"  %at = affine.apply affine_map<({dims}) -> ({self.applied.text()})>"
                   f"({names})")
        if self.element[0] == "i":
            out.append(f"  %number = arith.index_cast %at : index to {self.element}")
        else:
            out.append("  %cast = arith.index_cast %at : index to i32")
            out.append(f"  %number = arith.sitofp %cast : i32 to {self.element}")
        return out

    def wrapped(self, number):
        """In the element type; i64 and floats have small whole numbers."""
        if self.element not in WIDTHS:
            return number
        half = 1 << (WIDTHS[self.element] - 1)
        return (number + half) % (2 * half) - half

    def expected(self, data):
        """The elements of the result, from those of the arguments."""
        values = [numbers if not doubled else [self.wrapped(2 * x) for x in numbers]
                  for numbers, doubled in zip(data, self.doubled + [False])]
        kinds = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b,
                 "mul": lambda a, b: a * b,
                 "max": numpy.maximum if numpy else max}

        def step(kind, a, b):
            return self.wrapped(kinds[kind](a, b))

        def iteration(point):
            """What the body adds to the output there."""
            read = []
            for numbers, (shape, exprs) in zip(values, self.inputs):
                address = 0
                for size, expr in zip(shape, exprs):
                    at = expr.at(point)
                    address = address * size + at
                read.append(numbers[address] if numpy is None else
                            numpy.asarray(numbers)[address])
            total = functools.reduce(lambda a, pair: step(pair[0], a, pair[1]),
                                     zip(self.ops, read[1:]), read[0])
            return step("add", total, self.applied.at(point)) if self.applied else total
        if numpy:
            out = self.by_numpy(iteration, step, values[-1])
        else:
            out = list(values[-1])
            for point in self.points():
                address = 0
                for loop in self.kept:
                    address = address * self.extents[loop] + point[loop]
                out[address] = step(self.combiner, out[address], iteration(point))
        if self.squared:
            out = [step("add", a, b) for a, b in zip(out, values[-1])]
        return out

    def by_numpy(self, iteration, step, start):
        terms = numpy.broadcast_to(iteration(self.points()[0]), self.extents)
        gone = [i for i, reduced in enumerate(self.reduced) if reduced]
        terms = numpy.transpose(terms, self.kept + gone).reshape(math.prod(self.shape), -1)
        all_terms = terms.sum(1) if self.combiner == "add" else terms.max(1)
        return step(self.combiner, numpy.asarray(start), all_terms).tolist()


def pin(program, port, ranks, seed):
    rng = random.Random(f"{seed} {ranks} {port.name}")
    if ranks == 1 or rng.random() < 0.2:
        return ""
    chosen = layouts.placement(Pinned(rng), PortShape(port), ranks, {})
    return f", tp.pin = {{tp = #tp.placement<{chosen}>}}"


class PortShape:
    def __init__(self, port):
        self.shape, self.rank = port.shape, len(port.shape)


def module_text(programs, ranks):
    arguments, results, lines, returned = [], [], [], []
    for p in programs:
        for port in p.arguments():
            arguments.append(f'%{port.name}: {port.type} {{tp.name = "{port.name}", '
                             f'tp.kind = "user_input"{pin(p, port, ranks, p.number)}}}')
        out = p.result()
        results.append(f'{out.type} {{tp.name = "{out.name}"'
                       f'{pin(p, out, ranks, p.number)}}}')
        more, made = p.lines()
        lines += more
        returned.append(made)
    mesh = f' attributes {{tp.mesh = #tp.mesh<"tp" = {ranks}>}}' if ranks > 1 else ""
    types = ", ".join(p.result().type for p in programs)
    body = "".join(f"    {line}\n" for line in lines)
    return (f"module{mesh} {{\n  func.func @main({', '.join(arguments)}) -> "
            f"({', '.join(results)}) {{\n{body}    return {', '.join(returned)} : {types}\n"
            "  }\n}\n")


class Wrong(Exception):
    pass


class Refused(Exception):
    pass


def execute(command, environment=None):
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=300, env=environment)
    except subprocess.TimeoutExpired:
        raise Wrong(f"{command[0]} hangs") from None


def run_module(programs, ranks, folder, options):
    """What is wrong with the results, by program."""
    base = os.path.join(folder, f"{programs[0].number}-{ranks}")
    with open(base + ".mlir", "w") as file:
        file.write(module_text(programs, ranks))
    rng = random.Random(f"{programs[0].number} {ranks}")
    flags = ["--verify"] if rng.random() < options.verify else []
    if options.fakes:
        flags += fake_devices.OPTIONS
    done = execute(["tp-compile", base + ".mlir", "-o", base + ".tp", *flags])
    text = done.stdout.decode(errors="replace")
    if done.returncode:
        errors = PASSED_ON.findall(text)
        if done.returncode != 1 or not errors:
            raise Wrong(f"tp-compile ends with {done.returncode}: {text[:600]}")
        raise Refused(errors[0])
    if "not verified" in text:
        raise Wrong(f"not verified: {text[:600]}")
    command = ["tp-run", base + ".tp", f"--ranks={ranks}", "--poison", "--timeout=120"]
    for p in programs:
        for port in p.arguments():
            path = os.path.join(folder, port.name + ".npy")
            data = arrays.draw(port, p.number)
            arrays.write_npy(path, port, arrays.bytes_of(port.element, data))
            command.append(f"--input={port.name}=@{path}")
        command.append(f"--output={p.result().name}=@{base}.{p.result().name}.npy")
    done = execute(command, fake_devices.environment(options.fakes, options.fakes)
                   if options.fakes else None)
    if done.returncode:
        raise Wrong(f"tp-run ends with {done.returncode}: {done.stdout.decode()[:600]}")
    found = {}
    for p in programs:
        port = p.result()
        got = arrays.read_npy(f"{base}.{port.name}.npy")
        data = [arrays.draw(argument, p.number) for argument in p.arguments()]
        difference = arrays.difference(
            port, arrays.bytes_of(port.element, p.expected(data)), got)
        if difference:
            found[p.number] = f"on {ranks} ranks, {difference}"
    return found


def check(programs, folder, options):
    """{number: (outcome, message)}"""
    try:
        found = {}
        for ranks in options.ranks:
            found = {**run_module(programs, ranks, folder, options), **found}
        return {p.number: ("wrong", found[p.number]) if p.number in found else ("equal", "")
                for p in programs}
    except (Wrong, Refused) as error:
        if len(programs) == 1:
            kind = "refused" if isinstance(error, Refused) else "wrong"
            return {programs[0].number: (kind, str(error))}
    outcomes = {}
    for p in programs:
        outcomes |= check([p], folder, options)
    return outcomes


def run_batch(numbers, options):
    programs = [Program(number) for number in numbers]
    folder = os.path.join(options.folder, f"batch-{numbers[0]}")
    os.makedirs(folder, exist_ok=True)
    whole = [p for p in programs if not p.escapes]
    outcomes = check(whole, folder, options) if whole else {}
    for p in programs:
        if p.escapes:
            kind, message = check([p], folder, options)[p.number]
            outcomes[p.number] = (kind, message) if kind == "refused" else \
                ("wrong", f"reads outside of a tensor, {kind} {message}")
    for p in programs:
        if outcomes[p.number][0] == "wrong":
            path = os.path.join(options.folder, f"program-{p.number}.mlir")
            with open(path, "w") as file:
                file.write(f"// {outcomes[p.number][1].splitlines()[0]}\n" +
                           module_text([p], max(options.ranks)))
    shutil.rmtree(folder)
    kinds = [kind for p in programs for _, exprs in p.inputs for e in exprs
             for kind in e.kinds() if kind in affine_expr.KINDS]
    return outcomes, collections.Counter(kinds)


def reason(message):
    return re.sub(r"-?\d+", "N", re.sub(r", .*d\d.*?,", ", INDEX,", message))[:120]


def main():
    parser = seeds.parser_of("folder", count=100)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--ranks", type=lambda t: [int(n) for n in t.split(",")],
                        default=[1, 2, 3])
    parser.add_argument("--verify", type=float, default=0.2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fakes", type=os.path.abspath)
    parser.add_argument("--print", action="store_true", help="print the first program only")
    options = parser.parse_args()
    if options.print:
        print(module_text([Program(options.seed)], max(options.ranks)))
        return 0
    os.makedirs(options.folder, exist_ok=True)
    numbers = list(range(options.seed, options.seed + options.count))
    batches = [numbers[i:i + options.batch] for i in range(0, len(numbers), options.batch)]
    counts, reasons, kinds = (collections.Counter() for _ in range(3))
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for outcomes, more in pool.map(run_batch, batches, [options] * len(batches)):
            kinds += more
            for number, (outcome, message) in outcomes.items():
                counts[outcome] += 1
                if outcome == "refused":
                    reasons[reason(message)] += 1
                elif outcome == "wrong":
                    print(f"program {number}: {message}", flush=True)
    for text, count in reasons.most_common():
        print(f"{count:6} refused: {text}")
    print("divisions:", ", ".join(f"{kind} {kinds[kind]}" for kind in affine_expr.KINDS))
    print(f"{options.count} programs on {', '.join(map(str, options.ranks))} ranks against "
          f"{'numpy' if numpy else 'Python'}: {counts['equal']} equal, "
          f"{counts['refused']} refused, {counts['wrong']} wrong")
    return int(counts["wrong"] > 0 or counts["refused"] > options.count // 20)


if __name__ == "__main__":
    sys.exit(main())
