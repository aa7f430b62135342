"""arith and math directly on tensors."""

from values import EXACT, product_of, rounded, sum_of, type_of

BINARY = ["addf", "addf", "subf", "mulf", "maximumf", "minimumf", "maxnumf", "minnumf"]
INTEGER = ["addi", "subi", "muli", "andi", "ori", "xori", "maxsi", "minsi", "maxui", "minui"]


def same_type(p, a):
    return p.pick(lambda v: v.shape == a.shape and v.element == a.element)


def binary(p):
    a = p.pick()
    b = same_type(p, a)
    op = p.rng.choice(BINARY if a.is_float else INTEGER)
    if op == "mulf":
        exactness = product_of(a.element, (a.bound, a.error), (b.bound, b.error))
    elif op in ("addf", "subf"):
        exactness = sum_of(a.element, 1, a.bound, a.error, b.bound, b.error)
    else:
        exactness = max(a.bound, b.bound), max(a.error, b.error)
    p.emit(f"arith.{op} {a.name}, {b.name} : {a.type}", a.shape, a.element, *exactness)


def unary(p):
    a = p.pick(lambda v: v.is_float)
    if not a:
        return
    op = p.rng.choice(["arith.negf", "math.absf", "math.tanh", "math.exp", "math.erf",
                       "math.floor"])
    exactness = a.bound, a.error
    if op in ("math.tanh", "math.exp", "math.erf"):
        if a.bound > 4:
            return
        bound = 55 if op == "math.exp" else 1
        exactness = bound, rounded(a.element, 8 * bound, 1.2 * bound * (a.error + 1e-6))
    elif op == "math.floor" and a.error:
        return
    p.emit(f"{op} {a.name} : {a.type}", a.shape, a.element, *exactness)


def compare(p):
    a = p.pick(lambda v: v.is_exact)
    b = a and p.pick(lambda v: v.shape == a.shape and v.element == a.element and v.is_exact)
    if not b:
        return
    kind = f"arith.cmpf {p.rng.choice(['ogt', 'une', 'ole'])}" if a.is_float else \
        f"arith.cmpi {p.rng.choice(['sgt', 'ne', 'ule'])}"
    p.emit(f"{kind}, {a.name}, {b.name} : {a.type}", a.shape, "i1")


def select(p):
    c = p.pick(lambda v: v.element == "i1")
    a = c and p.pick(lambda v: v.shape == c.shape)
    if not a:
        return
    b = same_type(p, a)
    p.emit(f"arith.select {c.name}, {a.name}, {b.name} : {c.type}, {a.type}", a.shape,
           a.element, max(a.bound, b.bound), max(a.error, b.error))


def convert(p):
    a = p.pick()
    to, exactness = None, (1, 0.0)
    if a.element in ("f16", "bf16", "f32"):
        to = "f32" if a.element != "f32" else "f64"
        op, exactness = "extf", (a.bound, a.error)
    if a.element in ("f64", "f32") and p.rng.random() < 0.5:
        to = {"f64": "f32", "f32": p.rng.choice(["f16", "bf16"])}[a.element]
        if a.error:
            exactness = a.bound, rounded(to, a.bound, a.error)
        elif a.bound > EXACT[to]:
            return
        else:
            exactness = a.bound, 0.0
        op = "truncf"
    elif a.element in ("i1", "i8", "i16", "i32"):
        op, to = p.rng.choice(["extsi", "extui"]), {"i1": "i32", "i8": "i32", "i16": "i64",
                                                    "i32": "i64"}[a.element]
    elif a.element == "i64":
        op, to = "trunci", p.rng.choice(["i32", "i8", "i1"])
    elif a.element == "index":
        op, to = "index_cast", "i64"
    if to:
        p.emit(f"arith.{op} {a.name} : {a.type} to {type_of(a.shape, to)}", a.shape, to,
               *exactness)


def unsigned(p):
    """Through an unsigned type and back, moved in between; also from an argument."""
    a = p.pick(lambda v: v.element in ("i8", "i16", "i32", "i64"))
    if p.may_add_arguments and (a is None or p.rng.random() < 0.4):
        a = p.argument(p.random_shape(3), p.rng.choice(["ui8", "ui16", "ui32", "ui64"]))
        # No op of arith reads it as it is.
        p.values.pop()
    if a is None:
        return
    plain = a.element.removeprefix("u")
    name, type_there = a.name, type_of(a.shape, "u" + plain)
    if a.element == plain:
        name = p.fresh(f"builtin.unrealized_conversion_cast {name} : {a.type} to {type_there}")
    if a.rank and p.rng.random() < 0.5:
        dim = p.rng.randrange(a.rank)
        shape = [2 * n if d == dim else n for d, n in enumerate(a.shape)]
        name = p.fresh(f"tensor.concat dim({dim}) {name}, {name} : ({type_there}, {type_there}) "
                       f"-> {type_of(shape, 'u' + plain)}")
    else:
        shape = a.shape
    p.emit(f"builtin.unrealized_conversion_cast {name} : {type_of(shape, 'u' + plain)} to "
           f"{type_of(shape, plain)}", shape, plain)


def unsigned_real(p):
    """Unsigned integers as floats, and back."""
    a = p.pick(lambda v: v.element in ("i8", "i16", "i32") or v.is_float and v.is_exact)
    if not a:
        return
    if a.is_float:
        if a.element in ("f32", "f64") and "_special" not in a.name and not p.is_special:
            size = p.fresh(f"math.absf {a.name} : {a.type}")
            p.emit(f"arith.fptoui {size} : {a.type} to {type_of(a.shape, 'i32')}", a.shape, "i32")
        return
    mask = p.fresh(f"arith.constant dense<31> : {a.type}")
    low = p.fresh(f"arith.andi {a.name}, {mask} : {a.type}")
    to, bound = p.rng.choice(["f32", "f64", "bf16", "f16"]), 31
    if a.element == "i8" and p.rng.random() < 0.5:
        to, bound, low = "f32", 255, a.name
    p.emit(f"arith.uitofp {low} : {a.type} to {type_of(a.shape, to)}", a.shape, to, bound)


OPS = [(0.4, unsigned), (0.4, unsigned_real), (1, binary), (0.5, unary), (0.3, compare), (0.3, select), (0.4, convert)]
