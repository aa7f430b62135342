"""Makes small programs of every kind of op, element type and awkward size, runs the
kernels that the CUDA target makes of them on the host, and compares every element
with what the CPU target computes.

    kernel_cases.py TP_OPT TP_RUN TP_RUN_KERNELS FOLDER [--dtype=f32] [--list]
"""

import argparse
import math
import os
import random
import struct
import subprocess
import sys

SIZES = [(0,), (1,), (7,), (1024,), (1000,), (3, 0), (5, 1), (3, 5), (4, 64),
         (5, 130), (2, 1536), (2, 3, 34)]
BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i8": 1,
         "i1": 1}
NPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "|V2", "i64": "<i8",
       "i32": "<i4", "i8": "|i1", "i1": "|b1"}
CODE = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i", "i8": "b",
        "i1": "b"}
# |a - b| <= tolerance * max(1, |b|), where a sum is added in another order: of functions
# in the same arithmetic one rounding of the type.
TOLERANCE = {"f64": 1e-14, "f32": 1e-6, "f16": 1e-3, "bf16": 8e-3}


def encode(values, dtype):
    if dtype == "bf16":
        words = (struct.unpack("<I", struct.pack("<f", v))[0] for v in values)
        return b"".join(struct.pack("<H", (w + 0x7fff + (w >> 16 & 1)) >> 16
                                    if not w & 0x7fffffff > 0x7f800000 else w >> 16)
                        for w in words)
    return struct.pack(f"<{len(values)}{CODE[dtype]}", *values)


def decode(data, dtype):
    if dtype == "bf16":
        return [struct.unpack("<f", struct.pack("<I", w << 16))[0]
                for w in struct.unpack(f"<{len(data) // 2}H", data)]
    return list(struct.unpack(f"<{len(data) // BYTES[dtype]}{CODE[dtype]}", data))


def count(shape):
    return math.prod(shape)


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{n}x" for n in shape) + dtype + ">"


class Program:
    """Arguments, code and results of one function."""

    def __init__(self, dtype, seed):
        self.dtype, self.rng = dtype, random.Random(seed)
        self.arguments, self.lines, self.results, self.names = [], [], [], []
        self.next = 0

    def fresh(self):
        self.next += 1
        return f"%v{self.next}"

    def argument(self, shape, dtype=None, values=None):
        dtype = dtype or self.dtype
        if values is None:
            if dtype[0] == "i":
                span = {"i1": (0, 1), "i8": (-5, 5)}.get(dtype, (-9, 9))
                values = [self.rng.randint(*span) for _ in range(count(shape))]
            else:
                values = [self.rng.uniform(-2, 2) for _ in range(count(shape))]
        name = f"%a{len(self.arguments)}"
        self.arguments.append((name, shape, dtype, encode(values, dtype)))
        return name

    def generic(self, ins, out, maps, iterators, body, init=None):
        """ins: (name, shape, dtype); out: (shape, dtype)."""
        target = init or self.fresh()
        shape, dtype = out
        if not init:
            self.lines.append(f"{target} = tensor.empty() : {tensor(shape, dtype)}")
        result = self.fresh()
        maps = ", ".join(f"affine_map<{m}>" for m in maps)
        kinds = ", ".join(f'"{i}"' for i in iterators)
        arguments = ", ".join([f"%x{i}: {t[2]}" for i, t in enumerate(ins)]
                              + [f"%o: {dtype}"])
        names = ", ".join(t[0] for t in ins)
        types = ", ".join(tensor(t[1], t[2]) for t in ins)
        inputs = f"ins({names} : {types}) " if ins else ""
        self.lines.append(
            f"{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            f"[{kinds}]}} {inputs}outs({target} : {tensor(shape, dtype)}) {{\n"
            f"    ^bb0({arguments}):\n      {body}\n"
            f"    }} -> {tensor(shape, dtype)}")
        return result

    def map(self, ins, shape, body, dtype=None):
        dims = ", ".join(f"d{i}" for i in range(len(shape)))
        same = f"({dims}) -> ({dims})"
        return self.generic([(n, shape, t) for n, t in ins],
                            (shape, dtype or self.dtype), [same] * (len(ins) + 1),
                            ["parallel"] * len(shape), body)

    def constant(self, name, value, dtype):
        typed = "" if dtype == "i1" else f" : {dtype}"
        self.lines.append(f"{name} = arith.constant {value}{typed}")

    def whole(self, shape):
        """Small whole numbers: their sums are exact in every order and type."""
        if not is_float(self.dtype):
            return self.argument(shape)
        few = [-1.0, 1.0] + [0.0] * 18
        many = [float(n) for n in range(-9, 10)]
        chosen = few if self.dtype in ("f16", "bf16") else many
        return self.argument(shape, None,
                             [self.rng.choice(chosen) for _ in range(count(shape))])

    def fill(self, shape, value, dtype=None):
        dtype = dtype or self.dtype
        scalar, empty, full = self.fresh(), self.fresh(), self.fresh()
        t = tensor(shape, dtype)
        self.constant(scalar, value, dtype)
        self.lines.append(f"{empty} = tensor.empty() : {t}")
        self.lines.append(f"{full} = linalg.fill ins({scalar} : {dtype}) "
                          f"outs({empty} : {t}) -> {t}")
        return full

    def result(self, name, shape, what, dtype=None, exact=True):
        self.results.append((name, shape, dtype or self.dtype, exact))
        self.names.append(f"{what} {self.dtype} {'x'.join(map(str, shape)) or '1'}")

    def text(self):
        arguments = ", ".join(f"{n}: {tensor(s, t)}" for n, s, t, _ in self.arguments)
        types = ", ".join(tensor(s, t) for _, s, t, _ in self.results)
        names = ", ".join(r[0] for r in self.results)
        body = "\n    ".join(self.lines)
        return (f"func.func @main({arguments}) -> ({types}) {{\n    {body}\n"
                f"    return {names} : {types}\n}}\n")


def is_float(dtype):
    return dtype[0] in "fb"


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


def functions(p):
    """What the device has no instruction for, on numbers of all sizes."""
    t, rng = p.dtype, p.rng
    inf = float("inf")
    large = {"f64": 300, "f32": 37, "f16": 4, "bf16": 37}[t]
    values = [0.0, -0.0, 1.0, -1.0, inf, -inf, float("nan"), 0.5, 2.0, 3.0, 3.5, -2.5]
    values += [rng.choice((-1, 1)) * 10 ** rng.uniform(-large, large) for _ in range(300)]
    values += [k * math.pi / 2 for k in range(-40, 60)]
    shape = (len(values),)
    x = p.argument(shape, t, values)
    rng.shuffle(values)
    y = p.argument(shape, t, [v if abs(v) < 50 else v % 7 for v in values])
    names = ["exp", "log"] if t == "f64" else \
        ["sin", "cos", "exp2", "log2", "log10", "exp", "log", "tanh"]
    for name in names:
        z = p.map([(x, t)], shape, f"%s = math.{name} %x0 : {t}\n"
                  f"      linalg.yield %s : {t}")
        p.result(z, shape, name, exact=False)
    if t != "f64":
        z = p.map([(x, t), (y, t)], shape, f"%s = math.powf %x0, %x1 : {t}\n"
                  f"      linalg.yield %s : {t}")
        p.result(z, shape, "pow", exact=False)


def programs(dtype):
    """One program per kind of op."""
    def make(kind, builders):
        p = Program(dtype, f"{dtype} {kind}")
        for build in builders:
            build(p)
        return kind, p
    matrices = [(5, 7), (4, 64), (33, 130)]
    yield make("pointwise", [lambda p, s=s: pointwise(p, s) for s in SIZES])
    yield make("rows", [lambda p, s=s: rows(p, s)
                        for s in SIZES + [(3, 5000), (2, 20000), (200, 3)]])
    yield make("columns", [lambda p, s=s: columns(p, s)
                           for s in [(64, 72), (100, 130), (3, 5), (300, 17)]])
    yield make("moves", [lambda p, s=s: moves(p, s) for s in matrices])
    if dtype == "i64":
        yield make("index", [lambda p, s=s: index(p, s) for s in matrices])
    if is_float(dtype):
        yield make("special", [special])
        yield make("functions", [functions])


def write_npy(path, shape, dtype, data):
    head = f"{{'descr': '{NPY[dtype]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                   + data)


def same(a, b, exact, dtype):
    if math.isnan(b) or math.isnan(a):
        return math.isnan(a) and math.isnan(b)
    if a == b:
        return True
    if exact or not is_float(dtype) or math.isinf(a) or math.isinf(b):
        return False
    return abs(a - b) <= TOLERANCE[dtype] * max(1.0, abs(b))


def run(options, name, p):
    base = os.path.join(options.folder, name)
    with open(base + ".mlir", "w") as file:
        file.write(p.text())
    call = dict(check=True, stdout=subprocess.PIPE, timeout=300)
    launches = subprocess.run(
        [options.tp_opt, base + ".mlir",
         f"--tp-cuda-compile=show=launches host={base}.so", "-o", os.devnull], **call)
    with open(base + ".launches", "wb") as file:
        file.write(launches.stdout)
    subprocess.run([options.tp_opt, base + ".mlir",
                    f"--tp-cpu-compile=output={base}.tp", "-o", os.devnull], **call)
    inputs, cpu = [], [options.tp_run, base + ".tp", "--quiet"]
    if p.dtype == "bf16":
        cpu.append("--dtype=bf16")
    for i, (_, shape, dtype, data) in enumerate(p.arguments):
        inputs.append(f"{base}.a{i}.npy")
        write_npy(inputs[-1], shape, dtype, data)
        cpu.append(f"--input=argument{i}=@{inputs[-1]}")
    outputs = []
    for i, (_, shape, dtype, _) in enumerate(p.results):
        cpu.append(f"--output=result{i}=@{base}.r{i}.npy")
        outputs.append(f"{base}.g{i}={count(shape) * BYTES[dtype]}")
    subprocess.run(cpu, **call)
    subprocess.run([options.tp_run_kernels, base + ".so", base + ".launches", *inputs,
                    "--", *outputs], **call)
    bad = 0
    for i, (_, shape, dtype, exact) in enumerate(p.results):
        with open(f"{base}.r{i}.npy", "rb") as file:
            data = file.read()
        expected = decode(data[10 + struct.unpack_from("<H", data, 8)[0]:], dtype)
        with open(f"{base}.g{i}", "rb") as file:
            got = decode(file.read(), dtype)
        wrong = [k for k, (a, b) in enumerate(zip(got, expected))
                 if not same(a, b, exact, dtype)]
        if wrong or len(got) != len(expected):
            bad += 1
            at = f": element {wrong[0]} is {got[wrong[0]]}, expected " \
                 f"{expected[wrong[0]]}; {len(wrong)} differ" if wrong else ""
            print(f"{p.names[i]}{at}")
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tp_opt")
    parser.add_argument("tp_run")
    parser.add_argument("tp_run_kernels")
    parser.add_argument("folder")
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--kind")
    parser.add_argument("--write", action="store_true",
                        help="only the programs, for other tools")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    cases = bad = 0
    for dtype in options.dtype or list(BYTES):
        for kind, p in programs(dtype):
            if options.kind not in (None, kind):
                continue
            if options.write:
                with open(os.path.join(options.folder, f"{dtype}-{kind}.mlir"),
                          "w") as file:
                    file.write(p.text())
                continue
            cases += len(p.results)
            try:
                bad += run(options, f"{dtype}-{kind}", p)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
                bad += len(p.results)
                print(f"{dtype} {kind}: {error}")
    print(f"{cases - bad} of {cases} kernels equal")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
