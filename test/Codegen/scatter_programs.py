"""Random reductions that write to computed places, and what they compute.

`scatter` adds one to a program, as exporters and people write them: sums, extremes and writes,
tests in the body or in a mask of their own, places of several integer types with offsets and
coordinates, some outside of the result. Some look like scatters and are none, for they change what
no update is for. What is expected comes from the loops as they are written, of every element over
every update.
"""

import itertools
import math

from kernel_program import decode


def _wrap(value, dtype):
    bits = 1 if dtype == "i1" else int(dtype[1:])
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


class _Operation:
    """How an update is combined with what is there."""

    def __init__(self, op, neutral, combine):
        self.op, self.neutral, self.combine = op, neutral, combine


def _maximum(a, b):
    """-0.0 is below 0.0."""
    return max(a, b, key=lambda x: (x, math.copysign(1, x)))


def _minus_infinity(dtype):
    return {"f64": "0xFFF0000000000000", "f32": "0xFF800000", "f16": "0xFC00",
            "bf16": "0xFF80"}[dtype]


def _operations(dtype):
    """By name; a text of the neutral element, and its value."""
    if dtype == "i1":
        return {"or": _Operation("arith.ori", ("false", 0), lambda a, b: a | b),
                "and": _Operation("arith.andi", ("true", 1), lambda a, b: a & b)}
    if dtype[0] == "i":
        bits = int(dtype[1:])
        least = -(1 << (bits - 1))
        return {"sum": _Operation("arith.addi", ("0", 0), lambda a, b: _wrap(a + b, dtype)),
                "product": _Operation("arith.muli", ("1", 1), lambda a, b: _wrap(a * b, dtype)),
                "maximum": _Operation("arith.maxsi", (str(least), least), max),
                "xor": _Operation("arith.xori", ("0", 0), lambda a, b: a ^ b)}
    return {"sum": _Operation("arith.addf", ("-0.0", -0.0), lambda a, b: a + b),
            "difference": _Operation("arith.subf", ("0.0", 0.0), lambda a, b: a - b),
            "maximum": _Operation("arith.maximumf", (_minus_infinity(dtype), -math.inf), _maximum)}


class _Place:
    """A test whether the index of a loop equals a number of the update."""

    def __init__(self, p, loop, extent, readable, extents):
        rng = p.rng
        self.loop, self.dims = loop, rng.sample(readable, rng.randint(1, len(readable)))
        self.type = rng.choice(["i8" if extent < 100 else "i32", "i32", "i64"])
        self.offset = rng.choice([0, 0, 3, -2])
        self.side = rng.choice(["index", "number"])
        self.scale = rng.choice([1, 1, 2])
        self.inverted = rng.random() < 0.3
        shape = [extents[d] for d in self.dims]
        values = [rng.randint(-4, extent + 4) // self.scale
                  for _ in range(math.prod(shape))]
        self.data = dict(zip(itertools.product(*map(range, shape)), values))
        self.shape = shape
        self.name = p.argument(tuple(shape), self.type, values)

    def holds(self, at):
        number = self.data[tuple(at[d] for d in self.dims)] * self.scale
        index = at[self.loop]
        if self.side == "index":
            index += self.offset
        else:
            number += self.offset
        return _wrap(index, self.type) == _wrap(number, self.type)

    def lines(self, argument, prefix):
        """The ops of the test; its name is the prefix."""
        t, side = self.type, {"index": f"%{prefix}i", "number": f"%{prefix}n"}
        result = [f"%{prefix}l = linalg.index {self.loop} : index",
                  f"%{prefix}i = arith.index_cast %{prefix}l : index to {t}",
                  f"%{prefix}s = arith.constant {self.scale} : {t}",
                  f"%{prefix}n = arith.muli {argument}, %{prefix}s : {t}",
                  f"%{prefix}o = arith.constant {self.offset} : {t}",
                  f"%{prefix}m = arith.addi {side[self.side]}, %{prefix}o : {t}"]
        side[self.side] = f"%{prefix}m"
        predicate = "ne" if self.inverted else "eq"
        result.append(f"%{prefix} = arith.cmpi {predicate}, {side['index']}, {side['number']} : {t}")
        return result


def _maps(extents, *dims):
    loops = ", ".join(f"d{i}" for i in range(len(extents)))
    return [f"({loops}) -> ({', '.join(f'd{d}' for d in of)})" for of in dims]


def scatter(p):
    """Adds a scatter of the program's type as a result. Returns what it is, in order."""
    rng, dtype = p.rng, p.dtype
    parallel, updates = rng.randint(1, 3), rng.randint(1, 2)
    numbers = list(range(parallel + updates))
    rng.shuffle(numbers)
    kinds = ["parallel"] * len(numbers)
    for number in numbers[parallel:]:
        kinds[number] = "reduction"
    free, reduced = numbers[:parallel], numbers[parallel:]
    targets = free[:rng.randint(1, min(2, parallel))]
    extents = [rng.randint(1, 5) for _ in numbers]
    for loop in targets:
        extents[loop] = rng.randint(3, 20)
    others = [d for d in free if d not in targets]
    readable = reduced + others
    places = [_Place(p, loop, extents[loop], readable, extents) for loop in targets]
    kind = rng.choice([*_operations(dtype), "write"])
    operation = _operations(dtype).get(kind)
    update_dims = reduced + rng.sample(others, rng.randint(0, len(others)))
    rng.shuffle(update_dims)
    update_shape = tuple(extents[d] for d in update_dims)
    updates_name = p.whole(update_shape)
    update_data = _decoded(p)
    out = tuple(extents[d] for d in free)
    init_data, init = _start(p, out)
    # What is added where nothing is to be: not always what changes nothing.
    neutral = operation and operation.neutral
    if neutral and rng.random() < 0.2:
        neutral = {"i1": ("true", 1)}.get(dtype, ("1", 1) if dtype[0] == "i" else ("0.0", 0.0))
    whole = operation is None or rng.random() < 0.4
    apart = rng.random() < 0.3
    mask = rng.random() < 0.3

    inputs = [(updates_name, update_shape, dtype)]
    reads = [update_dims]
    lines = []
    if mask:
        values = [rng.randint(0, 1) for _ in range(math.prod(update_shape))]
        inputs.append((p.argument(update_shape, "i1", values), update_shape, "i1"))
        reads.append(update_dims)
        mask_data = dict(zip(itertools.product(*map(range, update_shape)), values))
    tests = []
    for number, place in enumerate(places):
        if apart:
            inputs.append(_mask(p, place, extents))
            reads.append(place.dims + [place.loop])
            tests.append((f"%x{len(inputs) - 1}", place.inverted))
        else:
            inputs.append((place.name, tuple(place.shape), place.type))
            reads.append(place.dims)
            lines += place.lines(f"%x{len(inputs) - 1}", f"t{number}")
            tests.append((f"%t{number}", place.inverted))
    conditions = tests + ([("%x1", False)] if mask else [])
    # The result where all conditions hold, and else.
    if whole:
        new = "%x0"
        if operation:
            lines.append(f"%c = {operation.op} %o, %x0 : {dtype}")
            new = "%c"
        old = "%o"
    else:
        typed = "" if dtype == "i1" else f" : {dtype}"
        lines.append(f"%none = arith.constant {neutral[0]}{typed}")
        new, old = "%x0", "%none"
    for number, (name, inverted) in enumerate(conditions):
        a, b = (old, new) if inverted else (new, old)
        lines.append(f"%s{number} = arith.select {name}, {a}, {b} : {dtype}")
        new = f"%s{number}"
    if not whole:
        lines.append(f"%r = {operation.op} %o, {new} : {dtype}")
        new = "%r"
    lines.append(f"linalg.yield {new} : {dtype}")
    result = p.generic(inputs, (out, dtype), _maps(extents, *reads, free), kinds,
                       "\n      ".join(lines), init=init)
    p.result(result, out, f"scatter {kind}", exact=True)

    expected = []
    for at_free in itertools.product(*(range(extents[d]) for d in free)):
        value = init_data[at_free]
        for at_reduced in itertools.product(*(range(extents[d]) for d in sorted(reduced))):
            at = dict(zip(free, at_free)) | dict(zip(sorted(reduced), at_reduced))
            key = tuple(at[d] for d in update_dims)
            here = all(place.holds(at) for place in places) and (not mask or mask_data[key])
            update = update_data[key]
            if whole:
                if here:
                    value = operation.combine(value, update) if operation else update
            else:
                value = operation.combine(value, update if here else neutral[1])
        expected.append(value)
    return expected


def _decoded(p):
    """The values of the argument that came last, by index."""
    _, shape, dtype, data = p.arguments[-1]
    values = decode(data, dtype)
    return dict(zip(itertools.product(*map(range, shape)), values))


def _start(p, shape):
    """What the accumulators start from: one number, of both zeros too, or a tensor."""
    rng, dtype = p.rng, p.dtype
    indices = list(itertools.product(*map(range, shape)))
    if rng.random() < 0.4:
        name = p.whole(shape)
        return _decoded(p), name
    if dtype == "i1":
        text, value = rng.choice([("false", 0), ("true", 1)])
    elif dtype[0] == "i":
        text, value = rng.choice([("0", 0), ("5", 5)])
    else:
        text, value = rng.choice([("0.0", 0.0), ("-0.0", -0.0), ("2.0", 2.0)])
    return {i: value for i in indices}, p.fill(shape, text)


def _mask(p, place, extents):
    """The test of a place as a tensor, of the place's dimensions and the loop."""
    shape = tuple(place.shape) + (extents[place.loop],)
    last = len(place.shape)
    dims = list(range(len(shape)))
    moved = place.loop
    place.loop = last
    lines = place.lines("%x0", "t")
    place.loop = moved
    name = p.generic([(place.name, tuple(place.shape), place.type)], (shape, "i1"),
                     _maps(shape, dims[:-1], dims), ["parallel"] * len(shape),
                     "\n      ".join(lines + ["linalg.yield %t : i1"]))
    return name, shape, "i1"

