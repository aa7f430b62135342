"""Programs of one function, written out, with their arguments."""

import math
import random
import struct

BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i8": 1,
         "i1": 1}
NPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "|V2", "i64": "<i8",
       "i32": "<i4", "i8": "|i1", "i1": "|b1"}
CODE = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i", "i8": "b",
        "i1": "b"}


def is_float(dtype):
    return dtype[0] in "fb"


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
        few = [-1.0, 1.0] + [0.0] * max(18, count(shape) // 500)
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
