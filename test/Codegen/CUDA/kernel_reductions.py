"""Programs that reduce: rows, few long ones, columns, special values."""

from kernel_program import count, is_float


def rows(p, shape):
    t, inner, outer = p.dtype, shape[-1], shape[:-1]
    x, w = p.argument(shape), p.whole(shape)
    dims = [f"d{i}" for i in range(len(shape))]
    whole = f"({', '.join(dims)}) -> ({', '.join(dims)})"
    part = f"({', '.join(dims)}) -> ({', '.join(dims[:-1])})"
    kinds = ["parallel"] * len(outer) + ["reduction"]
    if t == "i1":
        zero, op = "false", "ori"
    elif is_float(t):
        zero, op = "0.0", "addf"
    else:
        zero, op = "0", "addi"
    s = p.generic([(w, shape, t)], (outer, t), [whole, part], kinds,
                  f"%s = arith.{op} %o, %x0 : {t}\n      linalg.yield %s : {t}",
                  init=p.fill(outer, zero))
    p.result(s, outer, f"sum of {inner}")
    if not is_float(t):
        return
    low = {"f64": "0xFFF0000000000000", "f32": "0xFF800000", "f16": "0xFC00",
           "bf16": "0xFF80"}[t]
    m = p.generic([(x, shape, t)], (outer, t), [whole, part], kinds,
                  f"%s = arith.maximumf %o, %x0 : {t}\n      linalg.yield %s : {t}",
                  init=p.fill(outer, low))
    if t == "f64":
        p.result(m, outer, f"maximum of {inner}")
        return
    e = p.generic([(x, shape, t), (m, outer, t)], (shape, t), [whole, part, whole],
                  ["parallel"] * len(shape),
                  f"%s = arith.subf %x0, %x1 : {t}\n      %e = math.exp %s : {t}\n"
                  f"      linalg.yield %e : {t}")
    z = p.generic([(e, shape, t)], (outer, "f32"), [whole, part], kinds,
                  ("%s = arith.addf %o, %x0 : f32\n" if t == "f32" else
                   f"%w = arith.extf %x0 : {t} to f32\n"
                   "      %s = arith.addf %o, %w : f32\n")
                  + "      linalg.yield %s : f32", init=p.fill(outer, "0.0", "f32"))
    y = p.generic([(e, shape, t), (z, outer, "f32")], (shape, "f32"),
                  [whole, part, whole], ["parallel"] * len(shape),
                  ("%d = arith.divf %x0, %x1 : f32\n" if t == "f32" else
                   f"%w = arith.extf %x0 : {t} to f32\n"
                   "      %d = arith.divf %w, %x1 : f32\n")
                  + "      linalg.yield %d : f32")
    p.result(y, shape, "softmax", "f32", exact=False)


def columns(p, shape):
    t, outer = p.dtype, shape[1:]
    x = p.whole(shape)
    dims = [f"d{i}" for i in range(len(shape))]
    whole = f"({', '.join(dims)}) -> ({', '.join(dims)})"
    part = f"({', '.join(dims)}) -> ({', '.join(dims[1:])})"
    zero, op = ("0.0", "addf") if is_float(t) else ("0", "addi")
    if t == "i1":
        zero, op = "false", "ori"
    s = p.generic([(x, shape, t)], (outer, t), [whole, part],
                  ["reduction"] + ["parallel"] * len(outer),
                  f"%s = arith.{op} %o, %x0 : {t}\n      linalg.yield %s : {t}",
                  init=p.fill(outer, zero))
    p.result(s, outer, f"columns of {shape[0]}")


def special(p):
    """NaN, infinities and zeros of both signs among numbers."""
    t = p.dtype
    nan, inf = float("nan"), float("inf")
    values = [nan, inf, -inf, 0.0, -0.0, 1.5] + [-1.0] * 34
    p.rng.shuffle(values)
    shape = (4, 10)
    x = p.argument(shape, t, values)
    dims = "(d0, d1) -> (d0, d1)"
    for name, low in (("maximumf", "0xFF800000"), ("maxnumf", "0xFFC00000")):
        wide = x
        if t != "f32":
            wide = p.map([(x, t)], shape, f"%w = arith.extf %x0 : {t} to f32\n"
                         "      linalg.yield %w : f32", "f32") \
                if t != "f64" else None
        if wide is None:
            break
        m = p.generic([(wide, shape, "f32")], ((4,), "f32"),
                      [dims, "(d0, d1) -> (d0)"], ["parallel", "reduction"],
                      f"%s = arith.{name} %o, %x0 : f32\n"
                      "      linalg.yield %s : f32", init=p.fill((4,), low, "f32"))
        p.result(m, (4,), f"{name} of special values", "f32")
    y = p.map([(x, t)], shape, f"%c = arith.cmpf ult, %x0, %x0 : {t}\n"
              "      linalg.yield %c : i1", "i1")
    p.result(y, shape, "comparison of special values", "i1")
    if t != "f64":
        for function in ("exp", "tanh", "log", "erf", "rsqrt"):
            y = p.map([(x, t)], shape, f"%s = math.{function} %x0 : {t}\n"
                      f"      linalg.yield %s : {t}")
            p.result(y, shape, f"{function} of special values", exact=False)


def long_rows(p, shape):
    """Few rows that several blocks share, and what is done with their sums."""
    t, outer = p.dtype, shape[:-1]
    w = p.whole(shape)
    dims = [f"d{i}" for i in range(len(shape))]
    whole = f"({', '.join(dims)}) -> ({', '.join(dims)})"
    part = f"({', '.join(dims)}) -> ({', '.join(dims[:-1])})"
    kinds = ["parallel"] * len(outer) + ["reduction"]
    if t == "i1":
        zero, op, after = "false", "xori", "xori"
    elif is_float(t):
        zero, op, after = "0.0", "addf", "addf"
    else:
        zero, op, after = "0", "addi", "addi"
    s = p.generic([(w, shape, t)], (outer, t), [whole, part], kinds,
                  f"%s = arith.{op} %o, %x0 : {t}\n      linalg.yield %s : {t}",
                  init=p.fill(outer, zero))
    y = p.map([(s, t)], outer, f"%s = arith.{after} %x0, %x0 : {t}\n"
              f"      linalg.yield %s : {t}")
    p.result(y, outer, f"sum of {shape[-1]} by many blocks")


def ordered(p):
    """The last write wins: a reduction in the order of two loops, whose places are two tensors."""
    t = p.dtype
    first, second = (p.argument(shape, "i64", [p.rng.randint(0, 3) for _ in range(count(shape))])
                     for shape in ((5, 1), (5, 2)))
    places, written, old = p.fresh(), p.whole((5, 3)), p.whole((4,))
    p.lines.append(f"{places} = tensor.concat dim(1) {first}, {second} : "
                   "(tensor<5x1xi64>, tensor<5x2xi64>) -> tensor<5x3xi64>")
    y = p.generic([(written, (5, 3), t), (places, (5, 3), "i64")], ((4,), t),
                  ["(d0, d1, d2) -> (d1, d2)", "(d0, d1, d2) -> (d1, d2)", "(d0, d1, d2) -> (d0)"],
                  ["parallel", "reduction", "reduction"],
                  "%i = linalg.index 0 : index\n      %j = arith.index_cast %i : index to i64\n"
                  "      %c = arith.cmpi eq, %j, %x1 : i64\n"
                  f"      %s = arith.select %c, %x0, %o : {t}\n      linalg.yield %s : {t}", init=old)
    p.result(y, (4,), "writes in order")
