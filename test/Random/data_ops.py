"""Ops that make tensors from nothing or from scalars, and lookups."""

from scalar_body import Body
from values import type_of

import math


def constant(p):
    p.constant(p.random_shape(3), p.rng.choice(["f32", "f32", "f64", "i64", "i32", "i1"]))


def from_elements(p):
    a = p.pick(lambda v: v.shape and min(v.shape) > 0)
    if not a:
        return
    n = p.rng.randint(1, 6)
    scalars = []
    for _ in range(n):
        if p.rng.random() < 0.5:
            places = [p.scalar("index", str(p.rng.randrange(size))) for size in a.shape]
            scalars.append(p.fresh(f"tensor.extract {a.name}[{', '.join(places)}] : {a.type}"))
        else:
            scalars.append(p.scalar(a.element))
    p.emit(f"tensor.from_elements {', '.join(scalars)} : {type_of([n], a.element)}", [n],
           a.element, max(a.bound, 3), a.error)


def splat(p):
    a = p.pick(lambda v: v.shape and min(v.shape) > 0)
    if not a:
        return
    places = [p.scalar("index", str(p.rng.randrange(size))) for size in a.shape]
    number = p.fresh(f"tensor.extract {a.name}[{', '.join(places)}] : {a.type}")
    shape = p.random_shape(3)
    p.emit(f"tensor.splat {number} : {type_of(shape, a.element)}", shape, a.element, a.bound,
           a.error)


def insert(p):
    a = p.pick(lambda v: v.shape and min(v.shape) > 0)
    if not a:
        return
    places = [p.scalar("index", str(p.rng.randrange(size))) for size in a.shape]
    p.emit(f"tensor.insert {p.scalar(a.element)} into {a.name}[{', '.join(places)}] : {a.type}",
           a.shape, a.element, max(a.bound, 3), a.error)


def generate(p):
    """tensor.generate of numbers read at indices."""
    table = p.pick(lambda v: 0 < v.rank <= 2 and min(v.shape) > 0)
    if not table:
        return
    shape = p.random_shape(3)
    indices = [f"%g{i}" for i in range(len(shape))]
    body = Body(p, [])
    places = []
    for size in table.shape:
        if not indices:
            return
        n = body.index(f"arith.constant {size} : index")
        places.append(body.index(f"arith.remui {p.rng.choice(indices)}, {n} : index"))
    x = body.add(f"tensor.extract {table.name}[{', '.join(places)}] : {table.type}",
                 table.element, table.bound, table.error)
    if table.element != "index" and p.rng.random() < 0.5:
        body.scalars = [x]
        for _ in range(2):
            body.combine(x, body.pick() or x)
        x = (body.pick(table.element) or x)
    p.emit("tensor.generate {\n    ^bb0(" + ", ".join(f"{i}: index" for i in indices) +
           "):\n" + "".join(line + "\n" for line in body.lines) +
           f"      tensor.yield {x.name} : {x.element}\n    }} : "
           f"{type_of(shape, x.element)}", shape, x.element, x.bound, x.error)


def gather(p):
    a = p.pick(lambda v: 1 <= v.rank <= 3 and min(v.shape) > 0)
    if not a or not p.may_add_arguments:
        return
    dims = sorted(p.rng.sample(range(a.rank), p.rng.randint(1, a.rank)))
    lead = p.random_shape(2)
    rows = p.argument(lead + (len(dims),), "index", min(a.shape[d] for d in dims))
    kept = [1 if d in dims else n for d, n in enumerate(a.shape)] \
        if p.rng.random() < 0.5 else [n for d, n in enumerate(a.shape) if d not in dims]
    shape = lead + tuple(kept)
    if math.prod(shape) <= 4000:
        p.emit(f"tensor.gather {a.name}[{rows.name}] gather_dims({dims}) : "
               f"({a.type}, {rows.type}) -> {type_of(shape, a.element)}", shape, a.element,
               a.bound, a.error)


def scatter(p):
    """Whole rows of the first dimension, each at most once."""
    a = p.pick(lambda v: 1 <= v.rank <= 3 and min(v.shape) > 0)
    if not a:
        return
    rows = p.rng.sample(range(a.shape[0]), p.rng.randint(1, a.shape[0]))
    shape = (len(rows),) + a.shape[1:]
    b = p.pick(lambda v: v.shape == shape and v.element == a.element) or \
        p.constant(shape, a.element)
    places = p.fresh(f"arith.constant dense<{[[row] for row in rows]}> : "
                     f"tensor<{len(rows)}x1xindex>")
    # What is scattered has a dimension of size 1 for the one that is indexed.
    wide = type_of((len(rows), 1) + a.shape[1:], a.element)
    groups = [[0, 1]] + [[i + 1] for i in range(1, a.rank)]
    update = p.fresh(f"tensor.expand_shape {b.name} {groups} output_shape "
                     f"{[len(rows), 1] + list(a.shape[1:])} : {b.type} into {wide}")
    p.emit(f"tensor.scatter {update} into {a.name}[{places}] scatter_dims([0]) unique : "
           f"({wide}, {a.type}, tensor<{len(rows)}x1xindex>) -> {a.type}", a.shape, a.element,
           max(a.bound, b.bound), max(a.error, b.error))


OPS = [(0.1, scatter), (1, constant), (0.2, from_elements), (0.3, splat), (0.2, insert), (0.3, generate),
       (0.1, gather)]
