"""A random program of one function, and random pins for it.

Every op of tp has a function here or in the *_ops.py files that adds it to a
program, or does nothing where no value suits it. Results keep track of how
exact their numbers are (values.py), so that what is compared is exact wherever
the order of additions does not matter.
"""

import math

import complex_ops
import control_ops
import data_ops
import edge_ops
import elementwise_ops
import generic_op
import layouts
import movement_ops
import named_ops
import tensor_ops
import window_ops
from values import EXACT, FLOATS, Value, type_of

ELEMENTS = ["f32"] * 9 + ["f64"] * 2 + ["bf16"] * 2 + ["f16"] * 2 + [
    "i64", "i64", "i32", "i32", "i16", "i8", "i1", "i1", "index"]
MOST_ELEMENTS = 4000
OPS = (generic_op.OPS + named_ops.OPS + data_ops.OPS + tensor_ops.OPS +
       elementwise_ops.OPS + window_ops.OPS + control_ops.OPS + complex_ops.OPS + edge_ops.OPS)


class Program:
    def __init__(self, rng, features):
        self.rng, self.features = rng, features
        # Only moves and compares elements, of which every bit counts; then partial
        # values and empty pieces are worth more.
        self.is_edge = self.has("edge_numbers")
        if self.is_edge:
            self.features = features | {"partial_pin": 0.3, "empty_dims": 0.15, "uneven": 0.5,
                                        "constrain": 0.4}
        self.ops = movement_ops.OPS if self.is_edge else OPS
        self.mesh = layouts.Mesh(rng, features)
        self.lines, self.values, self.arguments, self.count = [], [], [], 0
        self.functions = []
        # Results of edge_ops.py.
        self.edges = []
        # Inside of control flow; whether main may get more arguments there.
        self.depth, self.may_add_arguments = 0, True
        n = self.mesh.ranks
        pool = [1, 2, 3, 4, 5, 6, 7, n, 2 * n, 12, rng.choice([16, 17, 33, 40])]
        if rng.random() < 0.7:
            pool += [max(self.mesh.sizes), n, 2 * n, 3 * n]
        self.sizes = rng.sample(pool, rng.randint(2, 5))
        if self.has("empty_dims"):
            self.sizes.append(0)
        # Some of the arguments' numbers are infinite or NaN.
        self.is_special = self.has("special_numbers")
        for _ in range(rng.randint(1, 4)):
            self.argument(self.random_shape(), rng.choice(ELEMENTS))

    def has(self, feature):
        """Draws a feature by its probability."""
        return self.rng.random() < self.features[feature]

    def argument(self, shape, element, limit=None):
        """A new argument; `limit` draws integers from [0, limit)."""
        bound, name = 1, f"a{len(self.arguments)}"
        if limit is not None:
            name += f"_lt{limit}"
        elif element in FLOATS:
            bound = self.rng.choice([3, 3, 7] if EXACT[element] < 1000 else [3, 5, 15])
            name += f"_max{bound}" + ("_special" if self.is_special else "")
        if limit is None and self.is_edge:
            name = f"a{len(self.arguments)}_edge"
        value = Value("%" + name, shape, element, bound)
        self.arguments.append(value)
        if element != "index" or limit is None:
            self.values.append(value)
        return value

    def random_shape(self, most=5):
        while True:
            rank = self.rng.choice([r for r in (0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5)
                                    if r <= most])
            shape = [self.rng.choice(self.sizes) for _ in range(rank)]
            if shape and self.has("large_dims"):
                shape[self.rng.randrange(rank)] = self.rng.choice([63, 64, 65, 127, 257, 1000])
            if math.prod(shape) <= MOST_ELEMENTS:
                return tuple(shape)

    def pick(self, wanted=lambda v: True):
        found = [v for v in self.values if wanted(v)]
        # What came last is read more often: programs get deep.
        return self.rng.choice(found[-4:] if self.rng.random() < 0.5 else found) \
            if found else None

    def fresh(self, text, results=1):
        """Adds a line; the name of what it makes."""
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"{name}{f':{results}' if results > 1 else ''} = {text}")
        return name

    def emit(self, text, shape, element, bound=1, error=0.0):
        """Adds a line that makes one tensor."""
        value = Value(self.fresh(text), shape, element, bound, error)
        self.offer(value)
        return value

    def offer(self, value):
        """A value that later ops may read, if it is good for it."""
        if value.is_usable and value.size <= 3 * MOST_ELEMENTS:
            self.values.append(value)

    def number(self, element):
        if element == "i1":
            return self.rng.choice(["true", "false"])
        number = self.rng.choice([-3, -1, 0, 0, 0, 1, 2])
        if self.is_edge and element in FLOATS and number == 0:
            return self.rng.choice(["0.0", "-0.0"])
        return f"{number}.0" if element in FLOATS else str(number)

    def scalar(self, element, text=None):
        """The name of a scalar constant."""
        text = text or self.number(element)
        return self.fresh(f"arith.constant {text}" +
                          ("" if element == "i1" else f" : {element}"))

    def constant(self, shape, element):
        """Of one number or of several."""
        if self.rng.random() < 0.6 or not 0 < math.prod(shape) <= 60:
            text = "" if 0 in shape else self.number(element)
        else:
            def nested(rest):
                if not rest:
                    return self.number(element)
                return "[" + ", ".join(nested(rest[1:]) for _ in range(rest[0])) + "]"
            text = nested(list(shape))
        return self.emit(f"arith.constant dense<{text}> : {type_of(shape, element)}",
                         shape, element, 3)

    def empty(self, shape, element):
        return Value(self.fresh(f"tensor.empty() : {type_of(shape, element)}"), shape,
                     element, 0)

    def init(self, shape, element, is_read):
        """What an op writes into: an empty, a fill, a constant or any value."""
        same = [v for v in self.values if v.shape == tuple(shape) and v.element == element]
        if same and self.rng.random() < 0.4:
            return self.rng.choice(same)
        if self.rng.random() < 0.3:
            return self.constant(shape, element)
        empty = self.empty(shape, element)
        if not is_read:
            return empty
        number = self.scalar(element)
        return self.emit(f"linalg.fill ins({number} : {element}) outs({empty.name} : "
                         f"{empty.type}) -> {empty.type}", shape, element, 3)

    def step(self):
        op, = self.rng.choices([f for _, f in self.ops], [w for w, _ in self.ops])
        if op.__name__ in self.features and not self.has(op.__name__):
            return
        before = len(self.lines)
        op(self)
        if len(self.lines) > before and not self.depth and self.has("constrain"):
            self.constrain(self.values[-1])

    def constrain(self, value):
        """Pins a value on one axis; what reads it later reads the pinned one."""
        if value in self.arguments and self.rng.random() < 0.5:
            return
        axis, placement = layouts.placement_of_value(self, value)
        lazy = "lazy " if placement == "replicate" and self.rng.random() < 0.3 else ""
        pinned = self.fresh(
            f'tp.constrain {value.name} on "{axis}" of #mesh to {placement} '
            f'view {list(value.shape)} {lazy}at "m{self.count}" "output" : {value.type}')
        self.values[self.values.index(value)] = Value(
            pinned, value.shape, value.element, value.bound, value.error)

    def results(self):
        late = self.values[-5:] if self.rng.random() < 0.8 else self.values
        return [self.maybe_unsigned(self.rng.choice(late))
                for _ in range(self.rng.randint(1, 3))] + self.edges

    def maybe_unsigned(self, value):
        if value.element not in ("i8", "i16", "i32", "i64") or self.rng.random() < 0.8:
            return value
        to = type_of(value.shape, "u" + value.element)
        cast = self.fresh(f"builtin.unrealized_conversion_cast {value.name} : {value.type} to {to}")
        return Value(cast, value.shape, "u" + value.element)

    def text(self, results):
        """The module: pins included, nothing else needed to compile it."""
        def port(name, value, is_argument):
            kind = ', tp.kind = "user_input"' if is_argument else ""
            pin = layouts.pin(self, value, is_argument)
            return f'{{tp.name = "{name}"{kind}{pin}}}'
        arguments = ", ".join(f"{v.name}: {v.type} {port(v.name[1:], v, True)}"
                              for v in self.arguments)
        ports = ", ".join(f"{v.type} {port(self.result_name(i, v), v, False)}"
                          for i, v in enumerate(results))
        lines = "".join(f"    {line}\n" for line in self.lines)
        return (f"#mesh = {self.mesh.text}\n"
                f"module attributes {{tp.mesh = #mesh}} {{\n" + "".join(self.functions) +
                f"  func.func @main({arguments}) -> ({ports}) {{\n{lines}"
                f"    return {', '.join(v.name for v in results)} : "
                f"{', '.join(v.type for v in results)}\n  }}\n}}\n")

    def result_name(self, position, value):
        """Says how near a result has to be: `r0`, or `r0_near1.5e-05`; `r0_bits` has the
        same bits."""
        if self.is_edge:
            return f"r{position}_bits"
        if value.tag:
            return f"r{position}_{value.tag}"
        name = f"r{position}" + ("_special" if self.is_special else "")
        return name if value.is_exact else f"{name}_near{value.error:.1e}"
