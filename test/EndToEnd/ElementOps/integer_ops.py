"""Ops on integers; what is undefined may be anything."""

from ElementOps.op import Op
from element_formats import INTEGERS, signed


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
    width, mask = INTEGERS[element].width, INTEGERS[element].mask
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
