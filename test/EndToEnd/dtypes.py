"""Every element type through files, rules, simulator, collectives and kernels: a
contraction whose summed dimension is split, and a transpose that is gathered, on 2 and
3 ranks, against Python.

    dtypes.py FOLDER
"""

import json
import os
import random
import struct
import subprocess
import sys

M, K, N = 4, 6, 10


class Float8:
    """Codes of a format of eight bits by value."""

    def __init__(self, mantissa, bias, codes):
        self.codes = {}
        for code in codes:
            fraction = (code & ((1 << mantissa) - 1)) / (1 << mantissa)
            exponent = (code & 0x7f) >> mantissa
            value = (fraction if exponent == 0 else 1 + fraction) * \
                2.0 ** (max(exponent, 1) - bias)
            self.codes[-value if code & 0x80 else value] = code
        self.values = {code: value for value, code in self.codes.items()}


FLOAT8 = {
    "f8E4M3FN": Float8(3, 7, [c for c in range(256) if c & 0x7f != 0x7f]),
    "f8E5M2": Float8(2, 15, [c for c in range(256) if c & 0x7f < 0x7c]),
    "f8E4M3FNUZ": Float8(3, 8, [c for c in range(256) if c != 0x80]),
    "f8E5M2FNUZ": Float8(2, 16, [c for c in range(256) if c != 0x80]),
}

# .npy spelling, struct code, safetensors spelling.
TYPES = {
    "f64": ("<f8", "d", "F64"), "f32": ("<f4", "f", "F32"), "f16": ("<f2", "e", "F16"),
    "bf16": ("|V2", None, "BF16"), "i64": ("<i8", "q", "I64"), "i32": ("<i4", "i", "I32"),
    "i16": ("<i2", "h", "I16"), "i8": ("|i1", "b", "I8"), "i1": ("|b1", "?", "BOOL"),
    "index": ("<i8", "q", None), "f8E4M3FN": ("|V1", None, "F8_E4M3"),
    "f8E5M2": ("|V1", None, "F8_E5M2"), "f8E4M3FNUZ": ("|V1", None, None),
    "f8E5M2FNUZ": ("|V1", None, None),
}


def encode(numbers, kind):
    if kind == "bf16":
        return b"".join(struct.pack("<f", n)[2:] for n in numbers)
    if kind in FLOAT8:
        return bytes(FLOAT8[kind].codes[n] for n in numbers)
    return struct.pack(f"<{len(numbers)}{TYPES[kind][1]}", *numbers)


def decode(data, kind):
    if kind == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0]
                for i in range(0, len(data), 2)]
    if kind in FLOAT8:
        return [FLOAT8[kind].values[byte] for byte in data]
    code = TYPES[kind][1]
    return list(struct.unpack(f"<{len(data) // struct.calcsize('=' + code)}{code}", data))


def write_npy(path, numbers, shape, kind):
    header = f"{{'descr': '{TYPES[kind][0]}', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + encode(numbers, kind))


def read_npy(path, kind):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    return decode(data[10 + size:], kind)


def write_safetensors(path, name, numbers, shape, kind):
    data = encode(numbers, kind)
    header = json.dumps({name: {"dtype": TYPES[kind][2], "shape": shape,
                                "data_offsets": [0, len(data)]}}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + data)


def body(kind):
    """The element type that is summed in, and %s = %o + %x * %y."""
    if kind == "i1":
        return kind, ["%p = arith.andi %x, %y : i1", "%s = arith.ori %o, %p : i1"]
    if kind.startswith("i"):
        return kind, [f"%p = arith.muli %x, %y : {kind}", f"%s = arith.addi %o, %p : {kind}"]
    if kind in ("f32", "f64"):
        return kind, [f"%p = arith.mulf %x, %y : {kind}", f"%s = arith.addf %o, %p : {kind}"]
    return "f32", [f"%u = arith.extf %x : {kind} to f32", f"%v = arith.extf %y : {kind} to f32",
                   "%p = arith.mulf %u, %v : f32", "%s = arith.addf %o, %p : f32"]


def model(kind, weight):
    wide, ops = body(kind)
    attributes = '{tp.name = "b", tp.kind = "parameter"}' if weight else '{tp.name = "b"}'
    zero = "false" if kind == "i1" else f"{0.0 if wide[0] == 'f' else 0} : {wide}"
    inner = "\n    ".join(ops)
    # f16 and bf16 sums are rounded, as an exporter writes it.
    narrow = kind in ("f16", "bf16")
    result = f"{M}x{N}x{kind if narrow else wide}"
    text = f"""
func.func @main(%a: tensor<{M}x{K}x{kind}> {{tp.name = "a"}}, %b: tensor<{K}x{N}x{kind}> {attributes})
    -> (tensor<{result}> {{tp.name = "y"}}, tensor<{K}x{M}x{kind}> {{tp.name = "t"}}) {{
  %zero = arith.constant {zero}
  %e = tensor.empty() : tensor<{M}x{N}x{wide}>
  %init = linalg.fill ins(%zero : {wide}) outs(%e : tensor<{M}x{N}x{wide}>) -> tensor<{M}x{N}x{wide}>
  %sum = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{M}x{K}x{kind}>, tensor<{K}x{N}x{kind}>) outs(%init : tensor<{M}x{N}x{wide}>) {{
  ^bb0(%x: {kind}, %y: {kind}, %o: {wide}):
    {inner}
    linalg.yield %s : {wide}
  }} -> tensor<{M}x{N}x{wide}>
  %te = tensor.empty() : tensor<{K}x{M}x{kind}>
  %t = linalg.transpose ins(%a : tensor<{M}x{K}x{kind}>) outs(%te : tensor<{K}x{M}x{kind}>) permutation = [1, 0]
"""
    if narrow:
        text += f"""  %ye = tensor.empty() : tensor<{result}>
  %y = linalg.generic {{indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}}
      ins(%sum : tensor<{M}x{N}x{wide}>) outs(%ye : tensor<{result}>) {{
  ^bb0(%x: {wide}, %o: {kind}):
    %s = arith.truncf %x : {wide} to {kind}
    linalg.yield %s : {kind}
  }} -> tensor<{result}>
"""
    name = "%y" if narrow else "%sum"
    return text + f"  return {name}, %t : tensor<{result}>, tensor<{K}x{M}x{kind}>\n}}\n"


PLAN = """#mesh = #tp.mesh<"tp" = 2>
tp.plan @dtypes on #mesh["tp"] {
  tp.argument "a" shard<1>
  tp.argument "b" shard<0>
  tp.result 0 replicate
  tp.result 1 replicate
}
"""


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ends with {done.returncode}: {done.stderr[:2000]}")


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def check(folder, kind):
    path = lambda name: os.path.join(folder, f"{kind}-{name}")
    rng = random.Random(kind)
    low = 0 if kind in ("i1", "index") else -3
    number = lambda: rng.randint(low, 1 if kind == "i1" else 3)
    a, b = [number() for _ in range(M * K)], [number() for _ in range(K * N)]
    is_weight = TYPES[kind][2] is not None
    text = write(path("model.mlir"), model(kind, is_weight))
    plan = write(os.path.join(folder, "plan.mlir"), PLAN)
    write_npy(path("a.npy"), a, (M, K), kind)
    if is_weight:
        write_safetensors(path("b.safetensors"), "b", b, (K, N), kind)
    else:
        write_npy(path("b.npy"), b, (K, N), kind)
    wide = body(kind)[0]
    sums = [sum(a[m * K + k] * b[k * N + n] for k in range(K))
            for m in range(M) for n in range(N)]
    wanted_y = [int(s > 0) for s in sums] if kind == "i1" else sums
    wanted_t = [a[m * K + k] for k in range(K) for m in range(M)]
    feed = [f"--weights={path('b.safetensors')}"] if is_weight else \
        [f"--input=b=@{path('b.npy')}"]
    if TYPES[kind][0].startswith("|V"):
        feed.append(f"--dtype={kind}")
    for ranks in (2, 3):
        artifact = path(f"{ranks}.tp")
        run(["tp-compile", text, f"--plan={plan}", f"--mesh=tp={ranks}", "-o", artifact,
             "--verify"])
        run(["tp-run", artifact, f"--ranks={ranks}", "--poison",
             f"--input=a=@{path('a.npy')}", f"--output=y=@{path('y.npy')}",
             f"--output=t=@{path('t.npy')}"] + feed)
        y = read_npy(path("y.npy"), kind if kind in ("f16", "bf16") else wide)
        if y != wanted_y:
            sys.exit(f"{kind} on {ranks} ranks: {y}, expected {wanted_y}")
        if (t := read_npy(path("t.npy"), kind)) != wanted_t:
            sys.exit(f"{kind} on {ranks} ranks: {t}, expected {wanted_t}")
    print(f"{kind}: equal on 2 and 3 ranks")


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    for name in TYPES:
        check(sys.argv[1], name)
