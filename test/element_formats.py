"""Element types by the codes of their elements, the numbers that their bytes are. Floats in
exact arithmetic: what IEEE 754 says of sums, products, roots and roundings, by rational
numbers and bits. Every float format here is a part of f64, so that Python's float holds all
of its values."""

import math
import struct
from fractions import Fraction

import npy

MODES = ("to_nearest_even", "downward", "upward", "toward_zero", "to_nearest_away")


class Format:
    """`overflow`: "inf", or "nan" of formats without infinities, `nan` its code, or None
    where the codes beyond infinity are NaN. Without a negative zero its code is NaN."""

    def __init__(self, name, width, mantissa, bias, largest, infinity, nan, has_negative_zero=True):
        self.name, self.width, self.mantissa, self.bias = name, width, mantissa, bias
        self.largest, self.infinity, self.nan = largest, infinity, nan
        self.has_negative_zero = has_negative_zero
        self.sign = 1 << (width - 1)

    def value(self, code):
        """The number of a code, as a float."""
        magnitude, negative = code & (self.sign - 1), bool(code & self.sign)
        if not self.has_negative_zero and code == self.sign:
            return math.nan
        if magnitude > self.largest:
            if magnitude == self.infinity:
                return -math.inf if negative else math.inf
            return math.nan
        fraction = magnitude & ((1 << self.mantissa) - 1)
        exponent = magnitude >> self.mantissa
        if exponent:
            fraction += 1 << self.mantissa
        number = math.ldexp(fraction, max(exponent, 1) - self.bias - self.mantissa)
        return -number if negative else number

    def exact(self, magnitude):
        """A code's magnitude as a rational number; of the one after the largest what it
        would be were there more exponents."""
        fraction = magnitude & ((1 << self.mantissa) - 1)
        exponent = magnitude >> self.mantissa
        if exponent:
            fraction += 1 << self.mantissa
        return Fraction(fraction) * Fraction(2) ** (max(exponent, 1) - self.bias - self.mantissa)

    def round(self, number, mode="to_nearest_even", negative=False):
        """The code of a rational number, or of a float that is infinite or NaN.
        `negative`: the sign of a zero."""
        if isinstance(number, float):
            if math.isnan(number):
                return self.nan
            if math.isinf(number):
                code = self.infinity if self.infinity is not None else self.nan
                return code if number > 0 or code == self.sign else code | self.sign
            negative = math.copysign(1, number) < 0
            number = Fraction(number)
        if number:
            negative = number < 0
        code, rest, whole = self.below(abs(number))
        if rest:
            up = {"toward_zero": False, "downward": negative, "upward": not negative}.get(mode)
            if up is None:
                tie = code & 1 if mode == "to_nearest_even" else 1
                up = 2 * rest > whole or (2 * rest == whole and tie)
            code += bool(up)
        if code > self.largest:
            code = self.infinity if self.infinity is not None else self.nan
        if code == 0 and not self.has_negative_zero:
            return 0
        return code if code == self.sign or not negative else code | self.sign

    def below(self, size):
        """The code of the largest number that is not above `size`, and how much of the
        step to the next one is left: (code, rest, whole step)."""
        if not size:
            return 0, 0, 1
        numerator, denominator = size.numerator, size.denominator
        exponent = numerator.bit_length() - denominator.bit_length()
        if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
            exponent -= 1
        least = 1 - self.bias
        exponent = max(exponent, least)
        shift = exponent - self.mantissa
        step = denominator << max(shift, 0)
        digits, rest = divmod(numerator << max(-shift, 0), step)
        code = ((exponent - least) << self.mantissa) + digits
        # Beyond the largest number all is more than half a step away.
        return (code, rest, step) if code <= self.largest else (self.largest, 1, 1)

    def edges(self):
        """Codes at the edges: zeros, denormal numbers, neighbours of 1, of the smallest
        normal and of the largest number, halves, infinities and NaN."""
        one = self.round(Fraction(1))
        normal = 1 << self.mantissa
        codes = [0, 1, 2, normal - 1, normal, normal + 1, one - 1, one, one + 1,
                 self.largest - 1, self.largest]
        codes += [self.round(Fraction(n, 4)) for n in (1, 2, 3, 6, 10, 13, 14, 200, 510, 514)]
        codes += [self.round(Fraction(n, 10)) for n in (1, 7, 31)]
        codes = [code for code in dict.fromkeys(codes) if code <= self.largest]
        codes += [code | self.sign for code in codes if code or self.has_negative_zero]
        if self.infinity is not None:
            codes += [self.infinity, self.infinity | self.sign]
        return codes + [self.nan]

    def few_edges(self):
        """One code for each kind of number, of both signs: zeros, the least and the greatest
        denormal number, the least normal one, 1, the largest, infinities and NaN."""
        normal = 1 << self.mantissa
        positive = [1, normal - 1, normal, self.bias << self.mantissa, self.largest]
        if self.infinity is not None:
            positive.append(self.infinity)
        signed_codes = [code for one in positive for code in (one, one | self.sign)]
        zeros = [self.sign] if self.has_negative_zero else []
        return [0] + signed_codes + zeros + [self.nan]

    # What reductions start from that changes nothing.

    @property
    def zero(self):
        return self.sign if self.has_negative_zero else 0

    @property
    def one(self):
        return self.bias << self.mantissa

    @property
    def greatest(self):
        return self.largest if self.infinity is None else self.infinity

    @property
    def least(self):
        return self.sign | self.greatest

    def is_nan(self, code):
        return math.isnan(self.value(code))

    def order(self, code):
        """The place of a code that is no NaN: -0.0 is below 0.0."""
        magnitude = code & (self.sign - 1)
        return -magnitude - 1 if code & self.sign else magnitude

    def extreme(self, codes, largest):
        if any(self.is_nan(code) for code in codes):
            return self.nan
        return (max if largest else min)(codes, key=self.order)

    def negated(self, code):
        return self.round(-self.value(code))

    def plus(self, code, other):
        # Rounding to f64 first changes no sum of numbers of at most 24 bits.
        return self.round(self.value(code) + self.value(other))

    def times_infinity(self, code):
        return self.round(self.value(code) * math.inf)

    def same(self, code, other):
        return code == other or (self.is_nan(code) and self.is_nan(other))

    def literal(self, code):
        """A scalar of the code in MLIR; hexadecimal keeps its bits."""
        return f"0x{code:0{self.width // 4}X}"

    def ulps(self, code, other):
        """How many numbers two codes are apart."""
        def place(code):
            magnitude = code & (self.sign - 1)
            return -magnitude if code & self.sign else magnitude
        return abs(place(code) - place(other))


class Integers:
    """Two's complement; an i1 is 0 or 1, ordered so."""
    zero, one = 0, 1

    def __init__(self, width):
        self.width = width
        self.mask = (1 << width) - 1
        self.sign = 0 if width == 1 else 1 << (width - 1)
        self.least, self.greatest = self.sign, (self.sign or 2) - 1

    def edges(self):
        top = 1 << (self.width - 1)
        codes = [0, 1, 2, 3, 5, 7, 10, self.mask, self.mask - 1, self.mask - 2, self.mask - 6,
                 top, top - 1, top + 1, top >> 1, (top >> 1) + 1,
                 0x5a5a5a5a5a5a5a5a, 0xc3c3c3c3c3c3c3c3]
        return list(dict.fromkeys(code & self.mask for code in codes))

    def few_edges(self):
        if self.width == 1:
            return [0, 1]
        # The greatest of the unsigned ones is -1.
        return [0, 1, self.mask, self.sign, self.sign + 1, self.sign - 1, 0x55 & self.mask]

    def order(self, code):
        return code ^ self.sign

    def extreme(self, codes, largest):
        return (max if largest else min)(codes, key=self.order)

    def negated(self, code):
        return -code & self.mask

    def same(self, code, other):
        return code == other

    def literal(self, code):
        if self.width == 1:
            return "true" if code else "false"
        return str(signed(code, self.width))


FORMATS = {format.name: format for format in (
    Format("f64", 64, 52, 1023, 0x7fefffffffffffff, 0x7ff << 52, 0x7ff8 << 48),
    Format("f32", 32, 23, 127, 0x7f7fffff, 0xff << 23, 0x7fc00000),
    Format("f16", 16, 10, 15, 0x7bff, 0x7c00, 0x7e00),
    Format("bf16", 16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0),
    Format("f8E4M3FN", 8, 3, 7, 0x7e, None, 0x7f),
    Format("f8E5M2", 8, 2, 15, 0x7b, 0x7c, 0x7e),
    Format("f8E4M3FNUZ", 8, 3, 8, 0x7f, None, 0x80, has_negative_zero=False),
    Format("f8E5M2FNUZ", 8, 2, 16, 0x7f, None, 0x80, has_negative_zero=False),
)}
FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = {"i1": Integers(1), "i8": Integers(8), "i16": Integers(16), "i32": Integers(32),
            "i64": Integers(64), "index": Integers(64)}
ELEMENTS = {**FORMATS, **INTEGERS}


def signed(code, width):
    return code - (1 << width) if code >> (width - 1) & 1 else code


def exact_root(format, number):
    """The code of the square root of a rational number that is not negative."""
    # Enough digits, and one more that says whether there are others.
    shift = 4 * 1100
    scaled = number * (1 << shift)
    whole = scaled.numerator // scaled.denominator
    root = math.isqrt(whole)
    rest = root * root != whole or whole * scaled.denominator != scaled.numerator
    return format.round(Fraction(2 * root + rest, 2) / (1 << (shift // 2)))


# The descr of .npy files; of raw bytes where there is no type for them.
NPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "|V2", "i64": "<i8", "i32": "<i4",
       "i16": "<i2", "i8": "|i1", "i1": "|b1", "index": "<i8",
       **{name: "|V1" for name in FORMATS if name.startswith("f8")}}
# struct's letters for codes.
CODE = {64: "Q", 32: "I", 16: "H", 8: "B", 1: "B"}


def write_npy(path, element, shape, codes):
    assert len(codes) == math.prod(shape)
    npy.write(path, NPY[element], shape,
              struct.pack(f"<{len(codes)}{CODE[ELEMENTS[element].width]}", *codes))


def read_npy(path, element):
    data, code = npy.read(path), CODE[ELEMENTS[element].width]
    return struct.unpack(f"<{len(data) // struct.calcsize('<' + code)}{code}", data)


def dtype_options(element):
    """What tells tp-run the type of raw bytes in files."""
    return [f"--dtype={element}"] if NPY[element].startswith("|V") else []
