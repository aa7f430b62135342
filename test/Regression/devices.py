#!/usr/bin/env python3
"""Runs programs on devices that are the host and on the CPU, on the same data.

  devices.py TP_COMPILE TP_RUN FOLDER FAKES PROGRAM...

Of tensors of i1 the first half is false; all other data is random. Prints what is
different and `N of N programs equal`; exits non-zero unless all are.
"""
import argparse
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), "Codegen", "CUDA"))
from attention_cases import TOLERANCE, read_npy, same


def write_bits(path, shape):
    count = 1
    for size in shape:
        count *= size
    header = repr({"descr": "|b1", "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                   bytes(i >= count // 2 for i in range(count)))


def ports(text):
    """Name, shape and type of the named arguments and results."""
    signature = re.search(r"func\.func @main\((.*?)\) *-> *\((.*?)\) *\{\n", text, re.S)
    for side in signature.groups():
        yield [(name, [int(n) for n in kind.split("x")[:-1]], kind.split("x")[-1])
               for kind, name in re.findall(r'tensor<([^>]*)> \{tp\.name = "(\w+)"', side)]


def run(options, program, target, flags, environment):
    tp_compile, tp_run, folder, _ = options
    base = os.path.join(folder, os.path.basename(program)[:-len(".mlir")])
    with open(program) as file:
        arguments, results = ports(file.read())
    inputs = []
    for name, shape, dtype in arguments:
        if dtype == "i1":
            write_bits(f"{base}-{name}.npy", shape)
            inputs.append(f"--input={name}=@{base}-{name}.npy")
    outputs = {name: f"{base}-{target}-{name}.npy" for name, _, _ in results}
    for command in ([tp_compile, program, "-o", f"{base}.tp", *flags],
                    [tp_run, f"{base}.tp", "--poison", "--random-data=1", *inputs,
                     *(f"--output={name}=@{path}" for name, path in outputs.items())]):
        done = subprocess.run(command, capture_output=True, text=True, env=environment,
                              timeout=900)
        if done.returncode:
            return done.stderr.strip() or f"exit status {done.returncode}"
    return {name: (dtype, read_npy(outputs[name], dtype)) for name, _, dtype in results
            if dtype in TOLERANCE}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("tp_compile", "tp_run", "folder", "fakes"):
        parser.add_argument(name)
    parser.add_argument("programs", nargs="+")
    words = parser.parse_args()
    options = [words.tp_compile, words.tp_run, words.folder, words.fakes]
    programs = words.programs
    os.makedirs(options[2], exist_ok=True)
    fake = lambda name: os.path.join(options[3], f"libtp_fake_{name}.so")
    environment = dict(os.environ, TP_CUDA_CACHE=options[2], TP_CUDA_DRIVER=fake("cuda"),
                       TP_NCCL=fake("nccl"), TP_CUBLASLT=fake("cublaslt"), TP_CUDNN="off")
    equal = 0
    for program in programs:
        right = run(options, program, "cpu", [], environment)
        found = run(options, program, "cuda", ["--target=cuda", "--chip=host"], environment)
        problem = found if isinstance(found, str) else right if isinstance(right, str) else ""
        for name in {} if problem else right:
            dtype, values = right[name]
            wrong = [f"{name}[{i}] is {a}, the CPU's is {b}"
                     for i, (a, b) in enumerate(zip(found[name][1], values, strict=True))
                     if not same(a, b, dtype)]
            problem = problem or (wrong[0] if wrong else "")
        if problem:
            print(f"{program}: {problem}")
        equal += not problem
    print(f"{equal} of {len(programs)} programs equal")
    return equal != len(programs)


if __name__ == "__main__":
    sys.exit(main())
