"""linalg.generic, linalg.map and linalg.reduce with random bodies."""

import itertools
import math

import affine_expr
from scalar_body import Body, Scalar
from values import FLOATS, Value, product_of, reduced_part, sum_of, type_of


def index_for(p, size, loops):
    """An index into a dimension of `size` that divides, or is of several loops."""
    expr = affine_expr.draw(p.rng, len(loops), 2)
    used = [range(loops[i]) if i in expr.loops() else range(1) for i in range(len(loops))]
    if math.prod(map(len, used)) <= 2000:
        points = list(itertools.product(*used))
        values = [expr.at(point) for point in points]
        low, high = min(values), max(values)
        # A loop by itself, however it is written, has the dimension's size.
        is_loop = any(all(value - low == point[i] for value, point in zip(values, points))
                      for i in range(len(loops)))
        if high - low < size and not is_loop:
            more = p.rng.randint(0, size - 1 - (high - low)) - low
            return affine_expr.Expr("+", expr, affine_expr.constant(more)).text()
    return affine_expr.Expr("mod", expr, size).text()


def dims_for(p, value, loops):
    """A map that reads `value`, dimensions of size 1 also at 0, some at an index that
    divides; None if no loops have its sizes."""
    dims, free = [], list(range(len(loops)))
    divides = 0 not in loops and 0 not in value.shape and p.has("affine_maps")
    for size in value.shape:
        same = [i for i in free if loops[i] == size]
        if divides and p.rng.random() < 0.5:
            dims.append(index_for(p, size, loops))
            continue
        if size == 1 and (not same or p.rng.random() < 0.5):
            dims.append("0")
        elif same:
            loop = p.rng.choice(same)
            if p.rng.random() < 0.97:
                free.remove(loop)
            dims.append(f"d{loop}")
        else:
            return None
    return dims


def generic(p):
    base = p.pick(lambda v: v.size <= 4000)
    if not base:
        return
    loops = list(base.shape)
    p.rng.shuffle(loops)
    if p.rng.random() < 0.3 and math.prod(loops) <= 600:
        loops.append(p.rng.choice(p.sizes))
    rank = len(loops)
    inputs, maps = [], []
    for value in [base] + [p.pick() for _ in range(p.rng.randint(0, 2))]:
        dims = dims_for(p, value, loops)
        if dims is not None:
            inputs.append(value)
            maps.append(dims)
    gone = []
    if rank and p.rng.random() < 0.45:
        gone = p.rng.sample(range(rank), p.rng.randint(1, min(3, rank)))
    # A loop whose size no tensor gives is no loop.
    read = {dim for dims in maps for dim in dims}
    gone = [i for i in gone if f"d{i}" in read]
    kept = [i for i in range(rank) if i not in gone]
    p.rng.shuffle(kept)
    body = Body(p, loops)
    body.scalars = [Scalar(f"%i{i}", v.element, v.bound, v.error)
                    for i, v in enumerate(inputs)]
    for _ in range(p.rng.randint(0 if gone else 1, 5)):
        body.step()
    shape = [loops[i] for i in kept]
    terms = math.prod(loops[i] for i in gone)
    results = []
    for r in range(2 if p.rng.random() < 0.12 else 1):
        scalar = body.pick() if p.rng.random() < 0.3 else (body.scalars or [None])[-1]
        if scalar is None:
            return
        results.append(yielded(p, body, scalar, f"%o{r}", shape, terms if gone else None))
    finish(p, loops, inputs, maps, kept, gone, body, results, shape)


def yielded(p, body, scalar, out, shape, terms):
    """(Scalar that is yielded, init); `terms`: how many are combined, None
    where nothing is reduced."""
    name, element, bound, error = scalar
    is_read = terms is not None or p.rng.random() < 0.15
    init = p.init(shape, element, is_read)
    if not is_read:
        return scalar, init
    if element in FLOATS:
        ops = ["addf", "addf", "addf", "maximumf", "minimumf", "maxnumf", "minnumf"]
        if bound <= 1 and init.bound <= 1 and not error and not init.error:
            ops.append("mulf")
        if terms is None:
            ops += ["mulf", "subf"]
    else:
        ops = ["addi", "addi", "muli", "maxsi", "minsi", "ori", "andi", "xori", "maxui"]
    op = p.rng.choice(ops)
    if op in ("addf", "subf"):
        bound, error = sum_of(element, terms or 1, bound, error, init.bound, init.error)
    elif op == "mulf":
        bound, error = product_of(element, (init.bound, init.error), (bound, error)) \
            if terms is None else (1, 0.0)
    else:
        bound, error = max(init.bound, bound), max(init.error, error)
    # Only one side of a reduction's subtraction is the accumulator.
    pair = f"{out}, {name}" if op == "subf" or p.rng.random() < 0.5 else f"{name}, {out}"
    line = body.index(f"arith.{op} {pair} : {element}")
    return Scalar(line, element, bound, error), init


def finish(p, loops, inputs, maps, kept, gone, body, results, shape):
    names = ", ".join(f"d{i}" for i in range(len(loops)))

    def written(dims):
        return f"affine_map<({names}) -> ({', '.join(dims)})>"
    kinds = ", ".join('"reduction"' if i in gone else '"parallel"'
                      for i in range(len(loops)))
    texts = [written(m) for m in maps] + [written([f"d{i}" for i in kept])] * len(results)
    scalars = [f"%i{i}: {v.element}" for i, v in enumerate(inputs)] + \
        [f"%o{i}: {r.element}" for i, (r, _) in enumerate(results)]
    types = [type_of(shape, r.element) for r, _ in results]
    returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
    ins = ", ".join(v.name for v in inputs) + " : " + ", ".join(v.type for v in inputs)
    outs = ", ".join(v.name for _, v in results) + " : " + ", ".join(types)
    name = p.fresh(
        f"linalg.generic {{indexing_maps = [{', '.join(texts)}], "
        f"iterator_types = [{kinds}]}} ins({ins}) outs({outs}) {{\n"
        f"    ^bb0({', '.join(scalars)}):\n" + "".join(x + "\n" for x in body.lines) +
        f"      linalg.yield {', '.join(r.name for r, _ in results)} : "
        f"{', '.join(r.element for r, _ in results)}\n    }} -> {returned}", len(results))
    for i, (r, _) in enumerate(results):
        p.offer(Value(name if len(results) == 1 else f"{name}#{i}", shape, r.element,
                      r.bound, r.error))


def mapped(p):
    a = p.pick(lambda v: v.size <= 4000)
    if not a:
        return
    inputs = [a] + [v for v in [p.pick(lambda v: v.shape == a.shape)
                                for _ in range(p.rng.randint(0, 2))] if v]
    body = Body(p, list(a.shape) if p.rng.random() < 0.5 else [])
    body.scalars = [Scalar(f"%i{i}", v.element, v.bound, v.error)
                    for i, v in enumerate(inputs)]
    for _ in range(p.rng.randint(1, 4)):
        body.step()
    if not body.scalars:
        return
    r = body.scalars[-1]
    out = p.init(a.shape, r.element, False)
    p.emit(f"linalg.map ins({', '.join(v.name for v in inputs)} : "
           f"{', '.join(v.type for v in inputs)}) outs({out.name} : {out.type})\n"
           f"    ({', '.join(f'%i{i}: {v.element}' for i, v in enumerate(inputs))}, "
           f"%o: {r.element}) {{\n" + "".join(x + "\n" for x in body.lines) +
           f"      linalg.yield {r.name} : {r.element}\n    }}",
           a.shape, r.element, r.bound, r.error)


def reduced(p):
    part = reduced_part(p)
    if not part:
        return
    a, gone, shape = part
    body = Body(p, [])
    result, init = yielded(p, body, Scalar("%i", a.element, a.bound, a.error), "%o", shape,
                           math.prod(a.shape[i] for i in gone))
    p.emit(f"linalg.reduce ins({a.name} : {a.type}) outs({init.name} : {init.type}) "
           f"dimensions = {gone}\n    (%i: {a.element}, %o: {a.element}) {{\n" +
           "".join(x + "\n" for x in body.lines) +
           f"      linalg.yield {result.name} : {a.element}\n    }}",
           shape, a.element, result.bound, result.error)


OPS = [(9, generic), (1, mapped), (1.5, reduced)]
