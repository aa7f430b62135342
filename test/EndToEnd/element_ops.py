"""Every element op on every type at the edges of its values, against exact arithmetic
(element_formats.py): zeros of both signs, denormal numbers, infinities, NaN, the largest
and smallest numbers and their neighbours, ties of every cast; integers at their ends. On
one rank and, cut in two, on two.

    element_ops.py FOLDER [--only=NAME,...] [--host-kernels=PROGRAM]
"""

import argparse
import ctypes
import itertools
import math
import os
import random
import subprocess
import sys
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from element_formats import (FLOATS, FORMATS, INTEGERS, MODES, exact_root, integer_edges,
                             read_npy, signed, width_of, write_npy)


class Op:
    """One result of a program: `text` computes %r from %a, %b and %c, `reference` its code
    from theirs; None: any. `ulps`: how many numbers it may be apart."""

    def __init__(self, name, text, element, reference, ulps=0, infinity=None):
        self.name, self.text, self.element = name, text, element
        self.reference, self.ulps = reference, ulps
        # The code that a reduction starts from.
        self.infinity = infinity


class Program:
    """Ops on tensors of the same columns of inputs."""

    def __init__(self, name, element, inputs, ops):
        self.name, self.element, self.inputs, self.ops = name, element, inputs, ops


# ---- floats ----------------------------------------------------------------

def is_finite(*numbers):
    return all(math.isfinite(x) for x in numbers)


def special(op, *numbers):
    """What the op makes of numbers some of which are infinite or NaN."""
    try:
        return op(*numbers)
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan


def rational(format, exact, native):
    """An op that is a rational function of finite numbers; `native` computes the sign of a
    zero, and of what is not finite."""
    def reference(*codes):
        numbers = [format.value(code) for code in codes]
        if not is_finite(*numbers):
            return format.round(special(native, *numbers))
        result = exact(*map(Fraction, numbers))
        if result is None:
            return format.round(special(native, *numbers))
        if result == 0:
            return format.round(result, negative=math.copysign(1, native(*numbers)) < 0)
        return format.round(result)
    return reference


def divide(a, b):
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, math.copysign(1, a) * math.copysign(1, b))
    if math.isinf(b) and is_finite(a) or a == 0 and not math.isnan(b):
        return math.copysign(0.0, math.copysign(1, a) * math.copysign(1, b))
    return a / b


def multiply_add(a, b, c):
    product = special(lambda: a * b)
    if is_finite(a, b):
        # Only its sign counts beside what is not finite, or in a sum that is zero.
        product = math.copysign(0.0 if a == 0 or b == 0 else 1.0, product)
        if is_finite(c):
            if product:
                # Numbers that cancel: the sum is +0. A result of 0 * x + c has c's.
                return 0.0 if c else math.copysign(0.0, product)
            return product + c
    return product + c


def maximum(a, b):
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if a == b:
        return b if math.copysign(1, a) < 0 else a
    return max(a, b)


def minimum(a, b):
    return -maximum(-a, -b)


def max_number(a, b):
    return b if math.isnan(a) else a if math.isnan(b) else maximum(a, b)


def min_number(a, b):
    return -max_number(-a, -b)


def round_away(x):
    return math.copysign(math.floor(abs(x) + 0.5) if abs(x) < 2 ** 52 and
                         abs(x) != 0.49999999999999994 else
                         (0.0 if abs(x) < 1 else abs(x)), x)


def whole(function):
    """A rounding to whole numbers, which keeps what is not finite and the sign of zero."""
    return lambda x: math.copysign(float(function(x)), x) if math.isfinite(x) else x


FLOAT_PREDICATES = {
    "false": lambda a, b: False, "true": lambda a, b: True,
    "oeq": lambda a, b: a == b, "ogt": lambda a, b: a > b, "oge": lambda a, b: a >= b,
    "olt": lambda a, b: a < b, "ole": lambda a, b: a <= b,
    "one": lambda a, b: a < b or a > b, "ord": lambda a, b: a == a and b == b,
    "ueq": lambda a, b: not (a < b or a > b), "ugt": lambda a, b: not a <= b,
    "uge": lambda a, b: not a < b, "ult": lambda a, b: not a >= b,
    "ule": lambda a, b: not a > b, "une": lambda a, b: a != b,
    "uno": lambda a, b: a != a or b != b}


def safe(function, poles=()):
    """A function of one number; outside of where it is defined NaN."""
    def reference(x):
        if x in poles:
            return poles[x]
        if math.isnan(x):
            return x
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x) if function in (math.sinh, math.expm1) else math.inf
        except ValueError:
            return math.nan
    return reference


def exp2(x):
    return 2.0 ** x if x < 1100 else math.inf


# How many numbers f64 and f32 results may be apart from the one that is nearest.
FUNCTIONS = {
    "exp": (safe(math.exp), 2, 3), "exp2": (safe(exp2), 2, 3), "expm1": (safe(math.expm1), 2, 4),
    "log": (safe(math.log, {0.0: -math.inf}), 2, 3),
    "log2": (safe(math.log2, {0.0: -math.inf}), 2, 3),
    "log10": (safe(math.log10, {0.0: -math.inf}), 2, 3),
    "log1p": (safe(math.log1p, {-1.0: -math.inf}), 2, 4),
    "sin": (safe(math.sin), 2, 2), "cos": (safe(math.cos), 2, 2), "tan": (safe(math.tan), 2, 2),
    "asin": (safe(math.asin), 2, 2), "acos": (safe(math.acos), 2, 2),
    "atan": (safe(math.atan), 2, 2), "sinh": (safe(math.sinh), 4, 4),
    "cosh": (safe(math.cosh), 4, 4), "tanh": (safe(math.tanh), 4, 4),
    "asinh": (safe(math.asinh), 4, 4), "acosh": (safe(math.acosh), 4, 4),
    "atanh": (safe(math.atanh, {1.0: math.inf, -1.0: -math.inf}), 4, 4),
    "erf": (safe(math.erf), 4, 4), "erfc": (safe(math.erfc), 8, 8),
    "cbrt": (safe(math.cbrt), 2, 2),
    "rsqrt": (lambda x: divide(1.0, math.sqrt(x)) if not x < 0 else math.nan, 2, 2),
}


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


# Of two numbers, by the C library.
LIBRARY = ctypes.CDLL(None)
for function in (LIBRARY.pow, LIBRARY.atan2):
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double] * 2


def power_ops(element):
    format = FORMATS[element]
    return [Op(name, f"math.{name} %a, %b : {{t}}", element,
               lambda a, b, c, function=function: format.round(function(format.value(a),
                                                                        format.value(b))),
               2 if element in ("f64", "f32") else 1)
            for name, function in (("powf", LIBRARY.pow), ("atan2", LIBRARY.atan2))]


def function_ops(element):
    format = FORMATS[element]
    ops = []
    for name, (function, ulps, narrow_ulps) in FUNCTIONS.items():
        allowed = {"f64": ulps, "f32": narrow_ulps}.get(element, 1)
        ops.append(Op(name, f"math.{name} %a : {{t}}", element,
                      lambda a, b, c, function=function: format.round(function(format.value(a))),
                      allowed))
    return ops


# ---- integers --------------------------------------------------------------

def floor_divide(a, b):
    return a // b


def truncate_divide(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def integer_power(base, exponent, width):
    if exponent < 0 and base not in (1, -1):
        return 0
    return pow(base, exponent if exponent >= 0 else -exponent, 1 << width)


def integer_ops(element):
    width = INTEGERS[element]
    mask = (1 << width) - 1
    shape = "{t}"

    def op(name, function, is_signed=False, dialect="arith", result=element):
        def reference(a, b, c):
            if is_signed:
                a, b = signed(a, width), signed(b, width)
            value = function(a, b)
            return None if value is None else int(value) & (1 if result == "i1" else mask)
        return Op(name, f"{dialect}.{name} %a, %b : {shape}", result, reference)

    def division(name, function, is_signed):
        # By zero is undefined; it must not end the program.
        return op(name, lambda a, b: function(a, b) if b else None, is_signed)

    def shift(name, function, is_signed=False):
        # By the width or more is undefined.
        return op(name, lambda a, b: function(a, b & mask) if b & mask < width else None,
                  is_signed)

    ops = [
        op("addi", lambda a, b: a + b), op("subi", lambda a, b: a - b),
        op("muli", lambda a, b: a * b), op("andi", lambda a, b: a & b),
        op("ori", lambda a, b: a | b), op("xori", lambda a, b: a ^ b),
        op("maxsi", max, True), op("minsi", min, True), op("maxui", max), op("minui", min),
        division("divsi", truncate_divide, True), division("divui", floor_divide, False),
        division("remsi", lambda a, b: a - b * truncate_divide(a, b), True),
        division("remui", lambda a, b: a % b, False),
        division("floordivsi", floor_divide, True),
        division("ceildivsi", lambda a, b: -(-a // b), True),
        division("ceildivui", lambda a, b: -(-a // b), False),
        shift("shli", lambda a, b: a << b), shift("shrui", lambda a, b: a >> b),
        shift("shrsi", lambda a, b: a >> b, True),
        Op("select", f"arith.select %s, %a, %b : {{i1}}, {shape}", element,
           lambda a, b, c: a if a > b else b),
    ]
    if element != "index":
        # math's own verifier wants them so.
        ops.append(op("ipowi", lambda a, b: integer_power(a, b, width), True, "math"))
    ops += [
        Op("ctpop", f"math.ctpop %a : {shape}", element, lambda a, b, c: bin(a).count("1")),
        Op("ctlz", f"math.ctlz %a : {shape}", element,
           lambda a, b, c: (width - a.bit_length()) & mask),
        Op("cttz", f"math.cttz %a : {shape}", element,
           lambda a, b, c: ((a & -a).bit_length() - 1 if a else width) & mask),
        Op("absi", f"math.absi %a : {shape}", element,
           lambda a, b, c: abs(signed(a, width)) & mask),
        Op("addui_extended", f"arith.addui_extended %a, %b : {shape}, {{i1}}", element,
           lambda a, b, c: (a + b) & mask),
        Op("addui_carry", f"arith.addui_extended %a, %b : {shape}, {{i1}}", "i1#1",
           lambda a, b, c: (a + b) >> width),
        Op("mulsi_extended", f"arith.mulsi_extended %a, %b : {shape}", element + "#1",
           lambda a, b, c: (signed(a, width) * signed(b, width)) >> width & mask),
        Op("mului_extended", f"arith.mului_extended %a, %b : {shape}", element + "#1",
           lambda a, b, c: (a * b) >> width),
    ]
    for name, compare in (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"),
                          ("ge", ">=")):
        for prefix in ("",) if name in ("eq", "ne") else ("s", "u"):
            def reference(a, b, c, compare=compare, is_signed=prefix == "s"):
                if is_signed:
                    a, b = signed(a, width), signed(b, width)
                return int(eval(f"a {compare} b", {"a": a, "b": b}))
            ops.append(Op(f"cmpi_{prefix}{name}", f"arith.cmpi {prefix}{name}, %a, %b : {shape}",
                          "i1", reference))
    if element == "index":
        ops = [op for op in ops if op.name not in ("ctpop", "ctlz", "cttz", "absi")]
    return ops


# ---- casts -----------------------------------------------------------------

def ties(source, target):
    """Numbers of `source` around those of `target` and in their middles."""
    codes = []
    for code in target.edges():
        magnitude = code & (target.sign - 1)
        if magnitude > target.largest or not math.isfinite(target.value(code)):
            continue
        low, high = target.exact(magnitude), target.exact(magnitude + 1)
        for number in (low, (low + high) / 2, high):
            middle = source.round(number)
            if middle > source.largest:
                continue
            for near in (middle - 1, middle, middle + 1):
                if 0 <= near <= source.largest:
                    codes += [near, near | source.sign]
    return codes


def float_casts(element):
    format, ops, codes = FORMATS[element], [], list(FORMATS[element].edges())
    for name, target in FORMATS.items():
        if target.width > format.width:
            ops.append(Op(f"extf_{name}", f"arith.extf %a : {{t}} to {{{name}}}", name,
                          lambda a, b, c, target=target: target.round(format.value(a))))
        if target.width < format.width:
            codes += ties(format, target)
            for mode in (None,) + MODES:
                ops.append(Op(f"truncf_{name}_{mode or 'default'}",
                              f"arith.truncf %a {mode or ''} : {{t}} to {{{name}}}", name,
                              lambda a, b, c, target=target, mode=mode:
                              target.round(format.value(a), mode or "to_nearest_even")))
    if element in FLOATS:
        for name, width in INTEGERS.items():
            if name == "index":
                continue
            for kind, low, high in (("fptosi", -1 << (width - 1), (1 << (width - 1)) - 1),
                                    ("fptoui", 0, (1 << width) - 1)):
                for number in (low - 1, low, low + 1, high - 1, high, high + 1):
                    codes += [format.round(Fraction(number)),
                              format.round(Fraction(2 * number + 1, 2))]

                def reference(a, b, c, low=low, high=high, width=width):
                    # Out of range is undefined.
                    number = format.value(a)
                    if not is_finite(number) or not low <= math.trunc(number) <= high:
                        return None
                    return math.trunc(number) & ((1 << width) - 1)
                ops.append(Op(f"{kind}_{name}", f"arith.{kind} %a : {{t}} to {{{name}}}", name,
                              reference))
    bits = f"i{format.width}"
    ops.append(Op("bits", f"arith.bitcast %a : {{t}} to {{{bits}}}", bits,
                  lambda a, b, c: None if format.is_nan(a) else a))
    return ops, list(dict.fromkeys(codes))


def integer_casts(element):
    width = INTEGERS[element]
    mask = (1 << width) - 1
    ops, codes = [], integer_edges(width)
    for name, other in INTEGERS.items():
        if "index" in (name, element):
            if name != element and other >= 8 and width >= 8:
                for kind in ("index_cast", "index_castui"):
                    ops.append(Op(f"{kind}_{name}", f"arith.{kind} %a : {{t}} to {{{name}}}", name,
                                  lambda a, b, c, kind=kind, other=other:
                                  (a if kind == "index_castui" else signed(a, width)) &
                                  ((1 << other) - 1)))
        elif other > width:
            ops.append(Op(f"extsi_{name}", f"arith.extsi %a : {{t}} to {{{name}}}", name,
                          lambda a, b, c, other=other: signed(a, width) & ((1 << other) - 1)))
            ops.append(Op(f"extui_{name}", f"arith.extui %a : {{t}} to {{{name}}}", name,
                          lambda a, b, c: a))
        elif other < width:
            ops.append(Op(f"trunci_{name}", f"arith.trunci %a : {{t}} to {{{name}}}", name,
                          lambda a, b, c, other=other: a & ((1 << other) - 1)))
    if element == "index":
        return ops, codes
    for name in FLOATS:
        target = FORMATS[name]
        for top in range(target.mantissa + 1, width):
            # In the middle of two numbers, and beside it.
            for tie in ((1 << top) + (1 << (top - target.mantissa - 1)),
                        (1 << top) + (3 << (top - target.mantissa - 1))):
                codes += [n & mask for near in (tie - 1, tie, tie + 1) for n in (near, -near)]
        for kind in ("sitofp", "uitofp"):
            ops.append(Op(f"{kind}_{name}", f"arith.{kind} %a : {{t}} to {{{name}}}", name,
                          lambda a, b, c, kind=kind, target=target: target.round(
                              Fraction(signed(a, width) if kind == "sitofp" else a))))
    for name, format in FORMATS.items():
        if format.width == width:
            ops.append(Op(f"bits_{name}", f"arith.bitcast %a : {{t}} to {{{name}}}", name,
                          lambda a, b, c, format=format: format.nan if format.is_nan(a) else a))
    return ops, list(dict.fromkeys(codes))


# ---- programs --------------------------------------------------------------

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
    for element, width in INTEGERS.items():
        codes = integer_edges(width)
        codes += [n for n in range(width) if n not in codes and width > 1]
        yield Program(element, element, pairs(codes, rng), integer_ops(element))
    for element in FORMATS:
        ops, codes = float_casts(element)
        yield Program(f"{element}-casts", element, [codes, codes, codes], ops)
    for element in INTEGERS:
        ops, codes = integer_casts(element)
        if ops:
            yield Program(f"{element}-casts", element, [codes, codes, codes], ops)


def model(program, ranks):
    count = len(program.inputs[0])
    types = {name: f"tensor<{count}x{name}>" for name in list(FORMATS) + list(INTEGERS)}
    types["t"] = types[program.element]
    pin = ', tp.pin = {tp = #tp.placement<shard<0>>}' if ranks > 1 else ""
    arguments = ", ".join(f'%{name}: {types["t"]} {{tp.name = "{name}"{pin}}}' for name in "abc")
    compare = "cmpf ogt" if program.element in FORMATS else "cmpi ugt"
    lines, results = [], []
    if any("%s," in op.text for op in program.ops):
        lines.append(f"  %s = arith.{compare}, %a, %b : {types['t']}")
    if any(op.infinity for op in program.ops):
        types["rows"] = f"tensor<3x{count}x{program.element}>"
        types["columns"] = f"tensor<{count}x3x{program.element}>"
        row = f"tensor<1x{count}x{program.element}>"
        lines += [f"  %{name}0 = tensor.expand_shape %{name} [[0, 1]] output_shape [1, {count}] : "
                  f"{types['t']} into {row}" for name in "abc"]
        lines.append(f"  %rows = tensor.concat dim(0) %a0, %b0, %c0 : ({row}, {row}, {row}) -> "
                     f"{types['rows']}")
        lines.append(f"  %empty = tensor.empty() : {types['columns']}")
        lines.append(f"  %columns = linalg.transpose ins(%rows : {types['rows']}) "
                     f"outs(%empty : {types['columns']}) permutation = [1, 0]")
        width = width_of(program.element) // 4
        for name, code in {op.name.partition("_")[0]: op.infinity for op in program.ops
                           if op.infinity}.items():
            lines.append(f"  %{name} = arith.constant dense<0x{code:0{width}X}> : {types['t']}")
    for i, op in enumerate(program.ops):
        element, _, which = op.element.partition("#")
        text = op.text.format(**types)
        several = ":2" if "extended" in text else ""
        lines.append(f"  %r{i}{several} = {text}")
        results.append((f"%r{i}" + (f"#{which or 0}" if several else ""), types[element], op.name))
    header = f'module attributes {{tp.mesh = #tp.mesh<"tp" = {ranks}>}} {{\n' if ranks > 1 else \
        "module {\n"
    outputs = ", ".join(f'{kind} {{tp.name = "{name}"}}' for _, kind, name in results)
    return header + f"func.func @main({arguments}) -> ({outputs}) {{\n" + "\n".join(lines) + \
        "\n  return " + ", ".join(value for value, _, _ in results) + " : " + \
        ", ".join(kind for _, kind, _ in results) + "\n}\n}\n"


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
        command = ["tp-run", prefix + ".tp", f"--ranks={ranks}"]
        if program.element == "bf16" or program.element.startswith("f8"):
            command.append(f"--dtype={program.element}")
        for name, codes in zip("abc", program.inputs):
            write_npy(f"{prefix}.{name}.npy", program.element, codes)
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
