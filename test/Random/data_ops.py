"""Ops that make tensors from nothing or from scalars, and lookups."""

from scalar_body import Body
from values import identity_loops, sum_of, type_of

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


def looked_up(p):
    """A slice that a constant table of indices hides, or a shuffle of one."""
    a = p.pick(lambda v: v.rank and min(v.shape) > 0)
    if not a:
        return
    dim = p.rng.randrange(a.rank)
    n = a.shape[dim]
    count = p.rng.randint(1, n)
    first = p.rng.randint(0, n - count)
    table = list(range(first, first + count)) if p.rng.random() < 0.7 else \
        [p.rng.randrange(n) for _ in range(count)]
    indices = p.fresh(f"arith.constant dense<{table}> : tensor<{count}xi64>")
    shape = [count if d == dim else m for d, m in enumerate(a.shape)]
    empty, k = p.empty(shape, a.element), p.count
    dims, parallel = identity_loops(a.rank)
    places = [f"%j{k}" if d == dim else f"%i{k}_{d}" for d in range(a.rank)]
    p.emit(f"linalg.generic {{indexing_maps = [affine_map<({dims}) -> (d{dim})>, affine_map<({dims}) "
           f"-> ({dims})>], iterator_types = [{parallel}]}} "
           f"ins({indices} : tensor<{count}xi64>) outs({empty.name} : {empty.type}) {{\n"
           f"    ^bb0(%t{k}: i64, %o{k}: {a.element}):\n" +
           "".join(f"      {i} = linalg.index {d} : index\n" for d, i in enumerate(places)
                   if d != dim) +
           f"      %j{k} = arith.index_cast %t{k} : i64 to index\n"
           f"      %x{k} = tensor.extract {a.name}[{', '.join(places)}] : {a.type}\n"
           f"      linalg.yield %x{k} : {a.element}\n    }} -> {empty.type}", shape, a.element,
           a.bound, a.error)


def scatter_slices(p):
    """tm_tensor.scatter of slices at places known at run time, which may be the same."""
    a = p.pick(lambda v: 1 <= v.rank <= 3 and 1 < max(v.shape) and 0 < min(v.shape) and v.size < 300)
    if not a or p.depth or not p.may_add_arguments:
        return
    first = p.rng.randint(0, a.rank)
    slices = [p.rng.choice([n, n, p.rng.randint(1, n)]) for n in a.shape[first:]]
    extents = [1] * first + slices
    free = [d for d, n in enumerate(a.shape) if extents[d] < n]
    dims = list(range(first)) + [d for d in free if d >= first and p.rng.random() < 0.5]
    limit = min([a.shape[d] - extents[d] + 1 for d in dims], default=0)
    if limit < 2:
        return
    p.rng.shuffle(dims)
    count = p.rng.randint(1, 5)
    shape = tuple([count] + slices)
    b = p.pick(lambda v: v.shape == shape and v.element == a.element) or \
        p.constant(shape, a.element)
    places = p.argument((count, len(dims)), p.rng.choice(["i64", "i32", "index"]), limit)
    combine = p.rng.choice(["", "add", "maximum" if a.is_float else "maxs"])
    k, lines, written = p.count, "", f"%new{p.count}"
    bound, error = max(a.bound, b.bound), max(a.error, b.error)
    if combine and a.element != "i1":
        if combine == "add":
            bound, error = sum_of(a.element, count * math.prod(slices), b.bound, b.error, a.bound,
                                  a.error)
        written = f"%both{k}"
        lines = f"      {written} = arith.{combine}{'f' if a.is_float else 'i'} %new{k}, %old{k} " \
                f": {a.element}\n"
    p.emit(f"tm_tensor.scatter {{dimension_map = array<i64: {', '.join(map(str, dims))}>}} "
           f"unique_indices(false) ins({b.name}, {places.name} : {b.type}, {places.type}) "
           f"outs({a.name} : {a.type}) {{\n    ^bb0(%new{k}: {a.element}, %old{k}: {a.element}):\n"
           f"{lines}      tm_tensor.yield {written} : {a.element}\n    }} -> {a.type}", a.shape,
           a.element, bound, error)


OPS = [(0.4, looked_up), (0.4, scatter_slices), (0.1, scatter), (1, constant), (0.2, from_elements), (0.3, splat), (0.2, insert), (0.3, generate),
       (0.1, gather)]
