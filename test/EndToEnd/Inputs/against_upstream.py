#!/usr/bin/env python3
"""Compiles the @main of a file for 1, 2 and 3 ranks, under plans that split its
arguments along the dimensions that divide, and compares all results with
those of the file lowered by upstream passes alone.

    against_upstream.py MODEL.mlir FOLDER [--upstream=SAME.mlir]

Arguments need a tp.name. --upstream names another file with the same @main, for
ops that upstream cannot lower.
"""
import argparse
import ast
import math
import os
import random
import re
import struct
import subprocess
import sys

PASSES = ",".join([
    "convert-elementwise-to-linalg",
    "one-shot-bufferize{bufferize-function-boundaries=1 "
    "allow-return-allocs-from-loops=1}",
    "func.func(convert-linalg-to-loops)", "expand-strided-metadata", "lower-affine",
    "convert-math-to-funcs", "convert-vector-to-scf", "convert-scf-to-cf", "convert-vector-to-llvm",
    "math-expand-ops", "convert-complex-to-standard",
    "convert-math-to-llvm", "convert-math-to-libm", "convert-complex-to-llvm",
    "arith-expand", "finalize-memref-to-llvm", "convert-arith-to-llvm",
    "convert-index-to-llvm", "convert-func-to-llvm", "convert-cf-to-llvm",
    "reconcile-unrealized-casts"])
FORMATS = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i64": ("<i8", "q"),
           "i32": ("<i4", "i"), "i16": ("<i2", "h"), "i8": ("|i1", "b"),
           "i1": ("|b1", "?"), "index": ("<i8", "q")}


class Tensor:
    def __init__(self, text):
        sizes, self.element = re.fullmatch(r"(?:tensor<)?((?:\d+x)*)(\w+)>?", text).groups()
        self.text = text
        self.shape = tuple(int(n) for n in sizes.split("x")[:-1])
        self.size = math.prod(self.shape)


def signature(model):
    head = re.search(r"func\.func @main\((.*?)\)(?: -> (.*?))? \{\n", model, re.S)
    arguments = re.findall(
        r'%(\w+): (tensor<[^>]*>|index|[fi]\d+)\s*\{[^}]*tp\.name = "(\w+)"', head[1])
    results = re.findall(r"(?:tensor<[^>]*>|\bindex\b|\b[fi]\d+\b)",
                         re.sub(r"\{[^}]*\}", "", head[2]))
    return ([(name, Tensor(kind)) for _, kind, name in arguments],
            [Tensor(kind) for kind in results])


def draw(tensor, rng):
    if tensor.element in ("f32", "f64"):
        return [rng.randint(-40, 40) / 16 for _ in range(tensor.size)]
    if tensor.element == "i1":
        return [rng.random() < 0.5 for _ in range(tensor.size)]
    # Indices of small dimensions.
    return [rng.randint(0, 2) for _ in range(tensor.size)]


def write_npy(path, tensor, numbers):
    descr, code = FORMATS[tensor.element]
    header = repr({"descr": descr, "fortran_order": False, "shape": tensor.shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + struct.pack(f"<{len(numbers)}{code}", *numbers))


def read_npy(path, tensor):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    if header["shape"] != tensor.shape:
        sys.exit(f"{path}: expected shape {tensor.shape}, got {header['shape']}")
    code = FORMATS[tensor.element][1]
    return list(struct.unpack(f"<{tensor.size}{code}", data[10 + length:]))


def constant(tensor, numbers):
    """The argument as text of an attribute."""
    def number(x):
        if tensor.element == "i1":
            return "true" if x else "false"
        return str(x)

    def nested(shape, flat):
        if not shape:
            return number(flat[0])
        step = len(flat) // shape[0] if shape[0] else 0
        return "[" + ", ".join(nested(shape[1:], flat[i * step:(i + 1) * step])
                               for i in range(shape[0])) + "]"
    if tensor.text == "i1":
        return number(numbers[0])
    if not tensor.text.startswith("tensor<"):
        return f"{number(numbers[0])} : {tensor.text}"
    body = "" if tensor.size == 0 else nested(tensor.shape, numbers)
    return f"dense<{body}> : {tensor.text}"


def upstream_program(model, arguments, inputs, results):
    """The file with its @main called on constants, every element of the results
    printed as a line of bits."""
    text = re.sub(r"func\.func @main\(", "func.func private @model(", model)
    text = re.sub(r' \{tp\.name = "\w+"\}', "", text)
    lines = ["func.func @main() {"]
    for (name, tensor), numbers in zip(arguments, inputs):
        lines.append(f"  %{name} = arith.constant {constant(tensor, numbers)}")
    kinds = ", ".join(tensor.text for _, tensor in arguments)
    names = ", ".join(f"%{name}" for name, _ in arguments)
    outs = ", ".join(tensor.text for tensor in results)
    lines.append(f"  %r:{len(results)} = func.call @model({names}) : ({kinds}) -> ({outs})")
    for number, tensor in enumerate(results):
        lines.append(f"  func.call @print{number}(%r#{number}) : ({tensor.text}) -> ()")
    lines.append("  return\n}")
    for number, tensor in enumerate(results):
        rank, element = len(tensor.shape), tensor.element
        lines.append(f"func.func private @print{number}(%t: {tensor.text}) {{")
        lines.append("  %zero = arith.constant 0 : index\n  %one = arith.constant 1 : index")
        for dim, size in enumerate(tensor.shape):
            lines.append(f"  %n{dim} = arith.constant {size} : index")
            lines.append(f"  scf.for %i{dim} = %zero to %n{dim} step %one {{")
        value = "%t"
        if tensor.text.startswith("tensor<"):
            at = ", ".join(f"%i{dim}" for dim in range(rank))
            lines.append(f"  %e = tensor.extract %t[{at}] : {tensor.text}")
            value = "%e"
        if element in ("f32", "f64"):
            bits = "i" + element[1:]
            lines.append(f"  %b = arith.bitcast {value} : {element} to {bits}")
            lines.append(f"  vector.print %b : {bits}")
        elif element == "index":
            lines.append(f"  %b = arith.index_cast {value} : index to i64")
            lines.append("  vector.print %b : i64")
        else:
            lines.append(f"  vector.print {value} : {element}")
        lines += ["  }"] * rank + ["  return\n}"]
    return text + "\n".join(lines) + "\n"


def run(command, **options):
    result = subprocess.run(command, text=True, capture_output=True, **options)
    if result.returncode != 0:
        sys.exit(" ".join(command) + "\n" + result.stderr[-3000:])
    return result.stdout


def reference(folder, model, arguments, inputs, results):
    path = os.path.join(folder, "upstream.mlir")
    with open(path, "w") as file:
        file.write(upstream_program(model, arguments, inputs, results))
    lowered = run(["mlir-opt", path, f"--pass-pipeline=builtin.module({PASSES})"])
    libraries = os.path.join(os.path.dirname(run(["llvm-config", "--bindir"]).strip()), "lib")
    text = run(["mlir-runner", "-e", "main", "-entry-point-result=void",
                f"-shared-libs={libraries}/libmlir_c_runner_utils.so,"
                f"{libraries}/libmlir_runner_utils.so"], input=lowered)
    lines = iter(text.split())
    expected = []
    for tensor in results:
        bits = [int(next(lines)) for _ in range(tensor.size)]
        if tensor.element in ("f32", "f64"):
            ours, theirs = ("f", "i") if tensor.element == "f32" else ("d", "q")
            bits = [struct.unpack(ours, struct.pack(theirs, b))[0] for b in bits]
        expected.append(bits)
    return expected


def equal(a, b, element):
    if element not in ("f32", "f64"):
        return a == b
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= 2e-6 + 2e-5 * abs(b)


def plans(arguments, ranks, rng):
    """Every dimension, of all arguments that have it; and one at random."""
    choices = {name: [d for d, size in enumerate(tensor.shape) if size and size % ranks == 0]
               for name, tensor in arguments}
    for dim in sorted({dim for dims in choices.values() for dim in dims}):
        yield {name: dim for name, dims in choices.items() if dim in dims}
    some = [name for name, dims in choices.items() if dims]
    yield {name: rng.choice(choices[name])
           for name in rng.sample(some, rng.randint(1, len(some)))}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--upstream")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    with open(options.model) as file:
        model = file.read()
    rng = random.Random(0)
    arguments, results = signature(model)
    inputs = [draw(tensor, rng) for _, tensor in arguments]
    feeds = []
    for (name, tensor), numbers in zip(arguments, inputs):
        path = os.path.join(options.folder, f"{name}.npy")
        write_npy(path, tensor, numbers)
        feeds.append(f"--input={name}=@{path}")
    if options.upstream:
        with open(options.upstream) as file:
            model = file.read()
    expected = reference(options.folder, model, arguments, inputs, results)

    programs = 0
    for ranks in (1, 2, 3):
        for plan in [None] if ranks == 1 else list(plans(arguments, ranks, rng)):
            artifact = os.path.join(options.folder, f"{ranks}.tp")
            compile_command = ["tp-compile", options.model, "-o", artifact]
            if plan:
                entries = [f'  tp.argument "{name}" shard<{dim}>' for name, dim in plan.items()]
                path = os.path.join(options.folder, "plan.mlir")
                with open(path, "w") as file:
                    file.write(f'#mesh = #tp.mesh<"tp" = {ranks}>\ntp.plan @plan on #mesh["tp"] {{\n'
                               + "\n".join(entries) + "\n}\n")
                compile_command += [f"--plan={path}", "--verify"]
            run(compile_command)
            outputs = [os.path.join(options.folder, f"out{i}.npy") for i in range(len(results))]
            run(["tp-run", artifact, f"--ranks={ranks}", "--poison"] + feeds +
                [f"--output=result{i}=@{path}" for i, path in enumerate(outputs)])
            for number, (path, tensor) in enumerate(zip(outputs, results)):
                got = read_npy(path, tensor)
                for i, (a, b) in enumerate(zip(got, expected[number])):
                    if not equal(a, b, tensor.element):
                        sys.exit(f"{ranks} ranks, plan {plan}: result {number}, element {i}: "
                                 f"expected {b}, got {a}")
            programs += 1
    print(f"{sum(t.size for t in results)} elements equal in {programs} programs")


if __name__ == "__main__":
    main()
