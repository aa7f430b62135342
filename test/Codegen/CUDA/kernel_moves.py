"""Programs that move elements: transposes, pieces, lookups; and pointwise ones."""

from kernel_program import is_float, tensor


def pointwise(p, shape):
    t = p.dtype
    a, b = p.argument(shape), p.argument(shape)
    add, mul = ("addf", "mulf") if is_float(t) else ("addi", "muli")
    if t == "i1":
        add, mul = "xori", "andi"
    y = p.map([(a, t), (b, t)], shape,
              f"%s = arith.{add} %x0, %x1 : {t}\n      "
              f"%m = arith.{mul} %s, %x0 : {t}\n      linalg.yield %m : {t}")
    p.result(y, shape, "pointwise")
    if t in ("f32", "f16", "bf16"):
        y = p.map([(a, t)], shape,
                  f"%s = math.exp %x0 : {t}\n      %m = math.tanh %s : {t}\n"
                  f"      linalg.yield %m : {t}")
        p.result(y, shape, "functions", exact=False)


def moves(p, shape):
    t, (n, m) = p.dtype, shape
    x = p.argument(shape)
    y = p.generic([(x, shape, t)], ((m, n), t),
                  ["(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0, d1)"],
                  ["parallel"] * 2, f"linalg.yield %x0 : {t}")
    p.result(y, (m, n), "transpose")
    y = p.fresh()
    z = (2 * n, m)
    p.lines.append(f"{y} = tensor.concat dim(0) {x}, {x} : ({tensor(shape, t)}, "
                   f"{tensor(shape, t)}) -> {tensor(z, t)}")
    p.result(y, z, "concat of rows")
    y = p.fresh()
    z = (n, 2 * m)
    p.lines.append(f"{y} = tensor.concat dim(1) {x}, {x} : ({tensor(shape, t)}, "
                   f"{tensor(shape, t)}) -> {tensor(z, t)}")
    p.result(y, z, "concat of columns")
    pad, y = p.fresh(), p.fresh()
    zero = "0.0" if is_float(t) else "false" if t == "i1" else "0"
    z = (n + 3, m + 2)
    p.constant(pad, zero, t)
    p.lines.append(f"{y} = tensor.pad {x} low[1, 0] high[2, 2] {{\n    ^bb0(%i: index, "
                   f"%j: index):\n      tensor.yield {pad} : {t}\n    }} : "
                   f"{tensor(shape, t)} to {tensor(z, t)}")
    p.result(y, z, "pad")
    indices = p.argument((6,), "i64", [p.rng.randrange(n) for _ in range(6)])
    y = p.generic([(indices, (6,), "i64")], ((6, m), t),
                  ["(d0, d1) -> (d0)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
                  "%r = arith.index_cast %x0 : i64 to index\n"
                  "      %c = linalg.index 1 : index\n"
                  f"      %e = tensor.extract {x}[%r, %c] : {tensor(shape, t)}\n"
                  f"      linalg.yield %e : {t}")
    p.result(y, (6, m), "gather")
    if n > 1:
        y = p.fresh()
        z = (n - 1, m)
        p.lines.append(f"{y} = tensor.extract_slice {x}[1, 0] [{n - 1}, {m}] [1, 1] : "
                       f"{tensor(shape, t)} to {tensor(z, t)}")
        p.result(y, z, "slice")


def index(p, shape):
    """Where the column exceeds the row, and which element it is."""
    n, m = shape
    y = p.generic([], (shape, "i64"), ["(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
                  "%r = linalg.index 0 : index\n      %c = linalg.index 1 : index\n"
                  f"      %k = arith.constant {m} : index\n"
                  "      %s = arith.muli %r, %k : index\n"
                  "      %t = arith.addi %s, %c : index\n"
                  "      %i = arith.index_cast %t : index to i64\n"
                  "      linalg.yield %i : i64")
    p.result(y, shape, "index", "i64")


def transposes(p, shape):
    """Every order of the loops, and one with ops around it."""
    t = p.dtype
    x = p.argument(shape)
    n = len(shape)
    dims = [f"d{i}" for i in range(n)]
    same = f"({', '.join(dims)}) -> ({', '.join(dims)})"
    orders = {2: [(1, 0)], 3: [(0, 2, 1), (2, 1, 0), (2, 0, 1)],
              4: [(0, 2, 3, 1), (0, 3, 1, 2)]}[n]
    add = "addf" if is_float(t) else "xori" if t == "i1" else "addi"
    for order in orders:
        out = tuple(shape[i] for i in order)
        read = [""] * n
        for i, source in enumerate(order):
            read[source] = f"d{i}"
        across = f"({', '.join(dims)}) -> ({', '.join(read)})"
        y = p.generic([(x, shape, t)], (out, t), [across, same], ["parallel"] * n,
                      f"linalg.yield %x0 : {t}")
        p.result(y, out, f"transpose to {order}")
        b, z = p.argument(out), p.argument(shape)
        y = p.generic([(x, shape, t), (b, out, t), (z, shape, t)], (out, t),
                      [across, same, across, same], ["parallel"] * n,
                      f"%s = arith.{add} %x0, %x1 : {t}\n"
                      f"      %m = arith.{add} %s, %x2 : {t}\n      linalg.yield %m : {t}")
        p.result(y, out, f"sum of transposes to {order}")


def halves(p, shape):
    """The halves of a matrix's rows swapped, transposed: pieces along the loop that is
    read along."""
    t, (n, m) = p.dtype, shape
    half = m // 2
    x = p.argument(shape)
    low, high, both = p.fresh(), p.fresh(), p.fresh()
    part = tensor((n, half), t)
    for name, at in ((low, 0), (high, half)):
        p.lines.append(f"{name} = tensor.extract_slice {x}[0, {at}] [{n}, {half}] [1, 1] "
                       f": {tensor(shape, t)} to {part}")
    whole = (n, 2 * half)
    p.lines.append(f"{both} = tensor.concat dim(1) {high}, {low} : ({part}, {part}) -> "
                   f"{tensor(whole, t)}")
    y = p.generic([(both, whole, t)], ((2 * half, n), t),
                  ["(d0, d1) -> (d1, d0)", "(d0, d1) -> (d0, d1)"], ["parallel"] * 2,
                  f"linalg.yield %x0 : {t}")
    p.result(y, (2 * half, n), "transpose of swapped halves")
