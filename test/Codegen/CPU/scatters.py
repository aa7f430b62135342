"""Random reductions that write to computed places (scatter_programs.py), compiled for one rank and
compared with the loops as they are written; how many of them became scatters.

    scatters.py TP_OPT TP_RUN FOLDER [--seed=0] [--count=12]
"""

import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(__file__)
sys.path[:0] = [os.path.join(HERE, ".."), os.path.join(HERE, "..", "CUDA")]
from kernel_cases import write_npy
from kernel_program import BYTES, Program, decode
from scatter_programs import scatter


def run(options, name, p):
    """The results' values; how many compute loops are scatters."""
    base = os.path.join(options.folder, name)
    with open(base + ".mlir", "w") as file:
        file.write(p.text())
    formed = subprocess.run([options.tp_opt, base + ".mlir", "--tp-assign-storage",
                             "--tp-form-scatters"], check=True, stdout=subprocess.PIPE, text=True)
    subprocess.run([options.tp_opt, base + ".mlir", f"--tp-cpu-compile=output={base}.tp", "-o",
                    os.devnull], check=True)
    command = [options.tp_run, base + ".tp", "--quiet"]
    if p.dtype == "bf16":
        command.append("--dtype=bf16")
    for i, (_, shape, dtype, data) in enumerate(p.arguments):
        write_npy(f"{base}.a{i}.npy", shape, dtype, data)
        command.append(f"--input=argument{i}=@{base}.a{i}.npy")
    for i in range(len(p.results)):
        command.append(f"--output=result{i}=@{base}.r{i}.npy")
    subprocess.run(command, check=True)
    values = []
    for i, (_, _, dtype, _) in enumerate(p.results):
        with open(f"{base}.r{i}.npy", "rb") as file:
            data = file.read()
        values.append(decode(data[10 + int.from_bytes(data[8:10], "little"):], dtype))
    return values, formed.stdout.count(" scatter [")


def main():
    parser = argparse.ArgumentParser()
    for name in ("tp_opt", "tp_run", "folder"):
        parser.add_argument(name)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=12)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    total = wrong = formed = 0
    for dtype in BYTES:
        p = Program(dtype, f"{dtype} {options.seed}")
        expected = [scatter(p) for _ in range(options.count)]
        got, scatters = run(options, f"{dtype}-{options.seed}", p)
        formed += scatters
        for i, (values, right) in enumerate(zip(got, expected)):
            total += 1
            # repr tells the zeros apart, and makes one of all NaN.
            differ = [k for k, (a, b) in enumerate(zip(values, right)) if repr(a) != repr(b)]
            if differ or len(values) != len(right):
                wrong += 1
                print(f"{p.names[i]}: element {differ[0]} is {values[differ[0]]}, expected "
                      f"{right[differ[0]]}")
    print(f"{total - wrong} of {total} equal, {'more' if formed * 2 > total else 'fewer'} than half "
          f"of them scatters")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
