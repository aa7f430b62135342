"""Random programs under random plans: what N ranks compute must be what one rank
computes. Each program is compiled twice, with a plan (every stage checked by the
simulator) and without one, and both are run on the same inputs. Floats hold small
integers, so that every order of summation gives the same result and the comparison
is exact. An error of tp-compile is fine if it is located; the kinds are counted.

    random-programs.py FOLDER --seed=0 --count=30 --ops=10
"""

import argparse
import collections
import math
import os
import random
import re
import struct
import subprocess
import sys

from random_program import Program

NPY = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i32": ("<i4", "i"),
       "i64": ("<i8", "q"), "i1": ("|b1", "?"), "bf16": ("|V2", "H")}


def write_npy(path, value, rng):
    descr, code = NPY[value.element]
    numbers = []
    for _ in range(math.prod(value.shape)):
        n = rng.randint(-3, 3)
        if value.element == "i1":
            numbers.append(n > 0)
        elif value.element == "bf16":
            numbers.append(struct.unpack("<I", struct.pack("<f", n))[0] >> 16)
        else:
            numbers.append(n)
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {value.shape}, }}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                   struct.pack(f"<{len(numbers)}{code}", *numbers))


def read_npy(path, value):
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    code = NPY[value.element][1]
    if value.element == "bf16" and b"<f4" in data[10:10 + size]:
        code = "f"
    body = data[10 + size:]
    return struct.unpack(f"<{len(body) // struct.calcsize('=' + code)}{code}", body)


def execute(command, seconds=60):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return 124, "hangs"
    return done.returncode, done.stderr + done.stdout


class Failure(Exception):
    pass


class Rejected(Exception):
    """tp-compile says, at a place, why it cannot."""


def compiled(model, output, options):
    code, text = execute(["tp-compile", model, "-o", output] + options)
    if code == 0:
        return
    located = re.search(r"\.(mlir|plan)['\"]?:\d+:\d+\S*:? error: (.*)", text)
    if code != 1 or not located or "PLEASE submit" in text:
        raise Failure(f"tp-compile {' '.join(options)} ends with {code}: {text[:1500]}")
    raise Rejected(located.group(2))


def outputs_of(artifact, folder, tag, ranks, program, results):
    paths = [os.path.join(folder, f"{tag}-r{i}.npy") for i in range(len(results))]
    code, text = execute(
        ["tp-run", artifact, f"--ranks={ranks}", "--poison", "--timeout=20", "--dtype=bf16"] +
        [f"--input={v.name[1:]}=@{folder}/{v.name[1:]}.npy" for v in program.arguments] +
        [f"--output=r{i}=@{path}" for i, path in enumerate(paths)])
    if code:
        raise Failure(f"tp-run of {tag} ends with {code}: {text[:1500]}")
    return [read_npy(path, value) for path, value in zip(paths, results)]


def check(folder, seed, ops):
    rng = random.Random(seed)
    program = Program(rng, rng.choice([2, 3, 4]))
    for _ in range(rng.randint(1, ops)):
        program.step()
    candidates = program.values[-5:] if rng.random() < 0.8 else program.values
    results = [rng.choice(candidates) for _ in range(rng.randint(1, 3))]
    os.makedirs(folder, exist_ok=True)
    model, plan = os.path.join(folder, "model.mlir"), os.path.join(folder, "p.plan")
    with open(model, "w") as file:
        file.write(program.text(results))
    with open(plan, "w") as file:
        file.write(program.plan(results))
    for value in program.arguments:
        write_npy(os.path.join(folder, value.name[1:] + ".npy"), value, rng)
    one, many = os.path.join(folder, "one.tp"), os.path.join(folder, "many.tp")
    compiled(model, one, [])
    compiled(model, many, [f"--plan={plan}", "--verify"])
    expected = outputs_of(one, folder, "one", 1, program, results)
    got = outputs_of(many, folder, "many", program.ranks, program, results)
    for i, (a, b) in enumerate(zip(expected, got)):
        for k, (x, y) in enumerate(zip(a, b)):
            if x != y and not (x != x and y != y):
                raise Failure(f"r{i} = {results[i].name}, element {k}: {x} on one rank, "
                              f"{y} on {program.ranks}")
        if len(a) != len(b):
            raise Failure(f"r{i}: {len(a)} elements on one rank, {len(b)} on many")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--ops", type=int, default=10)
    parser.add_argument("--verbose", action="store_true", help="count kinds of errors")
    options = parser.parse_args()
    equal, rejected, failed = 0, collections.Counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        folder = os.path.join(options.folder, f"seed-{seed}")
        try:
            check(folder, seed, options.ops)
            equal += 1
        except Rejected as error:
            rejected[re.sub(r"\d+", "N", str(error))[:150]] += 1
        except Failure as error:
            failed += 1
            print(f"seed {seed} ({folder}): {error}", flush=True)
            continue
        for name in os.listdir(folder):
            if not options.verbose or not name.endswith((".mlir", ".plan")):
                os.remove(os.path.join(folder, name))
    if options.verbose:
        for text, count in rejected.most_common():
            print(f"{count} rejected: {text}")
    print(f"seeds {options.seed} to {options.seed + options.count - 1}: {equal} equal, "
          f"{sum(rejected.values())} rejected, {failed} wrong")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
