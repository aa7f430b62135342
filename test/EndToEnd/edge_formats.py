"""The edge values of every element type as codes of its format, and what IEEE 754 makes
of them: zeros of both signs, denormal numbers, infinities, NaN, the extremes.

A code is the number that the bytes of an element are. Nothing here computes with
numbers wider than the format's except through exact values of Python's floats, which are
f64: f64 itself is never added to anything but an identity.
"""

import math
import struct


class Format:
    """A float format of `bits` bits: its codes in order, and their numbers."""

    def __init__(self, bits, mantissa, bias, infinity, negative_zero=True):
        self.bits, self.mantissa, self.bias = bits, mantissa, bias
        self.sign = 1 << (bits - 1)
        self.has_negative_zero = negative_zero
        exponents = 1 << (bits - 1 - mantissa)
        one = bias << mantissa
        if infinity:
            self.infinity = (exponents - 1) << mantissa
            self.largest = self.infinity - 1
            self.nan = self.infinity | (1 << (mantissa - 1))
        else:
            self.infinity = None
            self.nan = self.sign if not negative_zero else self.sign - 1
            self.largest = self.sign - 1 if not negative_zero else self.sign - 2
        self.one = one
        # Denormal numbers from the least to the greatest, then the least normal one.
        self.positive = [1, (1 << mantissa) - 1, 1 << mantissa, one, self.largest]
        if infinity:
            self.positive.append(self.infinity)

    @property
    def zero(self):
        """What a sum starts from that changes nothing."""
        return self.sign if self.has_negative_zero else 0

    @property
    def least(self):
        return self.sign | (self.largest if self.infinity is None else self.infinity)

    @property
    def greatest(self):
        return self.largest if self.infinity is None else self.infinity

    def edges(self):
        signed = [0] + [code for one in self.positive for code in (one, one | self.sign)]
        return signed + ([self.sign] if self.has_negative_zero else []) + [self.nan]

    def is_nan(self, code):
        if not self.has_negative_zero:
            return code == self.nan
        return code & (self.sign - 1) > self.greatest

    def order(self, code):
        """The place of a code that is no NaN: -0.0 is below 0.0."""
        magnitude = code & (self.sign - 1)
        return -magnitude - 1 if code & self.sign else magnitude

    def extreme(self, codes, largest):
        if any(self.is_nan(code) for code in codes):
            return self.nan
        return (max if largest else min)(codes, key=self.order)

    def negated(self, code):
        if not self.has_negative_zero and code in (0, self.nan):
            return code
        return code ^ self.sign

    def times_infinity(self, code):
        """A number times a positive infinity."""
        if code & (self.sign - 1) == 0 or self.is_nan(code):
            return self.nan
        return self.infinity | (code & self.sign)

    def number(self, code):
        """The number of a code; formats have no wider exponents than Python's floats."""
        if self.is_nan(code):
            return math.nan
        magnitude = code & (self.sign - 1)
        sign = -1.0 if code & self.sign else 1.0
        if magnitude == self.infinity:
            return sign * math.inf
        fraction, exponent = magnitude & ((1 << self.mantissa) - 1), magnitude >> self.mantissa
        if exponent:
            fraction |= 1 << self.mantissa
        return sign * math.ldexp(fraction, max(exponent, 1) - self.bias - self.mantissa)

    def plus(self, a, b):
        """The sum of two numbers of f32 or f64."""
        codes, numbers = ("<Q", "<d") if self.bits == 64 else ("<I", "<f")
        x, y = (struct.unpack(numbers, struct.pack(codes, code))[0] for code in (a, b))
        # Rounding to f64 first changes no sum of two f32.
        try:
            return struct.unpack(codes, struct.pack(numbers, x + y))[0]
        except OverflowError:
            return self.infinity | (self.sign if x < 0 else 0)

    def same(self, a, b):
        return a == b or (self.is_nan(a) and self.is_nan(b))


class Integers:
    """Two's complement of `bits` bits; an i1 is 0 or 1, ordered so."""
    zero, one = 0, 1

    def __init__(self, bits):
        self.bits = bits
        self.mask = (1 << bits) - 1
        self.sign = 0 if bits == 1 else 1 << (bits - 1)
        self.least, self.greatest = self.sign, (self.sign or 2) - 1

    def edges(self):
        if self.bits == 1:
            return [0, 1]
        # The greatest of the unsigned ones is -1.
        return [0, 1, self.mask, self.sign, self.sign + 1, self.sign - 1, 0x55 & self.mask]

    def order(self, code):
        return code ^ self.sign

    def extreme(self, codes, largest):
        return (max if largest else min)(codes, key=self.order)

    def negated(self, code):
        return -code & self.mask

    def same(self, a, b):
        return a == b


FORMATS = {
    "f64": Format(64, 52, 1023, True), "f32": Format(32, 23, 127, True),
    "f16": Format(16, 10, 15, True), "bf16": Format(16, 7, 127, True),
    "f8E5M2": Format(8, 2, 15, True), "f8E4M3FN": Format(8, 3, 7, False),
    "f8E5M2FNUZ": Format(8, 2, 16, False, negative_zero=False),
    "f8E4M3FNUZ": Format(8, 3, 8, False, negative_zero=False),
    "i64": Integers(64), "i32": Integers(32), "i16": Integers(16), "i8": Integers(8),
    "index": Integers(64), "i1": Integers(1),
}
DESCR = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "|V2", "i64": "<i8", "i32": "<i4",
         "i16": "<i2", "i8": "|i1", "i1": "|b1", "index": "<i8"}
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}


def is_float(element):
    return isinstance(FORMATS[element], Format)


def element_bytes(element):
    return max(1, FORMATS[element].bits // 8)


def kinds_of(element):
    """The kinds of partial values that elements of a type can be."""
    if element == "i1":
        return ["max", "min"]
    return ["sum", "product", "max", "min"] + (["avg"] if is_float(element) else [])


def widened(element, code):
    """The code in f32 of a number of a narrow format."""
    return struct.unpack("<I", struct.pack("<f", FORMATS[element].number(code)))[0]


def literal(element, code):
    """A scalar of the code in MLIR; hexadecimal keeps the bits of floats."""
    if element == "i1":
        return "true" if code else "false"
    if is_float(element):
        return f"0x{code:0{element_bytes(element) * 2}X}"
    return str(code - ((code & FORMATS[element].sign) << 1))


def write_npy(path, element, shape, codes):
    assert len(codes) == math.prod(shape)
    descr = DESCR.get(element, "|V1")
    header = f"{{'descr': '{descr}', 'fortran_order': False, " \
             f"'shape': ({''.join(f'{n}, ' for n in shape)}), }}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                   struct.pack(f"<{len(codes)}{CODES[element_bytes(element)]}", *codes))


def read_npy(path, element):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    data = data[10 + size:]
    return struct.unpack(f"<{len(data) // element_bytes(element)}{CODES[element_bytes(element)]}",
                         data)
