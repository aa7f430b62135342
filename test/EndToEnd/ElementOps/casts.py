"""Casts between all types, on the numbers where they round."""

import math
from fractions import Fraction

from ElementOps.float_arithmetic import is_finite
from ElementOps.op import Op
from element_formats import FLOATS, FORMATS, INTEGERS, MODES, signed


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
        for name, integers in INTEGERS.items():
            width = integers.width
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
    width, mask = INTEGERS[element].width, INTEGERS[element].mask
    ops, codes = [], INTEGERS[element].edges()
    for name, integers in INTEGERS.items():
        other = integers.width
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
