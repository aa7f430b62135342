"""Random scalars inside the body of a linalg op."""

from collections import namedtuple

from values import EXACT, FLOATS, ROUNDING, product_of, rounded, sum_of

Scalar = namedtuple("Scalar", "name element bound error")


class Body:
    """`loops`: sizes of the loops that linalg.index may ask for (none: the op
    has no linalg.index)."""

    def __init__(self, program, loops):
        self.program, self.rng, self.loops = program, program.rng, loops
        self.lines, self.count, self.scalars = [], 0, []

    def add(self, text, element, bound=1, error=0.0):
        name = f"%b{self.count}"
        self.count += 1
        self.lines.append(f"      {name} = {text}")
        scalar = Scalar(name, element, bound, error)
        if element not in FLOATS or (bound <= EXACT[element] if error == 0 else
                                     bound < 1e4 and error < 0.02):
            self.scalars.append(scalar)
        return scalar

    def pick(self, element=None, is_exact=False):
        found = [s for s in self.scalars if element in (None, s.element) and
                 not (is_exact and s.error)]
        return self.rng.choice(found) if found else None

    def constant(self, element):
        if element == "i1":
            return self.add(f"arith.constant {self.rng.choice(['true', 'false'])}", element)
        number = self.rng.choice([-2, -1, 0, 0, 1, 2])
        text = f"{number}.0" if element in FLOATS else f"{number}"
        return self.add(f"arith.constant {text} : {element}", element, abs(number))

    def index(self, text):
        """An index that is no number of the program."""
        name = f"%b{self.count}"
        self.count += 1
        self.lines.append(f"      {name} = {text}")
        return name

    def step(self):
        a = self.pick()
        if a is None:
            return
        b = self.pick(a.element) if self.rng.random() < 0.75 else self.constant(a.element)
        if b is None:
            return
        kind = self.rng.random()
        if kind < 0.08 and self.loops:
            self.loop_index(a.element)
        elif kind < 0.18:
            self.convert(a)
        elif kind < 0.26:
            self.choose(a, b)
        elif kind < 0.36:
            self.read()
        elif kind < 0.42 and a.element in FLOATS:
            self.function(a)
        else:
            self.combine(a, b)

    def combine(self, a, b):
        element = a.element
        if element not in FLOATS and element != "i1" and self.rng.random() < 0.1:
            # Division and shifts by anything are undefined for some numbers.
            op = self.rng.choice(["divsi", "divui", "remsi", "remui", "floordivsi",
                                  "ceildivsi", "shli", "shrsi", "shrui"])
            n = self.add(f"arith.constant {self.rng.randint(1, 3)} : {element}", element)
            self.add(f"arith.{op} {a.name}, {n.name} : {element}", element)
            return
        if element not in FLOATS:
            ops = ["addi", "addi", "addi", "subi", "muli", "maxsi", "minsi", "maxui",
                   "minui", "andi", "ori", "xori"]
            self.add(f"arith.{self.rng.choice(ops)} {a.name}, {b.name} : {element}", element)
            return
        op = self.rng.choice(["addf", "addf", "addf", "subf", "mulf", "mulf", "maximumf",
                              "minimumf", "maxnumf", "minnumf", "negf"])
        if op == "negf":
            self.add(f"arith.negf {a.name} : {element}", element, a.bound, a.error)
            return
        if op == "mulf":
            bound, error = product_of(element, a[2:], b[2:])
        elif op in ("addf", "subf"):
            bound, error = sum_of(element, 1, a.bound, a.error, b.bound, b.error)
        else:
            bound, error = max(a.bound, b.bound), max(a.error, b.error)
        self.add(f"arith.{op} {a.name}, {b.name} : {element}", element, bound, error)

    def function(self, a):
        """Of math, on arguments where it is smooth. Exact ones stay exact."""
        element = a.element
        op = self.rng.choice(["absf", "floor", "exp", "tanh", "sqrt", "erf", "divf"])
        if op == "absf":
            self.add(f"math.absf {a.name} : {element}", element, a.bound, a.error)
            return
        if op == "floor":
            if a.error == 0:
                self.add(f"math.floor {a.name} : {element}", element, a.bound)
            return
        if op == "exp" and a.bound > 4:
            return
        slope, bound, x = 1.2, max(a.bound, 1), a.name
        if op == "exp":
            slope, bound = 55, 55
        elif op == "divf":
            b = self.pick(element)
            y = self.positive(b)
            self.add(f"arith.divf {x}, {y} : {element}", element, a.bound,
                     rounded(element, 4 * bound, a.error + a.bound * b.error))
            return
        elif op == "sqrt":
            x = self.positive(a)
        else:
            bound = 1
        self.add(f"math.{op} {x} : {element}", element, bound,
                 rounded(element, bound * 8, a.error * slope + 1e-6 * bound))

    def positive(self, a):
        """The name of 1 + |a|."""
        one = self.add(f"arith.constant 1.0 : {a.element}", a.element, 1)
        absolute = self.add(f"math.absf {a.name} : {a.element}", a.element, a.bound, a.error)
        return self.add(f"arith.addf {absolute.name}, {one.name} : {a.element}", a.element,
                        *sum_of(a.element, 1, a.bound, a.error, 1)).name

    def loop_index(self, element):
        loop = self.rng.randrange(len(self.loops))
        name = self.index(f"linalg.index {loop} : index")
        if element == "i1":
            one = self.index("arith.constant 1 : index")
            self.add(f"arith.cmpi sgt, {name}, {one} : index", "i1")
            return
        whole = element if element in ("i8", "i16", "i32", "i64") else "i32"
        cast = self.add(f"arith.index_cast {name} : index to {whole}", whole)
        if element in FLOATS and self.loops[loop] <= EXACT[element]:
            self.add(f"arith.sitofp {cast.name} : {whole} to {element}", element,
                     self.loops[loop])

    def convert(self, a):
        element = a.element
        if element in FLOATS:
            to = self.rng.choice([e for e in ("f64", "f32", "f16", "bf16") if e != element])
            if {to, element} == {"f16", "bf16"}:
                return
            wider = ("f64", "f32", "f16").index(to) < ("f64", "f32", "f16").index(element) \
                if "bf16" not in (to, element) else element == "bf16"
            if wider:
                self.add(f"arith.extf {a.name} : {element} to {to}", to, a.bound, a.error)
            elif a.error == 0 and a.bound <= EXACT[to]:
                self.add(f"arith.truncf {a.name} : {element} to {to}", to, a.bound)
            elif a.error and a.bound * ROUNDING[to] < 0.01:
                self.add(f"arith.truncf {a.name} : {element} to {to}", to, a.bound,
                         rounded(to, a.bound, a.error))
            return
        if element == "index":
            to = self.rng.choice(["i64", "i32"])
            self.add(f"arith.index_cast {a.name} : index to {to}", to)
            return
        if element == "i1" and self.rng.random() < 0.5:
            self.add(f"arith.uitofp {a.name} : i1 to f32", "f32", 1)
            return
        width = int(element[1:])
        to = self.rng.choice([n for n in (8, 16, 32, 64) if n != width])
        op = "arith.trunci" if to < width else f"arith.ext{self.rng.choice('su')}i"
        self.add(f"{op} {a.name} : {element} to i{to}", f"i{to}")

    def choose(self, a, b):
        condition = self.pick("i1")
        if condition is None:
            c = self.pick(a.element, is_exact=True)
            d = self.pick(a.element, is_exact=True)
            if c is None or d is None:
                return
            if a.element in FLOATS:
                condition = self.add(
                    f"arith.cmpf {self.rng.choice(['ogt', 'une', 'ole'])}, {c.name}, "
                    f"{d.name} : {a.element}", "i1")
            else:
                condition = self.add(
                    f"arith.cmpi {self.rng.choice(['sgt', 'ne', 'ule'])}, {c.name}, "
                    f"{d.name} : {a.element}", "i1")
        self.add(f"arith.select {condition.name}, {a.name}, {b.name} : {a.element}",
                 a.element, max(a.bound, b.bound), max(a.error, b.error))

    def read(self):
        """tensor.extract of a table at loops' indices and at computed ones."""
        table = self.program.pick(lambda v: 0 < v.rank <= 3 and min(v.shape) > 0)
        if table is None:
            return
        places = [self.place(size) for size in table.shape]
        if None not in places:
            self.add(f"tensor.extract {table.name}[{', '.join(places)}] : {table.type}",
                     table.element, table.bound, table.error)

    def place(self, size):
        """An index below `size`, or None."""
        same = [i for i, n in enumerate(self.loops) if n == size]
        if same and self.rng.random() < 0.6:
            return self.index(f"linalg.index {self.rng.choice(same)} : index")
        if self.rng.random() < 0.1:
            return self.index(f"arith.constant {self.rng.randrange(size)} : index")
        whole = self.pick("i64") or self.pick("i32")
        if whole is not None:
            place = self.index(f"arith.index_cast {whole.name} : {whole.element} to index")
        elif self.loops:
            loop = self.rng.randrange(len(self.loops))
            place = self.index(f"linalg.index {loop} : index")
            seven = self.index("arith.constant 7 : index")
            place = self.index(f"arith.muli {place}, {seven} : index")
        else:
            return None
        n = self.index(f"arith.constant {size} : index")
        return self.index(f"arith.remui {place}, {n} : index")
