"""Ops of the tensor dialect that move elements."""

from values import Value, identity_loops, type_of


def collapse(p):
    a = p.pick(lambda v: v.rank >= 2)
    if not a:
        return
    at = p.rng.randrange(a.rank - 1)
    more = p.rng.randint(1, min(2, a.rank - 1 - at))
    merged = list(range(at, at + more + 1))
    groups = [[i] for i in range(at)] + [merged] + [[i] for i in range(at + more + 1, a.rank)]
    size = 1
    for i in merged:
        size *= a.shape[i]
    shape = a.shape[:at] + (size,) + a.shape[at + more + 1:]
    p.emit(f"tensor.collapse_shape {a.name} {groups} : {a.type} into "
           f"{type_of(shape, a.element)}", shape, a.element, a.bound, a.error)


def expand(p):
    a = p.pick(lambda v: any(n > 0 for n in v.shape) and v.rank < 5)
    if not a:
        return
    at = p.rng.choice([i for i, n in enumerate(a.shape) if n > 0])
    n = p.rng.choice([d for d in range(1, a.shape[at] + 1) if a.shape[at] % d == 0])
    groups = [[i] for i in range(at)] + [[at, at + 1]] + \
             [[i + 1] for i in range(at + 1, a.rank)]
    shape = a.shape[:at] + (a.shape[at] // n, n) + a.shape[at + 1:]
    p.emit(f"tensor.expand_shape {a.name} {groups} output_shape {list(shape)} : "
           f"{a.type} into {type_of(shape, a.element)}", shape, a.element, a.bound, a.error)


def reshape(p):
    """tensor.reshape to any shape with as many elements."""
    a = p.pick(lambda v: v.rank and v.element != "index")
    if not a:
        return
    rest, shape = a.size, []
    while rest > 1 and len(shape) < 3:
        n = p.rng.choice([d for d in range(1, rest + 1) if rest % d == 0])
        shape.append(n)
        rest //= n
    shape.append(rest)
    sizes = p.fresh(f"arith.constant dense<{shape}> : tensor<{len(shape)}xindex>")
    p.emit(f"tensor.reshape {a.name}({sizes}) : ({a.type}, tensor<{len(shape)}xindex>) -> "
           f"{type_of(shape, a.element)}", shape, a.element, a.bound, a.error)


def extract_slice(p):
    a = p.pick(lambda v: v.shape and min(v.shape) > 0)
    if not a:
        return
    whole = [p.rng.random() < 0.6 for _ in a.shape]
    strides = [1 if w else p.rng.choice([1, 1, 2, 3]) for w in whole]
    offsets = [0 if w else p.rng.randrange(n) for w, n in zip(whole, a.shape)]
    sizes = [n if w else p.rng.randint(1, -(-(n - o) // s))
             for w, n, o, s in zip(whole, a.shape, offsets, strides)]
    shape = [n for n in sizes if n != 1] if p.rng.random() < 0.3 else sizes
    p.emit(f"tensor.extract_slice {a.name}{offsets} {sizes} {strides} : {a.type} to "
           f"{type_of(shape, a.element)}", shape, a.element, a.bound, a.error)


def insert_slice(p):
    a = p.pick(lambda v: v.shape and min(v.shape) > 0)
    b = a and p.pick(lambda v: v.rank == a.rank and v.element == a.element and
                     all(m <= n for m, n in zip(v.shape, a.shape)))
    if not b:
        return
    strides = [p.rng.choice([1, 1, 2]) if m > 1 and 2 * m - 1 <= n else 1
               for m, n in zip(b.shape, a.shape)]
    at = [p.rng.randint(0, n - max(0, (m - 1) * s + 1))
          for m, n, s in zip(b.shape, a.shape, strides)]
    p.emit(f"tensor.insert_slice {b.name} into {a.name}{at} {list(b.shape)} "
           f"{strides} : {b.type} into {a.type}", a.shape, a.element,
           max(a.bound, b.bound), max(a.error, b.error))


def concat(p):
    a = p.pick(lambda v: v.shape)
    if not a:
        return
    d = p.rng.randrange(a.rank)
    parts = [a]
    for _ in range(p.rng.randint(0, 2)):
        parts.append(p.pick(
            lambda v: v.rank == a.rank and v.element == a.element and all(
                i == d or m == n for i, (m, n) in enumerate(zip(v.shape, a.shape)))))
    shape = a.shape[:d] + (sum(v.shape[d] for v in parts),) + a.shape[d + 1:]
    p.emit(f"tensor.concat dim({d}) {', '.join(v.name for v in parts)} : "
           f"({', '.join(v.type for v in parts)}) -> {type_of(shape, a.element)}",
           shape, a.element, max(v.bound for v in parts), max(v.error for v in parts))


def pad(p):
    a = p.pick(lambda v: v.shape and v.size < 600)
    if not a:
        return
    low = [p.rng.choice([0, 0, 1, 2]) for _ in a.shape]
    high = [p.rng.choice([0, 0, 1, 2]) for _ in a.shape]
    shape = [x + n + y for x, n, y in zip(low, a.shape, high)]
    number = p.scalar(a.element)
    indices = ", ".join(f"%p{i}: index" for i in range(a.rank))
    p.emit(f"tensor.pad {a.name} low{low} high{high} {{\n    ^bb0({indices}):\n"
           f"      tensor.yield {number} : {a.element}\n    }} : {a.type} to "
           f"{type_of(shape, a.element)}", shape, a.element, max(a.bound, 3), a.error)


def cast(p):
    """Through a type with an unknown size and back."""
    a = p.pick(lambda v: v.rank)
    if not a:
        return
    at = p.rng.randrange(a.rank)
    dynamic = "tensor<" + "".join("?x" if i == at else f"{n}x"
                                  for i, n in enumerate(a.shape)) + a.element + ">"
    there = p.fresh(f"tensor.cast {a.name} : {a.type} to {dynamic}")
    p.emit(f"tensor.cast {there} : {dynamic} to {a.type}", a.shape, a.element, a.bound,
           a.error)


def part_of(p, a, dim, begin, size, stride=1):
    """(name, shape) of a slice along one dimension; size 0 is an empty piece."""
    offsets = [min(begin, n - 1) if d == dim else 0 for d, n in enumerate(a.shape)]
    shape = [size if d == dim else n for d, n in enumerate(a.shape)]
    strides = [stride if d == dim else 1 for d in range(a.rank)]
    return p.fresh(f"tensor.extract_slice {a.name}{offsets} {shape} {strides} : {a.type} to "
                   f"{type_of(shape, a.element)}"), shape


def cut(p):
    """(value, dimension, (name, shape) of the slices behind and before a place of it), or
    None. One slice may be empty."""
    a = p.pick(lambda v: v.rank and min(v.shape) > 0)
    if not a:
        return None
    dim = p.rng.randrange(a.rank)
    n = a.shape[dim]
    by = p.rng.choice([0, n, p.rng.randint(0, n)])
    return a, dim, [part_of(p, a, dim, by, n - by), part_of(p, a, dim, 0, by)]


def roll(p):
    """Two slices change places; of a roll by a whole dimension one is empty. Their types
    may not say how large they are."""
    pieces = cut(p)
    if not pieces:
        return
    a, dim, parts = pieces
    names, types = [name for name, _ in parts], [type_of(s, a.element) for _, s in parts]
    if p.rng.random() < 0.5:
        dynamic = "tensor<" + "".join("?x" if d == dim else f"{m}x"
                                      for d, m in enumerate(a.shape)) + a.element + ">"
        names = [p.fresh(f"tensor.cast {name} : {one} to {dynamic}")
                 for name, one in zip(names, types)]
        types = [dynamic] * 2
    p.emit(f"tensor.concat dim({dim}) {', '.join(names)} : ({', '.join(types)}) -> {a.type}",
           a.shape, a.element, a.bound, a.error)


def roll_in_body(p):
    """The same as one op, every element asking which slice it is of."""
    pieces = cut(p)
    if not pieces:
        return
    a, dim, [(first, shape), (second, rest)] = pieces
    begin, empty, k = p.scalar("index", str(shape[dim])), p.empty(a.shape, a.element), p.count
    loops = [f"%i{k}_{d}" for d in range(a.rank)]
    dims, parallel = identity_loops(a.rank)
    later = [f"%j{k}" if d == dim else i for d, i in enumerate(loops)]
    p.emit(f"linalg.generic {{indexing_maps = [affine_map<({dims}) -> ({dims})>], iterator_types = "
           f"[{parallel}]}} outs({empty.name} : {empty.type}) {{\n"
           f"    ^bb0(%o{k}: {a.element}):\n" +
           "".join(f"      {i} = linalg.index {d} : index\n" for d, i in enumerate(loops)) +
           f"      %c{k} = arith.cmpi ult, {loops[dim]}, {begin} : index\n"
           f"      %x{k} = scf.if %c{k} -> ({a.element}) {{\n"
           f"        %near{k} = tensor.extract {first}[{', '.join(loops)}] : {type_of(shape, a.element)}\n"
           f"        scf.yield %near{k} : {a.element}\n      }} else {{\n"
           f"        %j{k} = arith.subi {loops[dim]}, {begin} : index\n"
           f"        %b{k} = tensor.extract {second}[{', '.join(later)}] : {type_of(rest, a.element)}\n"
           f"        scf.yield %b{k} : {a.element}\n      }}\n"
           f"      linalg.yield %x{k} : {a.element}\n    }} -> {a.type}", a.shape, a.element,
           a.bound, a.error)


def interleaved(p):
    """Every second element and the others; they may change places."""
    a = p.pick(lambda v: v.rank and min(v.shape) > 0 and any(n % 2 == 0 for n in v.shape))
    if not a:
        return
    dim = p.rng.choice([d for d, n in enumerate(a.shape) if n % 2 == 0])
    n = a.shape[dim]
    halves = [part_of(p, a, dim, begin, n // 2, 2) for begin in (0, 1)]
    shape = halves[0][1]
    type_of_half = type_of(shape, a.element)
    whole = a.name
    for begin, (name, _) in zip((1, 0), halves):
        p.offer(Value(name, shape, a.element, a.bound, a.error))
        offsets = [begin if d == dim else 0 for d in range(a.rank)]
        strides = [2 if d == dim else 1 for d in range(a.rank)]
        whole = p.fresh(f"tensor.insert_slice {name} into {whole}{offsets} {shape} {strides} : "
                        f"{type_of_half} into {a.type}")
    p.offer(Value(whole, a.shape, a.element, a.bound, a.error))


OPS = [(0.7, roll), (0.4, roll_in_body), (0.5, interleaved), (1, collapse), (2, expand), (0.3, reshape), (1.5, extract_slice), (1, insert_slice),
       (1, concat), (0.7, pad), (0.1, cast)]
