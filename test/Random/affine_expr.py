"""Affine expressions: drawn, written, and evaluated by Python's own arithmetic,
on numbers or on arrays of numpy."""

KINDS = ("floordiv", "ceildiv", "mod")


class Expr:
    """`kind`: dim, constant, +, *, or one of KINDS. A product and a division are by a
    constant."""

    def __init__(self, kind, a, b=None):
        self.kind, self.a, self.b = kind, a, b

    def text(self, name="d{}"):
        if self.kind == "dim":
            return name.format(self.a)
        if self.kind == "constant":
            return str(self.a)
        b = self.b if isinstance(self.b, int) else self.b.text(name)
        return f"({self.a.text(name)} {self.kind} {b})"

    def at(self, point):
        """The value where loop i is `point[i]`."""
        if self.kind == "dim":
            return point[self.a]
        if self.kind == "constant":
            return self.a
        a = self.a.at(point)
        if self.kind == "+":
            return a + self.b.at(point)
        if self.kind == "*":
            return a * self.b
        if self.kind == "floordiv":
            return a // self.b
        if self.kind == "ceildiv":
            return -(-a // self.b)
        return a % self.b

    def loops(self):
        if self.kind == "dim":
            return {self.a}
        found = set()
        for part in (self.a, self.b):
            if isinstance(part, Expr):
                found |= part.loops()
        return found

    def kinds(self):
        """Every kind in the expression, each time it is there."""
        inner = [part for part in (self.a, self.b) if isinstance(part, Expr)]
        return [self.kind] + [kind for part in inner for kind in part.kinds()]


def dim(number):
    return Expr("dim", number)


def constant(value):
    return Expr("constant", value)


def draw(rng, loops, depth=3):
    """A random expression over loops [0, loops); often a division."""
    choice = rng.random()
    if depth == 0 or not loops or choice < 0.12:
        if loops and rng.random() < 0.9:
            return dim(rng.randrange(loops))
        return constant(rng.randint(-4, 6))
    if choice < 0.3:
        return Expr("*", draw(rng, loops, depth - 1), rng.choice([-3, -2, -1, 2, 3, 5]))
    if choice < 0.52:
        return Expr("+", draw(rng, loops, depth - 1), draw(rng, loops, depth - 1))
    return Expr(rng.choice(KINDS), draw(rng, loops, depth - 1), rng.choice([1, 2, 2, 3, 4, 5, 7]))
