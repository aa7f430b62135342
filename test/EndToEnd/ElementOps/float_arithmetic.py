"""What IEEE 754 and the dialects make of floats that are given as Python's."""

import math
from fractions import Fraction


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
