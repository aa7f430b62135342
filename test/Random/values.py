"""Values of a random program: names, types, and how exact their numbers are."""

import math
import re

FLOATS = ("f64", "f32", "f16", "bf16")
INTEGERS = ("i64", "i32", "i16", "i8", "i1", "index")

# Magnitudes up to which integers in a float stay exact, whatever is added in
# what order.
EXACT = {"f64": 2 ** 40, "f32": 2 ** 22, "f16": 512, "bf16": 64}
# Half a unit in the last place of 1.
ROUNDING = {"f64": 2.0 ** -53, "f32": 2.0 ** -24, "f16": 2.0 ** -11, "bf16": 2.0 ** -8}


def type_of(shape, element):
    return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"


def reduced_part(p):
    """(value, dimensions that are reduced, shape without them), or None."""
    a = p.pick(lambda v: 0 < v.rank and v.element != "index")
    if not a:
        return None
    gone = sorted(p.rng.sample(range(a.rank), p.rng.randint(1, min(2, a.rank))))
    return a, gone, [n for i, n in enumerate(a.shape) if i not in gone]


def identity_loops(rank):
    """(dims, kinds) of a linalg.generic with parallel loops over a tensor: `d0, d1` and
    `"parallel", "parallel"`."""
    return ", ".join(f"d{d}" for d in range(rank)), ", ".join(['"parallel"'] * rank)


def parse_type(text):
    """(shape, element) of `tensor<2x3xf32>`."""
    inner = text.strip()[len("tensor<"):-1]
    sizes, rest = re.match(r"((?:\d+x)*)(.*)", inner).groups()
    return tuple(int(n) for n in sizes.split("x")[:-1]), rest


class Value:
    """`bound`: no element is larger (floats only). `error`: how far an element
    may be from the real one; 0 means integers that are exact in any order."""

    def __init__(self, name, shape, element, bound=1, error=0.0):
        self.name, self.shape = name, tuple(shape)
        self.element, self.bound, self.error = element, bound, error
        # Part of the names of results that are compared in a way of their own.
        self.tag = ""

    @property
    def type(self):
        return type_of(self.shape, self.element)

    @property
    def rank(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def is_float(self):
        return self.element in FLOATS

    @property
    def is_integer(self):
        return self.element in INTEGERS

    @property
    def is_exact(self):
        return self.error == 0

    @property
    def is_usable(self):
        """Whether numbers still tell right from wrong."""
        if not self.is_float:
            return True
        if self.is_exact:
            return self.bound <= EXACT[self.element]
        return self.bound < 1e4 and self.error < 0.02


def rounded(element, bound, error):
    """The error after one more rounding to `element`, of inexact numbers."""
    return error + bound * ROUNDING[element] * 2


def sum_of(element, terms, bound, error, more_bound=0, more_error=0.0):
    """(bound, error) of a sum of `terms` numbers and one other."""
    total = terms * bound + more_bound
    if error == 0 and more_error == 0:
        return total, 0.0
    return total, terms * error + more_error + (terms + 1) * total * ROUNDING[element] * 2


def product_of(element, a, b):
    """(bound, error) of a product of two (bound, error)."""
    bound = a[0] * b[0]
    if a[1] == 0 and b[1] == 0:
        return bound, 0.0
    return bound, rounded(element, bound, a[1] * b[0] + b[1] * a[0] + a[1] * b[1])
