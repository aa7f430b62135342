"""Programs of single ops on numbers at the edges of a float type, compared bit for bit with
the CPU target, which test/EndToEnd/element_ops.py compares with exact arithmetic."""

import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from element_formats import FLOATS, FORMATS

BINARY = ["arith.addf", "arith.subf", "arith.mulf", "arith.divf", "arith.maximumf",
          "arith.minimumf", "arith.remf"]
UNARY = ["arith.negf", "math.absf", "math.sqrt", "math.floor", "math.ceil", "math.trunc",
         "math.roundeven", "math.round"]


def edges(p):
    t = p.dtype
    format = FORMATS[t]
    # Every other edge, and the neighbours of all are among the other half.
    numbers = [format.value(code) for code in format.edges()]
    pairs = list(itertools.product(numbers[::2] + numbers[-3:], numbers[1::2] + numbers[:2]))
    shape = (len(pairs),)
    x = p.argument(shape, t, [a for a, _ in pairs])
    y = p.argument(shape, t, [b for _, b in pairs])
    for op in BINARY:
        z = p.map([(x, t), (y, t)], shape, f"%s = {op} %x0, %x1 : {t}\n"
                  f"      linalg.yield %s : {t}")
        p.result(z, shape, f"{op} at edges", exact="bits")
    for op in UNARY:
        z = p.map([(x, t)], shape, f"%s = {op} %x0 : {t}\n      linalg.yield %s : {t}")
        p.result(z, shape, f"{op} at edges", exact="bits")
    z = p.map([(x, t), (y, t)], shape, f"%s = math.fma %x0, %x1, %x0 : {t}\n"
              f"      linalg.yield %s : {t}")
    p.result(z, shape, "math.fma at edges", exact="bits")
    for predicate in ("oeq", "ult", "one", "ole", "uno"):
        z = p.map([(x, t), (y, t)], shape, f"%s = arith.cmpf {predicate}, %x0, %x1 : {t}\n"
                  "      linalg.yield %s : i1", "i1")
        p.result(z, shape, f"arith.cmpf {predicate} at edges", "i1")
    for other in FLOATS:
        width = FORMATS[other].width
        if width != format.width:
            cast = "extf" if width > format.width else "truncf"
            z = p.map([(x, t)], shape, f"%s = arith.{cast} %x0 : {t} to {other}\n"
                      f"      linalg.yield %s : {other}", other)
            p.result(z, shape, f"{cast} to {other} at edges", other, exact="bits")
