"""Ops on floats whose results are exact or rounded once."""

import math
from fractions import Fraction

from ElementOps.float_arithmetic import (divide, is_finite, max_number, maximum, min_number,
                                         minimum, multiply_add, rational, round_away, special,
                                         whole)
from ElementOps.op import Op
from element_formats import FORMATS, exact_root

FLOAT_PREDICATES = {
    "false": lambda a, b: False, "true": lambda a, b: True,
    "oeq": lambda a, b: a == b, "ogt": lambda a, b: a > b, "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b, "ole": lambda a, b: a <= b,
    "one": lambda a, b: a < b or a > b, "ord": lambda a, b: a == a and b == b,
    "ueq": lambda a, b: not (a < b or a > b), "ugt": lambda a, b: not a <= b,
    "uge": lambda a, b: not a < b, "ult": lambda a, b: not a >= b,
    "ule": lambda a, b: not a > b, "une": lambda a, b: a != b,
    "uno": lambda a, b: a != a or b != b}


def float_ops(element):
    format = FORMATS[element]
    value = format.value
    shape = "{t}"

    def plain(name, native):
        return Op(name, f"arith.{name} %a, %b : {shape}", element,
                  lambda a, b, c: format.round(native(value(a), value(b))))

    def exact(name, rational_of, native):
        reference = rational(format, rational_of, native)
        return Op(name, f"arith.{name} %a, %b : {shape}", element,
                  lambda a, b, c: reference(a, b))

    def unary(name, native):
        return Op(name, f"math.{name} %a : {shape}", element,
                  lambda a, b, c: format.round(native(value(a))))

    def test(name, native):
        return Op(name, f"math.{name} %a : {shape}", "i1", lambda a, b, c: int(native(value(a))))

    quotient = exact("divf", lambda a, b: a / b if b else None, divide)
    ops = [
        exact("addf", lambda a, b: a + b, lambda a, b: a + b),
        exact("subf", lambda a, b: a - b, lambda a, b: a - b),
        exact("mulf", lambda a, b: a * b, lambda a, b: math.copysign(
            0.0, math.copysign(1, a) * math.copysign(1, b)) if is_finite(a, b) else a * b),
        quotient,
        plain("remf", lambda a, b: special(math.fmod, a, b)),
        plain("maximumf", maximum), plain("minimumf", minimum),
        # Of two zeros either.
        Op("maxnumf", f"arith.maxnumf %a, %b : {shape}", element,
           lambda a, b, c: None if value(a) == 0 == value(b) else
           format.round(max_number(value(a), value(b)))),
        Op("minnumf", f"arith.minnumf %a, %b : {shape}", element,
           lambda a, b, c: None if value(a) == 0 == value(b) else
           format.round(min_number(value(a), value(b)))),
        Op("negf", f"arith.negf %a : {shape}", element,
           lambda a, b, c: format.round(-value(a))),
        unary("absf", abs),
        Op("copysign", f"math.copysign %a, %b : {shape}", element,
           lambda a, b, c: None if format.is_nan(b) else
           format.round(math.copysign(value(a), value(b)))),
        unary("ceil", whole(math.ceil)), unary("floor", whole(math.floor)),
        unary("trunc", whole(math.trunc)), unary("roundeven", whole(round)),
        unary("round", lambda x: round_away(x) if math.isfinite(x) else x),
        test("isnan", math.isnan), test("isinf", math.isinf), test("isfinite", math.isfinite),
        Op("isnormal", f"math.isnormal %a : {shape}", "i1",
           lambda a, b, c: int(math.isfinite(value(a)) and
                               (a & (format.sign - 1)) >= 1 << format.mantissa)),
        Op("sqrt", f"math.sqrt %a : {shape}", element,
           lambda a, b, c: a if value(a) == 0 else
           exact_root(format, Fraction(value(a))) if is_finite(value(a)) and value(a) > 0 else
           format.round(math.inf if value(a) == math.inf else math.nan)),
        # As the dialect defines it, whatever its name says.
        Op("clampf", f"math.clampf %a to [%b, %c] : {shape}", element,
           lambda a, b, c: format.round(maximum(minimum(value(a), value(b)), value(c)))),
        Op("select", f"arith.select %s, %a, %b : {{i1}}, {shape}", element,
           lambda a, b, c: a if value(a) > value(b) else b),
    ]
    fma = rational(format, lambda a, b, c: a * b + c, multiply_add)
    for name, native, infinity in (("maximumf", maximum, format.round(-math.inf)),
                                   ("minimumf", minimum, format.round(math.inf))):
        for over, dimension in (("rows", 0), ("columns", 1)):
            ops.append(Op(
                f"{name}_of_{over}",
                f"linalg.reduce {{{{ arith.{name} }}}} ins(%{over} : {{{over}}}) "
                f"outs(%{name} : {shape}) dimensions = [{dimension}]", element,
                lambda a, b, c, native=native:
                format.round(native(native(value(a), value(b)), value(c))), infinity=infinity))
    ops.append(Op("fma", f"math.fma %a, %b, %c : {shape}", element, fma))
    for name, compare in FLOAT_PREDICATES.items():
        ops.append(Op(f"cmpf_{name}", f"arith.cmpf {name}, %a, %b : {shape}", "i1",
                      lambda a, b, c, compare=compare: int(compare(value(a), value(b)))))
    return ops
