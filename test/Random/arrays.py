"""Numbers of ports: drawn from their names, in files, compared."""

import functools
import math
import os
import random
import re
import struct
import sys
from fractions import Fraction

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import element_formats
import npy

# (descr of .npy, struct code); bf16 is raw.
CODES = {"f64": "d", "f32": "f", "f16": "e", "bf16": "H", "i64": "q", "i32": "i", "i16": "h",
         "i8": "b", "i1": "B", "index": "q"}
FORMATS = {element: (element_formats.NPY[element], code) for element, code in CODES.items()}
FORMATS |= {"ui64": ("<u8", "Q"), "ui32": ("<u4", "I"), "ui16": ("<u2", "H"), "ui8": ("|u1", "B")}


def bytes_of(element, numbers):
    if element == "bf16":
        numbers = [struct.unpack("<I", struct.pack("<f", x))[0] >> 16 for x in numbers]
    return struct.pack(f"<{len(numbers)}{FORMATS[element][1]}", *numbers)


def numbers_of(element, data):
    code = FORMATS[element][1]
    numbers = struct.unpack(f"<{len(data) // struct.calcsize('<' + code)}{code}", data)
    if element == "bf16":
        return [struct.unpack("<f", struct.pack("<I", x << 16))[0] for x in numbers]
    return numbers


def draw(port, seed):
    """The numbers of an argument, from its name: `_maxN` integers in a float up to
    N, with `_special` some that are infinite or NaN; `_ltN` integers from [0, N),
    `_edge` numbers at the edges of the type and of narrower ones."""
    rng = random.Random(f"{seed} {port.name}")
    most = re.search(r"_(max|lt)(\d+)", port.name)
    count = math.prod(port.shape)
    if port.name.endswith("_edge"):
        edges = edges_of(port.element)
        # NaN is the maximum of whatever it is in.
        if rng.random() < 0.5:
            edges = [x for x in edges if x == x]
        return [rng.choice(edges) for _ in range(count)]
    if port.element == "i1":
        return [rng.randrange(2) for _ in range(count)]
    if most and most.group(1) == "lt":
        return [rng.randrange(int(most.group(2))) for _ in range(count)]
    if port.element[0] == "u":
        most = 1 << int(port.element[2:])
        return [rng.choice([rng.randrange(most), rng.randrange(9), most - 1 - rng.randrange(9)])
                for _ in range(count)]
    if port.element[0] == "i":
        return [rng.randint(-99, 99) if port.element != "index" else rng.randint(0, 99)
                for _ in range(count)]
    bound = int(most.group(2)) if most else 3
    numbers = [rng.randint(-bound, bound) for _ in range(count)]
    if port.name.endswith("_special"):
        for at in range(count):
            if rng.random() < 0.1:
                numbers[at] = rng.choice([math.inf, -math.inf, math.nan])
    return numbers


@functools.cache
def edges_of(element):
    """Numbers of a float type, those among them where narrower types round."""
    if element == "i1":
        return [0, 1]
    if element[0] == "i":
        most = 2 ** (8 * struct.calcsize("<" + FORMATS[element][1]) - 1)
        return [0, 1, -1, most - 1, -most, 1 - most]
    format = element_formats.FORMATS[element]
    numbers = [format.value(code) for code in format.edges()]
    for name in ("f32", "f16", "bf16"):
        narrow = element_formats.FORMATS[name]
        if narrow.width < format.width:
            for code in narrow.edges():
                number, next_one = narrow.value(code), narrow.value(code + 1)
                if math.isfinite(number) and math.isfinite(next_one):
                    tie = format.round((Fraction(number) + Fraction(next_one)) / 2)
                    numbers += [format.value(tie), format.value(tie + 1)]
    return numbers


def rounded(port, arguments, inputs):
    """What a result `MODE_of_ARGUMENT` is, or None for other results."""
    match = re.search(r"_(\w+)_of_(a\d+_edge)_bits", port.name)
    if not match:
        return None
    at = [argument.name for argument in arguments].index(match.group(2))
    format = element_formats.FORMATS[port.element]
    numbers = numbers_of(arguments[at].element, inputs[at])
    width = format.width // 8
    return b"".join(format.round(number, match.group(1)).to_bytes(width, "little")
                    for number in numbers)


def write_npy(path, port, data):
    npy.write(path, FORMATS[port.element][0], port.shape, data)


read_npy = npy.read


def difference(port, expected, got):
    """None, or where and how two arrays of a result differ. `_nearE` in the name
    allows an error of E (and a little, for the accuracy of functions), `_special` NaN for
    any other number: what the ranks' identities make of infinities."""
    if expected == got:
        return None
    if len(expected) != len(got):
        return f"{port.name}: {len(expected)} bytes expected, got {len(got)}"
    near = re.search(r"_near([0-9.e+-]+)", port.name)
    allowed = 4 * float(near.group(1)) if near else 0
    a, b = numbers_of(port.element, expected), numbers_of(port.element, got)

    def agree(x, y):
        if port.name.endswith("_bits"):
            return (x != x and y != y) or (x == y and math.copysign(1, x) == math.copysign(1, y))
        return x == y or (y != y and (x != x or "_special" in port.name)) or \
            abs(x - y) <= allowed
    wrong = [at for at, (x, y) in enumerate(zip(a, b)) if not agree(x, y)]
    if not wrong:
        return None
    at, index = wrong[0], []
    for n in reversed(port.shape):
        index.insert(0, at % n)
        at //= n
    return f"{port.name}{index}: expected {a[wrong[0]]}, got {b[wrong[0]]} " \
           f"({len(wrong)} of {len(a)} differ)"
