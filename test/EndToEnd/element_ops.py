"""Every element op on every type at the edges of its values, against exact arithmetic
(element_formats.py): zeros of both signs, denormal numbers, infinities, NaN, the largest
and smallest numbers and their neighbours, ties of every cast; integers at their ends. On
one rank and, cut in two, on two.

    element_ops.py FOLDER [--only=NAME,...]
"""

import argparse
import itertools
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from ElementOps.casts import float_casts, integer_casts
from ElementOps.float_ops import float_ops
from ElementOps.function_ops import function_ops, power_ops
from ElementOps.integer_ops import integer_ops
from ElementOps.program import Program, model
from element_formats import (FLOATS, FORMATS, INTEGERS, dtype_options, read_npy, write_npy)


def pairs(codes, rng):
    columns = list(itertools.product(codes, codes))
    third = [rng.choice(codes) for _ in columns]
    return [[a for a, _ in columns], [b for _, b in columns], third]


def programs():
    rng = random.Random(15)
    for element in FLOATS:
        yield Program(f"{element}", element, pairs(FORMATS[element].edges(), rng),
                      float_ops(element))
        codes = FORMATS[element].edges()
        yield Program(f"{element}-functions", element, [codes, codes, codes],
                      function_ops(element))
        yield Program(f"{element}-powers", element, pairs(codes[::2] + codes[-3:], rng),
                      power_ops(element))
    for element, integers in INTEGERS.items():
        codes = integers.edges()
        codes += [n for n in range(integers.width) if n not in codes and integers.width > 1]
        yield Program(element, element, pairs(codes, rng), integer_ops(element))
    for element in FORMATS:
        ops, codes = float_casts(element)
        yield Program(f"{element}-casts", element, [codes, codes, codes], ops)
    for element in INTEGERS:
        ops, codes = integer_casts(element)
        if ops:
            yield Program(f"{element}-casts", element, [codes, codes, codes], ops)


def is_right(op, expected, got):
    if expected is None or expected == got:
        return True
    format = FORMATS.get(op.element)
    if not format:
        return False
    if format.is_nan(expected) or format.is_nan(got):
        return format.is_nan(expected) and format.is_nan(got)
    return bool(op.ulps) and format.ulps(expected, got) <= op.ulps


def shown(element, code):
    element = element.partition("#")[0]
    if element in FORMATS:
        return f"{FORMATS[element].value(code)!r} ({code:#x})"
    return str(code)


class Checker:
    def __init__(self, folder):
        self.folder, self.cells, self.free, self.wrong = folder, 0, 0, 0

    def run(self, program, ranks):
        prefix = os.path.join(self.folder, f"{program.name}-{ranks}")
        with open(prefix + ".mlir", "w", encoding="utf-8") as file:
            file.write(model(program, ranks))
        subprocess.run(["tp-compile", prefix + ".mlir", "-o", prefix + ".tp"], check=True)
        command = ["tp-run", prefix + ".tp", f"--ranks={ranks}", *dtype_options(program.element)]
        for name, codes in zip("abc", program.inputs):
            write_npy(f"{prefix}.{name}.npy", program.element, [len(codes)], codes)
            command.append(f"--input={name}=@{prefix}.{name}.npy")
        command += [f"--output={op.name}=@{prefix}.{op.name}.npy" for op in program.ops]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return [read_npy(f"{prefix}.{op.name}.npy", op.element.partition("#")[0])
                for op in program.ops]

    def check(self, program):
        expected = [[op.reference(*codes) for codes in zip(*program.inputs)]
                    for op in program.ops]
        for ranks in (1, 2):
            for op, wanted, got in zip(program.ops, expected, self.run(program, ranks)):
                self.compare(program, ranks, op, wanted, got)

    def compare(self, program, ranks, op, wanted, got):
        wrong = [i for i, (x, y) in enumerate(zip(wanted, got)) if not is_right(op, x, y)]
        self.cells += len(wanted)
        self.free += sum(x is None for x in wanted)
        if not wrong:
            return
        self.wrong += len(wrong)
        for i in wrong[:3]:
            operands = ", ".join(shown(program.element, column[i]) for column in program.inputs)
            print(f"{program.name} on {ranks} ranks: {op.name}({operands}): expected "
                  f"{shown(op.element, wanted[i])}, got {shown(op.element, got[i])} "
                  f"({len(wrong)} of {len(wanted)})", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="programs, such as f32,i8-casts")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    checker = Checker(options.folder)
    only = options.only.split(",") if options.only else []
    for program in programs():
        if not only or program.name in only:
            checker.check(program)
    print(f"{checker.cells} cells, {checker.free} of them undefined, {checker.wrong} wrong")
    return checker.wrong != 0


if __name__ == "__main__":
    sys.exit(main())
