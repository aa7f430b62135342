"""Random programs whose ops mean the same on a rank's part of their operands, with
pins on arguments and results: what tp-propagate has to find the cheapest layouts of.

Elementwise ops of one and two operands with broadcasts and transposes, contractions,
reductions, casts and constants, each on any values of the shapes it needs.
"""

import dataclasses
import random

SIZES = (2, 3, 4, 6, 8)
DIM_NAMES = "d0", "d1", "d2", "d3", "d4", "d5"
FLOAT_BODIES = {"add": "arith.addf", "sub": "arith.subf", "mul": "arith.mulf", "div": "arith.divf",
                "max": "arith.maximumf", "min": "arith.minimumf"}
INTEGER_BODIES = {"add": "arith.addi", "sub": "arith.subi", "mul": "arith.muli",
                  "max": "arith.maxsi", "min": "arith.minsi"}
IDENTITIES = {"f32": {"add": "0.0", "mul": "1.0", "max": "0xFF800000", "min": "0x7F800000"},
              "f16": {"add": "0.0", "mul": "1.0", "max": "0xFC00", "min": "0x7C00"},
              "i32": {"add": "0", "mul": "1", "max": "-2147483648", "min": "2147483647"}}
KINDS = "sum", "max", "min", "product"


@dataclasses.dataclass
class Value:
    name: str
    shape: tuple
    element: str
    users: int = 0

    @property
    def type(self):
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.element}>"


def body_of(name, element):
    return (INTEGER_BODIES if element == "i32" else FLOAT_BODIES)[name]


def map_of(loops, dims):
    return (f"affine_map<({', '.join(DIM_NAMES[:loops])}) -> "
            f"({', '.join(DIM_NAMES[dim] for dim in dims)})>")


class Graph:
    def __init__(self, rng, most_ops):
        self.rng = rng
        self.ranks = rng.choice((2, 3))
        # Few sizes, so that shapes meet.
        self.sizes = rng.sample(SIZES, rng.choice((1, 2, 2, 3)))
        self.elements = rng.choice((("f32",), ("f32",), ("f32", "f16"), ("i32",)))
        self.arguments, self.values, self.lines = [], [], []
        self.fresh = 0
        for _ in range(rng.randint(1, most_ops)):
            rng.choice((self.unary, self.unary, self.binary, self.binary, self.binary,
                        self.contraction, self.contraction, self.reduction, self.reduction,
                        self.cast))()

    def name(self):
        self.fresh += 1
        return f"%v{self.fresh}"

    def shape(self, rank):
        return tuple(self.rng.choice(self.sizes) for _ in range(rank))

    def operand(self, shape, element):
        """A value of this type: one that is there, or a new argument."""
        known = [value for value in self.values
                 if value.shape == shape and value.element == element]
        if known and self.rng.random() < 0.85:
            # Later ones first, so that programs are deep.
            value = known[-1 - min(len(known) - 1, int(self.rng.expovariate(1)))]
        else:
            value = Value(f"%a{len(self.arguments)}", shape, element)
            self.arguments.append(value)
            self.values.append(value)
        value.users += 1
        return value

    def any_operand(self, element, least_rank=1):
        known = [value for value in self.values
                 if value.element == element and len(value.shape) >= least_rank]
        if known and self.rng.random() < 0.85:
            value = self.rng.choice(known[-3:])
            value.users += 1
            return value
        return self.operand(self.shape(self.rng.randint(least_rank, 3)), element)

    def scalar(self, number, element):
        name = self.name()
        self.lines.append(f"{name} = arith.constant {number} : {element}")
        return name

    def number(self, element):
        return self.rng.choice(("2", "-1", "3") if element == "i32" else ("2.0", "-0.5", "1.5"))

    def empty(self, shape, element):
        value = Value(self.name(), shape, element)
        self.lines.append(f"{value.name} = tensor.empty() : {value.type}")
        return value

    def filled(self, shape, element, number):
        empty, scalar = self.empty(shape, element), self.scalar(number, element)
        value = Value(self.name(), shape, element)
        self.lines.append(f"{value.name} = linalg.fill ins({scalar} : {element}) "
                          f"outs({empty.name} : {empty.type}) -> {value.type}")
        return value

    def constant(self, shape, element):
        """A tensor of one number: a constant or a fill."""
        number = self.number(element)
        if self.rng.random() < 0.5:
            return self.filled(shape, element, number)
        value = Value(self.name(), shape, element)
        self.lines.append(f"{value.name} = arith.constant dense<{number}> : {value.type}")
        return value

    def generic(self, loops, reduced, inputs, out, body):
        """`inputs`: (value, its dims); `out`: (the init, its dims)."""
        maps = ", ".join(map_of(loops, dims) for _, dims in inputs + [out])
        iterators = ", ".join('"reduction"' if loop in reduced else '"parallel"'
                              for loop in range(loops))
        arguments = ", ".join(f"%x{i} : {value.element}"
                              for i, (value, _) in enumerate(inputs + [out]))
        init = out[0]
        self.values.append(Value(self.name(), init.shape, init.element))
        lines = "".join(f"      {line}\n" for line in body)
        ins = ", ".join(value.name for value, _ in inputs)
        types = ", ".join(value.type for value, _ in inputs)
        self.lines.append(
            f"{self.values[-1].name} = linalg.generic {{indexing_maps = [{maps}], "
            f"iterator_types = [{iterators}]}} ins({ins} : {types}) "
            f"outs({init.name} : {init.type}) {{\n    ^bb0({arguments}):\n{lines}    }} "
            f"-> {init.type}")

    def permuted(self, rank):
        dims = list(range(rank))
        if self.rng.random() < 0.3:
            self.rng.shuffle(dims)
        return dims

    def unary(self):
        element = self.rng.choice(self.elements)
        value = self.any_operand(element)
        dims = self.permuted(len(value.shape))
        shape = [0] * len(dims)
        for dim, size in zip(dims, value.shape):
            shape[dim] = size
        what = self.rng.choice(("square", "negate", "add", "scale", "copy"))
        line = None
        if what == "square" or (what == "negate" and element == "i32"):
            line = f"%y = {body_of('mul', element)} %x0, %x0 : {element}"
        elif what == "negate":
            line = f"%y = arith.negf %x0 : {element}"
        if what in ("add", "scale"):
            scalar = self.scalar(self.number(element), element)
            body = body_of("add" if what == "add" else "mul", element)
            line = f"%y = {body} %x0, {scalar} : {element}"
        body = ([line] if line else []) + [f"linalg.yield {'%y' if line else '%x0'} : {element}"]
        self.generic(len(dims), (), [(value, dims)],
                     (self.empty(tuple(shape), element), list(range(len(dims)))), body)

    def binary(self):
        element = self.rng.choice(self.elements)
        first = self.any_operand(element)
        rank = len(first.shape)
        dims = self.permuted(rank)
        shape = [0] * rank
        for dim, size in zip(dims, first.shape):
            shape[dim] = size
        other_dims = list(range(rank))
        if rank > 1 and self.rng.random() < 0.35:
            other_dims.remove(self.rng.randrange(rank))
        other_shape = tuple(shape[dim] for dim in other_dims)
        second = (self.constant(other_shape, element) if self.rng.random() < 0.15
                  else self.operand(other_shape, element))
        names = INTEGER_BODIES if element == "i32" else FLOAT_BODIES
        op = body_of(self.rng.choice(list(names)), element)
        self.generic(rank, (), [(first, dims), (second, other_dims)],
                     (self.empty(tuple(shape), element), list(range(rank))),
                     [f"%y = {op} %x0, %x1 : {element}", f"linalg.yield %y : {element}"])

    def init(self, shape, element, combiner):
        """What a reduction starts from: an identity, or now and then a value."""
        if self.rng.random() < 0.15:
            return self.operand(shape, element)
        return self.filled(shape, element, IDENTITIES[element][combiner])

    def contraction(self):
        element = self.rng.choice(self.elements)
        first = self.any_operand(element, least_rank=2)
        rank = len(first.shape)
        # The last dimension is summed; batches stay where there are three.
        columns = self.rng.choice(self.sizes)
        batch = first.shape[:rank - 2]
        summed, column = rank - 1, rank
        second = self.operand(batch + (first.shape[-1], columns), element)
        out_shape = first.shape[:-1] + (columns,)
        result_dims = list(range(rank - 1)) + [column]
        batch_dims = list(range(rank - 2))
        mul, add = body_of("mul", element), body_of("add", element)
        self.generic(rank + 1, (summed,),
                     [(first, list(range(rank - 1)) + [summed]),
                      (second, batch_dims + [summed, column])],
                     (self.init(out_shape, element, "add"), result_dims),
                     [f"%y = {mul} %x0, %x1 : {element}", f"%z = {add} %x2, %y : {element}",
                      f"linalg.yield %z : {element}"])

    def reduction(self):
        element = self.rng.choice(self.elements)
        value = self.any_operand(element)
        rank = len(value.shape)
        reduced = self.rng.randrange(rank)
        kept = [dim for dim in range(rank) if dim != reduced]
        combiner = self.rng.choice(("add", "add", "max", "min", "mul"))
        self.generic(rank, (reduced,), [(value, list(range(rank)))],
                     (self.init(tuple(value.shape[dim] for dim in kept), element, combiner), kept),
                     [f"%y = {body_of(combiner, element)} %x1, %x0 : {element}",
                      f"linalg.yield %y : {element}"])

    def cast(self):
        if self.elements != ("f32", "f16"):
            return self.unary()
        element = self.rng.choice(self.elements)
        value = self.any_operand(element)
        to, op = ("f16", "truncf") if element == "f32" else ("f32", "extf")
        dims = list(range(len(value.shape)))
        return self.generic(len(dims), (), [(value, dims)], (self.empty(value.shape, to), dims),
                            [f"%y = arith.{op} %x0 : {element} to {to}", f"linalg.yield %y : {to}"])

    def pin(self, value, partial):
        """A placement, or None."""
        choice = self.rng.random()
        if choice < 0.3:
            return None
        shards = [dim for dim, size in enumerate(value.shape) if size > 1]
        if choice < partial:
            return f"partial<{self.rng.choice(KINDS[:1] * 4 + KINDS)}>"
        if choice < 0.5 or not shards:
            return "replicate"
        return f"shard<{self.rng.choice(shards)}>"

    def port(self, value, attributes, partial):
        pin = self.pin(value, partial)
        if pin:
            attributes.append(f"tp.pin = {{tp = #tp.placement<{pin}>}}")
        return " {" + ", ".join(attributes) + "}" if attributes else ""

    def text(self, name):
        results = [value for value in self.values if value not in self.arguments
                   and (value.users == 0 or self.rng.random() < 0.15)]
        arguments = ", ".join(
            f"{value.name}: {value.type}" + self.port(
                value, ['tp.kind = "parameter"'] if self.rng.random() < 0.25 else [], 0.38)
            for value in self.arguments)
        types = ", ".join(f"{value.type}{self.port(value, [], 0)}" for value in results)
        lines = "".join(f"    {line}\n" for line in self.lines)
        return (f'module attributes {{tp.mesh = #tp.mesh<"tp" = {self.ranks}>}} {{\n'
                f"  func.func @main({arguments}) -> ({types}) {{\n{lines}"
                f"    return {', '.join(value.name for value in results)} : "
                f"{', '.join(value.type for value in results)}\n"
                f'  }} loc("{name}":1:1)\n}}\n')


def generate(seed, most_ops):
    """The text of one program; remarks at its function begin with `seed-N:`."""
    return Graph(random.Random(seed), most_ops).text(f"seed-{seed}")
