"""Calls, conditionals and loops around random ops."""

from values import type_of


def nested(p, start, steps, parameters=None):
    """Lines that compute a value of start's type from `start`, and that value.
    With `parameters` nothing else is read: the body of a function."""
    outer_lines, outer_values = p.lines, p.values
    p.lines, p.values, p.depth = [], list(parameters or outer_values + [start]), p.depth + 1
    old_arguments, p.may_add_arguments = p.may_add_arguments, parameters is None
    p.values += [start] * 3
    for _ in range(steps):
        p.step()
    known = outer_values + [start]
    found = [v for v in p.values if v.shape == start.shape and v.element == start.element and
             all(v is not k for k in known)]
    result = found[-1] if found else start
    lines, p.lines, p.values = p.lines, outer_lines, outer_values
    p.depth, p.may_add_arguments = p.depth - 1, old_arguments
    return lines, result


def clamped(p, value, bound):
    """Lines and a value whose elements are at most `bound`."""
    outer, p.lines = p.lines, []
    most = p.fresh(f"arith.constant dense<{bound}.0> : {value.type}")
    least = p.fresh(f"arith.constant dense<-{bound}.0> : {value.type}")
    name = p.fresh(f"arith.minimumf {value.name}, {most} : {value.type}")
    name = p.fresh(f"arith.maximumf {name}, {least} : {value.type}")
    lines, p.lines = p.lines, outer
    return lines, name


def indented(lines):
    return "".join(f"    {line}\n" for line in lines)


def condition(p):
    """A scalar i1 that is known only at run time."""
    a = p.pick(lambda v: v.element == "i1" and v.size > 0 and v.rank < 3) or \
        p.argument((2,), "i1")
    places = [p.scalar("index", str(p.rng.randrange(n))) for n in a.shape]
    return p.fresh(f"tensor.extract {a.name}[{', '.join(places)}] : {a.type}")


def call(p):
    start = p.pick(lambda v: v.is_exact)
    if p.depth or not start:
        return
    inner = type(start)(f"%x{p.count}", start.shape, start.element, start.bound)
    lines, result = nested(p, inner, p.rng.randint(1, 3), [inner])
    name = f"f{p.count}"
    p.functions.append(
        f"  func.func private @{name}({inner.name}: {inner.type}) -> {result.type} {{\n" +
        indented(lines) + f"    return {result.name} : {result.type}\n  }}\n")
    for _ in range(p.rng.randint(1, 2)):
        arguments = [v for v in p.values if v.shape == start.shape and v.is_exact and
                     v.element == start.element and v.bound <= start.bound]
        p.emit(f"func.call @{name}({p.rng.choice(arguments).name}) : ({inner.type}) -> "
               f"{result.type}", result.shape, result.element, result.bound, result.error)


def conditional(p):
    start = p.pick(lambda v: v.element != "index")
    if p.depth > 1 or not p.may_add_arguments or not start:
        return
    asked = condition(p)
    sides = [nested(p, start, p.rng.randint(0, 2)) for _ in range(2)]
    p.emit(f"scf.if {asked} -> {start.type} {{\n" + "    } else {\n".join(
        indented(lines) + f"      scf.yield {v.name} : {v.type}\n" for lines, v in sides) +
        "    }", start.shape, start.element, max(v.bound for _, v in sides),
        max(v.error for _, v in sides))


def loop(p):
    start = p.pick(lambda v: v.is_exact and v.element not in ("index", "i1"))
    if p.depth or not start:
        return
    # Whatever the body does, it maps numbers within `most` to such numbers.
    most = start.bound + p.rng.randint(0, 4)
    inner = type(start)(f"%x{p.count}", start.shape, start.element, most)
    lines, result = nested(p, inner, p.rng.randint(1, 2))
    if result.error:
        return
    name = result.name
    if result.bound > most and result.is_float:
        more, name = clamped(p, result, most)
        lines += more
    low, step = p.rng.randint(0, 2), p.rng.randint(1, 2)
    bounds = [p.scalar("index", str(n)) for n in (low, low + p.rng.randint(0, 3), step)]
    p.emit(f"scf.for %k{p.count} = {bounds[0]} to {bounds[1]} step {bounds[2]} iter_args("
           f"{inner.name} = {start.name}) -> {start.type} {{\n" + indented(lines) +
           f"      scf.yield {name} : {start.type}\n    }}", start.shape, start.element, most)


def slice_at(p):
    """A slice at an offset that is known only at run time."""
    a = p.pick(lambda v: v.rank and max(v.shape) > 1)
    if not a or not p.may_add_arguments:
        return
    dim = p.rng.choice([d for d, n in enumerate(a.shape) if n > 1])
    size = p.rng.randint(1, a.shape[dim] - 1)
    at = p.argument((), "index", a.shape[dim] - size + 1)
    offset = p.fresh(f"tensor.extract {at.name}[] : {at.type}")
    offsets = ", ".join(offset if d == dim else "0" for d in range(a.rank))
    shape = [size if d == dim else n for d, n in enumerate(a.shape)]
    ones = [1] * a.rank
    if p.rng.random() < 0.5:
        p.emit(f"tensor.extract_slice {a.name}[{offsets}] {shape} {ones} : {a.type} to "
               f"{type_of(shape, a.element)}", shape, a.element, a.bound, a.error)
        return
    b = p.pick(lambda v: list(v.shape) == shape and v.element == a.element) or \
        p.constant(shape, a.element)
    p.emit(f"tensor.insert_slice {b.name} into {a.name}[{offsets}] {shape} {ones} : "
           f"{b.type} into {a.type}", a.shape, a.element, max(a.bound, b.bound),
           max(a.error, b.error))


def switch(p):
    start = p.pick(lambda v: v.element != "index")
    if p.depth > 1 or not p.may_add_arguments or not start:
        return
    at = p.argument((), "index", 4)
    asked = p.fresh(f"tensor.extract {at.name}[] : {at.type}")
    sides = [nested(p, start, p.rng.randint(0, 1)) for _ in range(3)]
    cases = [f"    {case} {{\n" + indented(lines) + f"      scf.yield {v.name} : {v.type}\n    }}"
             for case, (lines, v) in zip(("case 0", "case 2", "default"), sides)]
    p.emit(f"scf.index_switch {asked} -> {start.type}\n" + "\n".join(cases), start.shape,
           start.element, max(v.bound for _, v in sides), max(v.error for _, v in sides))


def rows_of(p):
    """scf.forall that writes the rows of one tensor into those of another."""
    a = p.pick(lambda v: v.rank and 0 < v.shape[0] <= 6)
    b = a and p.pick(lambda v: v.shape == a.shape and v.element == a.element)
    if not b:
        return
    n, rest = a.shape[0], a.shape[1:]
    row = type_of((1,) + rest, a.element)
    other = p.scalar("index", str(n - 1))
    zeros, sizes, ones = ", 0" * len(rest), "".join(f", {m}" for m in rest), ", 1" * len(rest)
    k = p.count
    p.emit(f"scf.forall (%k{k}) in ({n}) shared_outs(%s{k} = {b.name}) -> {a.type} {{\n"
           f"      %t{k} = arith.subi {other}, %k{k} : index\n"
           f"      %u{k} = tensor.extract_slice {a.name}[%t{k}{zeros}] [1{sizes}] [1{ones}] : "
           f"{a.type} to {row}\n      scf.forall.in_parallel {{\n"
           f"        tensor.parallel_insert_slice %u{k} into %s{k}[%k{k}{zeros}] [1{sizes}] "
           f"[1{ones}] : {row} into {a.type}\n      }}\n    }}", a.shape, a.element, a.bound,
           a.error)


OPS = [(0.15, switch), (0.1, rows_of), (0.3, call), (0.25, conditional), (0.25, loop), (0.3, slice_at)]
