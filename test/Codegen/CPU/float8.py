"""All numbers of eight bits widened by a kernel, and numbers around every midpoint
narrowed, against the formats' definitions.

    float8.py FOLDER
"""

import math
import os
import struct
import subprocess
import sys

# Bits of the mantissa, bias, infinity, no negative zero.
FORMATS = {"f8E4M3FN": (3, 7, False, False), "f8E5M2": (2, 15, True, False),
           "f8E4M3FNUZ": (3, 8, False, True), "f8E5M2FNUZ": (2, 16, False, True)}


def defined(kind, code):
    mantissa, bias, infinity, unsigned_zero = FORMATS[kind]
    sign = -1.0 if code & 0x80 else 1.0
    low, exponent = code & ((1 << mantissa) - 1), (code & 0x7f) >> mantissa
    if unsigned_zero and code == 0x80:
        return math.nan
    if infinity and exponent == 31:
        return math.nan if low else sign * math.inf
    if not infinity and not unsigned_zero and code & 0x7f == 0x7f:
        return math.nan
    fraction = low / (1 << mantissa)
    return sign * (fraction if exponent == 0 else 1 + fraction) * \
        2.0 ** (max(exponent, 1) - bias)


def nearest(kind, value):
    """The codes that `value` may be rounded to."""
    _, _, infinity, unsigned_zero = FORMATS[kind]
    if math.isnan(value):
        return {c for c in range(256) if math.isnan(defined(kind, c))}
    numbers = sorted((v, c) for c in range(128) if math.isfinite(v := defined(kind, c)))
    size = abs(value)
    sign = 0x80 if math.copysign(1, value) < 0 else 0
    largest, code = numbers[-1]
    limit = largest + (largest - numbers[-2][0]) / 2
    if size > limit or (size == limit and code & 1):
        return {0x80 if unsigned_zero else sign | (0x7c if infinity else 0x7f)}
    _, _, best = min((abs(v - size), c & 1, c) for v, c in numbers)
    return {0 if unsigned_zero and best == 0 else sign | best}


def as_f32(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def neighbours(value):
    bits, = struct.unpack("<I", struct.pack("<f", value))
    return [struct.unpack("<f", struct.pack("<I", b))[0] for b in (bits - 1, bits, bits + 1)]


def samples(kind):
    numbers = [defined(kind, c) for c in range(127)]
    values = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e30, -1e30, 1e-40, -1e-40, 3e-6]
    for a, b in zip(numbers, numbers[1:]):
        if math.isfinite(a) and math.isfinite(b):
            for value in neighbours(as_f32((a + b) / 2)):
                values += [value, -value]
    largest = max(v for v in numbers + [defined(kind, 127)] if math.isfinite(v))
    return values + [as_f32(largest * f) for f in (1, 1.03, 1.0357142857142858, 1.05, 1.07,
                                                   1.125, 1.2, 2, -2)]


def model(kinds):
    lines, results = [], []
    for i, kind in enumerate(kinds):
        # Bits keep infinities, NaN and subnormal numbers as they are.
        bits = ", ".join(f"0x{struct.unpack('<I', struct.pack('<f', v))[0]:08X}"
                         for v in samples(kind))
        n = len(samples(kind))
        one = ('indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]')
        two = ('indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], '
               'iterator_types = ["parallel"]')
        lines.append(f"""
  %e{i} = tensor.empty() : tensor<256x{kind}>
  %codes{i} = linalg.generic {{{one}}} outs(%e{i} : tensor<256x{kind}>) {{
  ^bb0(%o: {kind}):
    %n = linalg.index 0 : index
    %c = arith.index_cast %n : index to i8
    %x = arith.bitcast %c : i8 to {kind}
    linalg.yield %x : {kind}
  }} -> tensor<256x{kind}>
  %f{i} = tensor.empty() : tensor<256xf32>
  %w{i} = linalg.generic {{{two}}} ins(%codes{i} : tensor<256x{kind}>) outs(%f{i} : tensor<256xf32>) {{
  ^bb0(%c: {kind}, %o: f32):
    %x = arith.extf %c : {kind} to f32
    linalg.yield %x : f32
  }} -> tensor<256xf32>
  %s{i} = arith.constant dense<[{bits}]> : tensor<{n}xf32>
  %t{i} = tensor.empty() : tensor<{n}x{kind}>
  %r{i} = linalg.generic {{{two}}} ins(%s{i} : tensor<{n}xf32>) outs(%t{i} : tensor<{n}x{kind}>) {{
  ^bb0(%c: f32, %o: {kind}):
    %x = arith.truncf %c : f32 to {kind}
    linalg.yield %x : {kind}
  }} -> tensor<{n}x{kind}>""")
        results += [(f"%w{i}", "tensor<256xf32>"), (f"%r{i}", f"tensor<{n}x{kind}>")]
    return (f"func.func @main() -> ({', '.join(t for _, t in results)}) {{" + "".join(lines) +
            f"\n  return {', '.join(r for r, _ in results)} : "
            f"{', '.join(t for _, t in results)}\n}}\n")


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    return data[10 + size:]


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    path = lambda name: os.path.join(folder, name)
    with open(path("model.mlir"), "w") as file:
        file.write(model(FORMATS))
    subprocess.run(["tp-compile", path("model.mlir"), "-o", path("model.tp")], check=True)
    outputs = [path(f"{i}.npy") for i in range(2 * len(FORMATS))]
    subprocess.run(["tp-run", path("model.tp"), "--ranks=1"] +
                   [f"--output=@{out}" for out in outputs], check=True)
    for i, kind in enumerate(FORMATS):
        wide = struct.unpack("<256f", read_npy(outputs[2 * i]))
        for code, got in enumerate(wide):
            wanted = defined(kind, code)
            if struct.pack("<f", got) != struct.pack("<f", wanted) and \
                    not (math.isnan(got) and math.isnan(wanted)):
                sys.exit(f"{kind} {code:#x} is {got}, expected {wanted}")
        for value, got in zip(samples(kind), read_npy(outputs[2 * i + 1])):
            if got not in nearest(kind, value):
                sys.exit(f"{value} as {kind} is {got:#x}, expected one of "
                         f"{[hex(c) for c in nearest(kind, value)]}")
        print(f"{kind}: 256 numbers widened, {len(samples(kind))} narrowed")


if __name__ == "__main__":
    main()
