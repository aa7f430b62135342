"""Makes small programs of every kind of op, element type and awkward size, runs the
kernels that the CUDA target makes of them on the host, and compares every element
with what the CPU target computes.

    kernel_cases.py TP_OPT TP_RUN TP_RUN_KERNELS FOLDER [--all] [--dtype=f32]

Kernels of elements and of rows have every other size for a type, those between for the
next type; all sizes with --all.
"""

import argparse
import math
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from kernel_edges import edges
from kernel_functions import functions
from kernel_moves import halves, index, moves, pointwise, transposes
from kernel_program import BYTES, NPY, Program, count, decode, is_float
from kernel_reductions import columns, long_rows, ordered, rows, special
from scatter_programs import scatter

SIZES = [(0,), (1,), (7,), (1024,), (1000,), (3, 0), (5, 1), (3, 5), (4, 64),
         (5, 130), (2, 1536), (2, 3, 34)]
# |a - b| <= tolerance * max(1, |b|), where a sum is added in another order: of functions
# in the same arithmetic one rounding of the type.
TOLERANCE = {"f64": 1e-14, "f32": 1e-6, "f16": 1e-3, "bf16": 8e-3}


def programs(dtype, is_all=True):
    """One program per kind of op."""
    first = list(BYTES).index(dtype) % 2

    def some(sizes):
        return sizes if is_all else sizes[first::2]

    def make(kind, builders):
        p = Program(dtype, f"{dtype} {kind}")
        for build in builders:
            build(p)
        return kind, p
    matrices = [(5, 7), (4, 64), (33, 130)]
    yield make("pointwise", [lambda p, s=s: pointwise(p, s) for s in some(SIZES)])
    yield make("rows", [lambda p, s=s: rows(p, s)
                        for s in some(SIZES + [(3, 5000), (2, 20000), (200, 3)])])
    yield make("columns", [lambda p, s=s: columns(p, s)
                           for s in [(64, 72), (100, 130), (3, 5), (300, 17)]])
    yield make("long", [lambda p, s=s: long_rows(p, s)
                        for s in [(70000,), (3, 40001), (2, 65536)]]
               + [lambda p, s=s: columns(p, s) for s in [(3000, 72), (2500, 33)]])
    yield make("transposes", [lambda p, s=s: transposes(p, s)
                              for s in [(8, 8), (64, 64), (65, 130), (40, 1000),
                                        (3, 40, 72), (2, 9, 3, 70)]]
               + [lambda p, s=s: halves(p, s) for s in [(72, 128), (50, 70)]])
    yield make("scatters", [scatter] * (30 if is_all else 6) + [ordered] * 3)
    if dtype == "f32":
        # Threads that take several chunks.
        yield make("large", [lambda p, s=s: pointwise(p, s) for s in [(601, 1001)]])
    yield make("moves", [lambda p, s=s: moves(p, s) for s in matrices])
    if dtype == "i64":
        yield make("index", [lambda p, s=s: index(p, s) for s in matrices])
    if is_float(dtype):
        yield make("special", [special])
        yield make("edges", [edges])
        yield make("functions", [functions])


def write_npy(path, shape, dtype, data):
    head = f"{{'descr': '{NPY[dtype]}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode()
                   + data)


def units(a, b, dtype):
    """How many units in the last place of b they differ by."""
    digits, least = {"f64": (53, -1074), "f32": (24, -149), "f16": (11, -24),
                     "bf16": (8, -133)}[dtype]
    unit = max(math.frexp(b)[1] - digits, least) if b else least
    return abs(a - b) / 2.0 ** unit if unit > -1075 else 0.0


def same(a, b, exact, dtype):
    """`exact` is True, "bits" (with the sign of zeros), False (one rounding), or how many
    units they may differ by."""
    if exact == "bits":
        return math.isnan(a) and math.isnan(b) or \
            a == b and math.copysign(1, a) == math.copysign(1, b)
    if math.isnan(b) or math.isnan(a):
        return math.isnan(a) and math.isnan(b)
    if a == b:
        return True
    if exact is True or not is_float(dtype) or math.isinf(a) or math.isinf(b):
        return False
    if exact:
        return units(a, b, dtype) <= exact
    return abs(a - b) <= TOLERANCE[dtype] * max(1.0, abs(b))


STAGES = ["--tp-assign-storage=target=cuda", "--tp-form-scatters=target=cuda",
          "--tp-form-kernels=target=cuda",
          "--tp-plan-memory=target=cuda", "--tp-map-kernels"]


def other_mapping(match):
    """The fields of a mapping with narrower packets, fewer threads and nothing held."""
    fields = match[0]

    def number(name, new):
        nonlocal fields
        fields = re.sub(rf"\b{name} = (\d+)", lambda m: f"{name} = {new(int(m[1]))}", fields)

    fields = re.sub(r"vectors = array<i64: ([^>]*)>", lambda m: "vectors = array<i64: "
                    + ", ".join(str(max(int(n) // 2, 1)) for n in m[1].split(", ")) + ">", fields)
    fields = re.sub(r"held = array<i1: [^>]*>", lambda m: m[0].replace("true", "false"), fields)
    number("packets", lambda n: 1 if n > 1 else 2)
    number("tile", lambda n: 16)
    number("split", lambda n: 1)
    if '"columns"' in fields:
        number("group", lambda n: max(n // 2, 1))
        group = int(re.search(r"group = (\d+)", fields)[1])
        number("block", lambda n: 32 * group)
    else:
        number("group", lambda n: min(n, 32))
        number("block", lambda n: 64)
    return fields


def write_mapped(options, base):
    """The program with other mappings than tp's; how many there are."""
    done = subprocess.run([options.tp_opt, base + ".mlir", *STAGES], check=True,
                          stdout=subprocess.PIPE, text=True, timeout=900)
    text, changed = re.subn(r"tp\.mapping = \{[^}]*\}", other_mapping, done.stdout)
    assert changed and text != done.stdout
    with open(base + ".mapped.mlir", "w") as file:
        file.write(text)
    return base + ".mapped.mlir"


def run(options, name, p):
    base = os.path.join(options.folder, name)
    with open(base + ".mlir", "w") as file:
        file.write(p.text())
    call = dict(check=True, stdout=subprocess.PIPE, timeout=900)
    launches = subprocess.run(
        [options.tp_opt,
         write_mapped(options, base) if options.other_mappings else base + ".mlir",
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
        if options.errors and type(exact) is int:
            pairs = [(a, b) for a, b in zip(got, expected)
                     if math.isfinite(a) and math.isfinite(b)]
            worst = max(units(a, b, dtype) for a, b in pairs)
            print(f"{p.names[i]}: {worst:.2f} units")
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
    for name in ("tp_opt", "tp_run", "tp_run_kernels", "folder"):
        parser.add_argument(name)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--dtype", action="append")
    parser.add_argument("--kind")
    parser.add_argument("--other-mappings", action="store_true",
                        help="map kernels to threads in another way than tp does")
    parser.add_argument("--errors", action="store_true",
                        help="how far functions are from the C library's")
    parser.add_argument("--write", action="store_true",
                        help="only the programs, for other tools")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    cases = bad = 0
    for dtype in options.dtype or list(BYTES):
        for kind, p in programs(dtype, options.all):
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
