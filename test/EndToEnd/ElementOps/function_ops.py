"""Functions of floats: their results may be a few numbers apart from the nearest one."""

import ctypes
import math

from ElementOps.float_arithmetic import divide
from ElementOps.op import Op
from element_formats import FORMATS


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
