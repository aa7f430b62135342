"""linalg's named contractions and its other ops with a name."""

import os
import sys

import generic_op
from values import product_of, rounded, sum_of, type_of

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import contraction_dims


def contract(p, op, a, b, shape, terms, element=None, more=""):
    """Emits `op`; `element` is that of the result."""
    element = element or a.element
    init = p.init(shape, element, True)
    bound, error = 1, 0.0
    if a.is_float:
        bound, error = product_of(a.element, (a.bound, a.error), (b.bound, b.error))
        bound, error = sum_of(element, terms, bound, error, init.bound, init.error)
    p.emit(f"linalg.{op}{more} ins({a.name}, {b.name} : {a.type}, {b.type}) "
           f"outs({init.name} : {init.type}) -> {init.type}", shape, element, bound, error)


def second(p, a, shape):
    """A value of this shape and a's element type."""
    return p.pick(lambda v: v.shape == tuple(shape) and v.element == a.element) or \
        p.constant(shape, a.element)


def matmul(p):
    a = p.pick(lambda v: v.rank in (2, 3) and v.element not in ("i1", "index"))
    if not a:
        return
    b = p.pick(lambda v: v.rank == a.rank and v.element == a.element and
               v.shape[-2] == a.shape[-1] and v.shape[:-2] == a.shape[:-2]) or \
        p.constant(a.shape[:-2] + (a.shape[-1], p.rng.choice(p.sizes)), a.element)
    element = a.element
    if element in ("f16", "bf16") and p.rng.random() < 0.3:
        element = "f32"
    if element == "i8" and p.rng.random() < 0.5:
        element = "i32"
    contract(p, "matmul" if a.rank == 2 else "batch_matmul", a, b,
             a.shape[:-1] + b.shape[-1:], a.shape[-1], element)


def transposed_matmul(p):
    a = p.pick(lambda v: v.rank == 2 and v.element not in ("i1", "index"))
    if not a:
        return
    m, k = a.shape
    n = p.rng.choice(p.sizes)
    left = p.rng.random() < 0.5
    if left:
        m, k = k, m
    b = second(p, a, (k, n) if left else (n, k))
    maps = ["(d2, d0)" if left else "(d0, d2)", "(d2, d1)" if left else "(d1, d2)",
            "(d0, d1)"]
    text = ", ".join(f"affine_map<(d0, d1, d2) -> {m}>" for m in maps)
    contract(p, "matmul", a, b, (m, n), k, more=f" indexing_maps = [{text}]")


def vector_products(p):
    a = p.pick(lambda v: 1 <= v.rank <= 3 and v.element not in ("i1", "index"))
    if not a:
        return
    if a.rank == 1:
        if p.rng.random() < 0.5:
            contract(p, "dot", a, second(p, a, a.shape), (), a.shape[0])
        else:
            b = second(p, a, (a.shape[0], p.rng.choice(p.sizes)))
            contract(p, "vecmat", a, b, b.shape[1:], a.shape[0])
    elif a.rank == 2:
        contract(p, "matvec", a, second(p, a, a.shape[1:]), a.shape[:1], a.shape[1])
    elif p.rng.random() < 0.5:
        contract(p, "batch_matvec", a, second(p, a, (a.shape[0], a.shape[2])), a.shape[:2],
                 a.shape[2])
    else:
        n = p.rng.choice(p.sizes)
        contract(p, "batch_reduce_matmul", a, second(p, a, (a.shape[0], a.shape[2], n)),
                 (a.shape[1], n), a.shape[0] * a.shape[2])


def contraction(p):
    """linalg.contract over any shared dimensions."""
    a = p.pick(lambda v: 1 <= v.rank <= 3 and v.element not in ("i1", "index"))
    b = a and p.pick(lambda v: 1 <= v.rank <= 3 and v.element == a.element and
                     set(v.shape) & set(a.shape) and v.size * a.size <= 20000)
    if not b:
        return
    drawn = contraction_dims.draw(p.rng, a.shape, b.shape, 0.8)
    if not drawn:
        return
    sizes, b_dims, contracted, out = drawn
    loops = ", ".join(f"d{i}" for i in range(len(sizes)))
    maps = ", ".join(f"affine_map<({loops}) -> ({', '.join(f'd{d}' for d in dims)})>"
                     for dims in (range(a.rank), b_dims, out))
    terms = 1
    for d in contracted:
        terms *= sizes[d]
    contract(p, "contract", a, b, [sizes[d] for d in out], terms,
             more=f" indexing_maps = [{maps}]")


def transpose(p):
    a = p.pick(lambda v: v.rank >= 2)
    if not a:
        return
    order = list(range(a.rank))
    p.rng.shuffle(order)
    shape = [a.shape[i] for i in order]
    out = p.init(shape, a.element, False)
    p.emit(f"linalg.transpose ins({a.name} : {a.type}) outs({out.name} : {out.type}) "
           f"permutation = {order}", shape, a.element, a.bound, a.error)


def broadcast(p):
    a = p.pick(lambda v: v.rank <= 3)
    if not a:
        return
    at = p.rng.randint(0, a.rank)
    shape = a.shape[:at] + (p.rng.choice(p.sizes),) + a.shape[at:]
    out = p.init(shape, a.element, False)
    if out.size <= 4000:
        p.emit(f"linalg.broadcast ins({a.name} : {a.type}) outs({out.name} : {out.type}) "
               f"dimensions = [{at}]", shape, a.element, a.bound, a.error)


def copy(p):
    a = p.pick()
    out = p.init(a.shape, a.element, False)
    p.emit(f"linalg.copy ins({a.name} : {a.type}) outs({out.name} : {out.type}) -> {a.type}",
           a.shape, a.element, a.bound, a.error)


def named_elementwise(p):
    a = p.pick(lambda v: v.is_float)
    b = a and p.pick(lambda v: v.shape == a.shape and v.element == a.element)
    if not b:
        return
    out = p.init(a.shape, a.element, False)
    op = p.rng.choice(["add", "sub", "mul", "max", "min", "negf", "abs", "exp", "tanh",
                       "square"])
    if op in ("add", "sub"):
        exactness = sum_of(a.element, 1, a.bound, a.error, b.bound, b.error)
    elif op == "mul":
        exactness = product_of(a.element, (a.bound, a.error), (b.bound, b.error))
    elif op == "square":
        exactness = product_of(a.element, (a.bound, a.error), (a.bound, a.error))
    elif op in ("exp", "tanh"):
        if a.bound > 4:
            return
        bound = 55 if op == "exp" else 1
        exactness = bound, rounded(a.element, 8 * bound, bound * (a.error + 1e-6))
    else:
        exactness = max(a.bound, b.bound), max(a.error, b.error)
    operands = [a, b] if op in ("add", "sub", "mul", "max", "min") else [a]
    p.emit(f"linalg.{op} ins({', '.join(v.name for v in operands)} : "
           f"{', '.join(v.type for v in operands)}) outs({out.name} : {out.type}) -> "
           f"{a.type}", a.shape, a.element, *exactness)


def pack(p):
    """linalg.pack of some dimensions, and back."""
    a = p.pick(lambda v: 1 <= v.rank <= 3 and min(v.shape) > 0)
    if not a:
        return
    dims = p.rng.sample(range(a.rank), p.rng.randint(1, min(2, a.rank)))
    tiles = [p.rng.choice([n for n in range(1, a.shape[d] + 1) if a.shape[d] % n == 0])
             for d in dims]
    padding = ""
    if p.rng.random() < 0.3:
        tiles = [p.rng.randint(1, a.shape[d]) for d in dims]
        padding = f" padding_value({p.scalar(a.element)} : {a.element})"
    outer = [-(-n // tiles[dims.index(d)]) if d in dims else n for d, n in enumerate(a.shape)]
    order = p.rng.sample(range(a.rank), a.rank)
    text = f"inner_dims_pos = {dims} inner_tiles = {tiles}"
    if p.rng.random() < 0.4:
        text = f"outer_dims_perm = {order} " + text
        outer = [outer[d] for d in order]
    packed = p.empty(outer + tiles, a.element)
    packed = p.emit(f"linalg.pack {a.name}{padding} {text} into {packed.name} : {a.type} -> "
                    f"{packed.type}", packed.shape, a.element, max(a.bound, 3), a.error)
    if p.rng.random() < 0.6:
        out = p.empty(a.shape, a.element)
        p.emit(f"linalg.unpack {packed.name} {text} into {out.name} : {packed.type} -> "
               f"{a.type}", a.shape, a.element, packed.bound, packed.error)


def elementwise(p):
    """linalg.elementwise, some operands broadcast or transposed."""
    a = p.pick(lambda v: v.is_float)
    if not a:
        return
    kind = p.rng.choice(["add", "sub", "mul", "max_signed", "min_signed", "negf", "abs"])
    operands = [a]
    dims = ", ".join(f"d{i}" for i in range(a.rank))
    maps = [f"affine_map<({dims}) -> ({dims})>"]
    if kind not in ("negf", "abs"):
        b = p.pick(lambda v: v.element == a.element and v.rank <= a.rank and
                   generic_op.dims_for(p, v, list(a.shape)))
        read = b and generic_op.dims_for(p, b, list(a.shape))
        if not read or "0" in read:
            return
        operands.append(b)
        maps.append(f"affine_map<({dims}) -> ({', '.join(read)})>")
    maps.append(maps[0])
    b = operands[-1]
    if kind in ("add", "sub"):
        exactness = sum_of(a.element, 1, a.bound, a.error, b.bound, b.error)
    elif kind == "mul":
        exactness = product_of(a.element, (a.bound, a.error), (b.bound, b.error))
    else:
        exactness = max(a.bound, b.bound), max(a.error, b.error)
    out = p.init(a.shape, a.element, False)
    p.emit(f"linalg.elementwise kind=#linalg.elementwise_kind<{kind}> indexing_maps = "
           f"[{', '.join(maps)}] ins({', '.join(v.name for v in operands)} : "
           f"{', '.join(v.type for v in operands)}) outs({out.name} : {out.type}) -> {a.type}",
           a.shape, a.element, *exactness)


def softmax(p):
    a = p.pick(lambda v: v.rank and min(v.shape) > 0 and v.element in ("f32", "f64"))
    if not a:
        return
    out = p.init(a.shape, a.element, False)
    p.emit(f"linalg.softmax dimension({p.rng.randrange(a.rank)}) ins({a.name} : {a.type}) "
           f"outs({out.name} : {out.type}) -> {type_of(a.shape, a.element)}",
           a.shape, a.element, 1, 2 * a.error + 1e-5)


OPS = [(3, matmul), (1, transposed_matmul), (1.5, vector_products), (1.5, contraction),
       (1, transpose), (1, broadcast), (0.3, copy), (1, named_elementwise), (0.5, softmax),
       (0.3, pack), (0.4, elementwise)]
