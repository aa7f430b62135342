#!/usr/bin/env python3
"""Runs an exported model in the simulator's interpreter and compares with
PyTorch's results.

  check-interpreter.py TP_OPT MODEL_DIR [WEIGHTS.safetensors ...]

MODEL_DIR holds model.mlir, manifest.json, .npy inputs and results, and weights
as .safetensors. Prints the largest difference of every result; exits non-zero
where one is above atol 1e-5 + rtol 1e-4.
"""
import argparse
import ast
import glob
import json
import os
import struct
import subprocess
import sys
import tempfile


def read_npy(path):
    """The raw bytes of a little-endian row-major array, and its header."""
    with open(path, "rb") as file:
        data = file.read()
    size, start = struct.unpack("<H", data[8:10])[0], 10
    if data[6] > 1:
        size, start = struct.unpack("<I", data[8:12])[0], 12
    header = ast.literal_eval(data[start:start + size].decode())
    if header["fortran_order"]:
        sys.exit(f"{path}: not in row-major order")
    return data[start + size:], header


def read_safetensors(path, into):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(size))
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            file.seek(8 + size + begin)
            into[name] = file.read(end - begin)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tp_opt")
    parser.add_argument("model")
    parser.add_argument("weights", nargs="*")
    options = parser.parse_args()
    tp_opt, model, more = options.tp_opt, options.model, options.weights
    with open(os.path.join(model, "manifest.json")) as file:
        manifest = json.load(file)
    weights = {}
    for path in sorted(glob.glob(os.path.join(model, "*.safetensors"))) + more:
        read_safetensors(path, weights)
    with tempfile.TemporaryDirectory() as work:
        for argument in manifest["args"]:
            if "npy" in argument:
                data, _ = read_npy(os.path.join(model, argument["npy"]))
            else:
                data = weights[argument["safetensors_key"]]
            with open(f"{work}/arg{argument['index']}.bin", "wb") as file:
                file.write(data)
        subprocess.run([tp_opt, os.path.join(model, "model.mlir"), "-o",
                        os.devnull, f"--tp-interpret=directory={work}"],
                       check=True)
        failed = False
        for result in manifest["results"]:
            data, header = read_npy(os.path.join(model, result["npy"]))
            code = {"<f4": "f", "<f8": "d", "<i8": "q", "<i4": "i",
                    "|b1": "?"}[header["descr"]]
            expected = struct.unpack(f"<{len(data) // struct.calcsize(code)}"
                                     f"{code}", data)
            with open(f"{work}/result{result['index']}.bin", "rb") as file:
                got = struct.unpack(f"<{len(expected)}{code}", file.read())
            worst = 0.0
            for a, b in zip(got, expected):
                difference = 0.0 if a == b else abs(a - b)
                worst = max(worst, difference)
                if not difference <= 1e-5 + 1e-4 * abs(b):
                    failed = True
            print(f"{manifest['name']} {result['name']}: {len(expected)} "
                  f"numbers, largest difference {worst:.3g}")
        sys.exit(failed)


if __name__ == "__main__":
    main()
