"""Every named op of linalg on numbers made from indices, compiled by tp for one rank,
against the same program lowered by upstream passes alone.

    named_ops.py FOLDER LLVM_LIB
"""

import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import npy
from linalg_named_ops import aggregates, all_ops, type_of

PASSES = ("one-shot-bufferize{bufferize-function-boundaries=1},"
          "func.func(convert-linalg-to-loops),expand-strided-metadata,lower-affine,"
          "convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,"
          "finalize-memref-to-llvm,convert-arith-to-llvm,convert-index-to-llvm,"
          "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts")


AGGREGATES = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root
      : (!transform.any_op) -> !transform.any_op
    %parts = transform.structured.decompose_interface %softmax
      : (!transform.any_op) -> !transform.any_op
    %pack = transform.structured.match ops{["linalg.pack"]} in %root
      : (!transform.any_op) -> !transform.op<"linalg.pack">
    transform.structured.lower_pack %pack : (!transform.op<"linalg.pack">)
      -> (!transform.op<"tensor.pad">, !transform.op<"tensor.expand_shape">,
          !transform.op<"linalg.transpose">)
    %unpack = transform.structured.match ops{["linalg.unpack"]} in %root
      : (!transform.any_op) -> !transform.op<"linalg.unpack">
    transform.structured.lower_unpack %unpack : (!transform.op<"linalg.unpack">)
      -> (!transform.op<"tensor.empty">, !transform.op<"linalg.transpose">,
          !transform.op<"tensor.collapse_shape">, !transform.op<"tensor.extract_slice">)
    transform.yield
  }
}
"""


def identity(shape):
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    return f"affine_map<({dims}) -> ({dims})>"


def loops(shape):
    return "[" + ", ".join('"parallel"' for _ in shape) + "]"


def numbers(name, shape, element, seed, positive):
    """Integers within [-4, 4] (or [1, 9]) that follow no dimension."""
    lines, sum_name = [], "%seven"
    lines.append(f"  {name}e = tensor.empty() : {type_of(shape, element)}")
    lines.append(f"  {name} = linalg.generic {{indexing_maps = [{identity(shape)}], "
                 f"iterator_types = {loops(shape)}}} "
                 f"outs({name}e : {type_of(shape, element)}) {{\n  ^bb0(%z: {element}):")
    for i, size in enumerate(shape):
        lines.append(f"    %i{i} = linalg.index {i} : index")
        lines.append(f"    %f{i} = arith.constant {seed * 2 + 31 * i + 11} : index")
        lines.append(f"    %p{i} = arith.muli %i{i}, %f{i} : index")
        lines.append(f"    %t{i} = arith.addi %p{i}, {sum_name} : index")
        # A square in between, so that no two rows are alike.
        lines.append(f"    %s{i} = arith.muli %t{i}, %t{i} : index")
        lines.append(f"    %m{i} = arith.constant 1009 : index")
        lines.append(f"    %u{i} = arith.remui %s{i}, %m{i} : index")
        sum_name = f"%u{i}"
    lines.append(f"    %nine = arith.constant 9 : index\n"
                 f"    %r = arith.remui {sum_name}, %nine : index\n"
                 f"    %low = arith.constant {-1 if positive else 4} : index\n"
                 f"    %n = arith.subi %r, %low : index\n"
                 f"    %k = arith.index_cast %n : index to i32")
    if element == "i1":
        lines.append("    %zero = arith.constant 0 : i32\n"
                     "    %v = arith.cmpi sgt, %k, %zero : i32")
    elif element == "i32":
        lines.append("    %zero = arith.constant 0 : i32\n"
                     "    %v = arith.addi %k, %zero : i32")
    elif element.startswith("i"):
        lines.append(f"    %v = arith.trunci %k : i32 to {element}")
    else:
        lines.append(f"    %v = arith.sitofp %k : i32 to {element}")
    lines.append(f"    linalg.yield %v : {element}\n  }} -> {type_of(shape, element)}")
    return lines


def model(ops):
    """A function of all ops whose results are f64."""
    lines, results = ["  %seven = arith.constant 7 : index"], []
    for i, op in enumerate(ops):
        text = op.text
        for k, value in enumerate(op.inputs):
            lines += numbers(f"%a{i}_{k}", *value, k, op.positive)
            text = re.sub(f"%{k}\\b", f"%a{i}_{k}", text)
        for k, value in enumerate(op.inits):
            lines += numbers(f"%o{i}_{k}", *value, 5 + k, op.positive)
            text = re.sub(f"%o{k}\\b", f"%o{i}_{k}", text)
        for k, (value, kind) in enumerate(op.scalars):
            lines.append(f"  %s{i}_{k} = arith.constant {value} : {kind}")
            text = re.sub(f"%s{k}\\b", f"%s{i}_{k}", text)
        lines.append(f"  %r{i} = {text}")
        shape, element = op.inits[0]
        wide = type_of(shape, "f64")
        widen = {"f64": "arith.addf %x, %z", "f32": "arith.extf %x"}.get(
            element, "arith.sitofp %x")
        kinds = "f64" if element == "f64" else f"{element} to f64"
        if element == "f64":
            lines.append(f"  %w{i} = tensor.cast %r{i} : {wide} to {wide}")
        else:
            lines.append(
                f"  %e{i} = tensor.empty() : {wide}\n"
                f"  %w{i} = linalg.generic {{indexing_maps = [{identity(shape)}, "
                f"{identity(shape)}], iterator_types = {loops(shape)}}} "
                f"ins(%r{i} : {type_of(shape, element)}) outs(%e{i} : {wide}) {{\n"
                f"  ^bb0(%x: {element}, %z: f64):\n    %v = {widen} : {kinds}\n"
                f"    linalg.yield %v : f64\n  }} -> {wide}")
        results.append((f"%w{i}", wide))
    return lines, results


def for_tp(lines, results):
    types = ", ".join(f'{t} {{tp.name = "r{i}"}}' for i, (_, t) in enumerate(results))
    return (f"func.func @main() -> ({types}) {{\n" + "\n".join(lines) +
            "\n  return {} : {}\n}}\n".format(", ".join(r[0] for r in results),
                                              ", ".join(r[1] for r in results)))


def for_upstream(lines, results):
    text = ["func.func private @printMemrefF64(tensor<*xf64>) "
            "attributes {llvm.emit_c_interface}", "func.func @main() {"] + lines
    for i, (name, kind) in enumerate(results):
        text.append(f"  %any{i} = tensor.cast {name} : {kind} to tensor<*xf64>\n"
                    f"  call @printMemrefF64(%any{i}) : (tensor<*xf64>) -> ()")
    return "\n".join(text + ["  return", "}"]) + "\n"


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:200]} ends with {done.returncode}: "
                 f"{done.stderr[:2000]}")
    return done.stdout


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
    return path


def numbers_of(path):
    body = npy.read(path)
    return struct.unpack(f"<{len(body) // 8}d", body)


def upstream_numbers(folder, lib, lines, results):
    path = write(os.path.join(folder, "upstream.mlir"), for_upstream(lines, results))
    lowered = os.path.join(folder, "lowered.mlir")
    library = write(os.path.join(folder, "aggregates.mlir"), AGGREGATES)
    run(["mlir-opt", path, "-o", lowered, "--pass-pipeline=builtin.module("
         f"transform-preload-library{{transform-library-paths={library}}},"
         f"transform-interpreter,{PASSES})"])
    text = run(["mlir-runner", lowered, "-e", "main", "-entry-point-result=void",
                f"-shared-libs={lib}/libmlir_c_runner_utils.so,"
                f"{lib}/libmlir_runner_utils.so"])
    parts = re.split(r"Unranked Memref.*?data =", text)[1:]
    return [[float(n) for n in re.findall(r"-?(?:nan|inf|[0-9][-+.e0-9]*)", part)]
            for part in parts]


def difference(got, expected):
    """The first place where the numbers differ by more than was printed."""
    if len(got) != len(expected):
        return f"{len(got)} elements, expected {len(expected)}"
    for i, (a, b) in enumerate(zip(got, expected)):
        both_nan = a != a and b != b
        if not both_nan and not abs(a - b) <= 2e-5 * max(1, abs(b)):
            return f"element {i}: {a}, expected {b}"
    return None


def main():
    folder, lib = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    ops = [*all_ops(), *aggregates()]
    lines, results = model(ops)
    path = write(os.path.join(folder, "model.mlir"), for_tp(lines, results))
    artifact = os.path.join(folder, "model.tp")
    run(["tp-compile", path, "-o", artifact])
    outputs = [os.path.join(folder, f"r{i}.npy") for i in range(len(ops))]
    run(["tp-run", artifact, "--ranks=1"] +
        [f"--output=r{i}=@{out}" for i, out in enumerate(outputs)])
    wrong = 0
    for op, out, expected in zip(ops, outputs, upstream_numbers(folder, lib, lines, results)):
        message = difference(numbers_of(out), expected)
        if message:
            wrong += 1
            print(f"{op.name}: {message}")
        elif len(set(expected)) < 2 and op.name not in ("dot", "fill"):
            wrong += 1
            print(f"{op.name}: all elements are alike, nothing was compared")
    print(f"{len(ops) - wrong} ops equal, {wrong} not")


if __name__ == "__main__":
    main()
