"""Programs with loops that are kept give what they give unrolled, on 1, 2 and 3 ranks.

    loops.py FOLDER
"""
import json
import os
import random
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import npy  # noqa: E402

INPUTS = os.path.join(HERE, "Inputs", "loops")
# The entry that runs, and its steps.
PROGRAMS = {"layers": ("main", 1), "nested": ("main", 1), "rotated": ("main", 2),
            "state": ("step", 3), "two-loops": ("main", 2), "types": ("main", 1)}
RANDOM = random.Random(0)
CODES = {"f32": "f", "f64": "d", "i1": "?"}


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def values_of(kind, count):
    if kind == "i1":
        numbers = [RANDOM.random() < 0.5 for _ in range(count)]
    else:
        numbers = [RANDOM.uniform(-1, 1) for _ in range(count)]
    return struct.pack(f"<{count}{CODES[kind]}", *numbers)


def write_inputs(folder, name, manifest, entry):
    """A file of numbers for every argument; the options that read them."""
    options = []
    ports = manifest["arguments"] + entry["inputs"]
    for port in ports:
        count = 1
        for size in port["shape"]:
            count *= size
        path = f"{name}-{port['name']}.npy"
        descr = {"f32": "<f4", "f64": "<f8", "i1": "|b1"}[port["dtype"]]
        npy.write(os.path.join(folder, path), descr, port["shape"],
                  values_of(port["dtype"], count))
        options.append(f"--input={port['name']}=@{path}")
    return options


def check(folder, name):
    entry_name, steps = PROGRAMS[name]
    model = os.path.join(INPUTS, f"{name}.mlir")
    run(["tp-compile", model, "--unroll-limit=100000", "-o", f"{name}.tp"], folder)
    manifest = json.loads(run(["tp-run", f"{name}.tp", "--info", "--json"], folder))
    entry = next(each for each in manifest["entries"] if each["name"] == entry_name)
    options = [f"--entry={entry_name}", f"--repeat={steps}", "--quiet",
               *write_inputs(folder, name, manifest, entry)]
    results = [port["name"] for port in entry["results"]]
    run(["tp-run", f"{name}.tp", *options,
         *(f"--output={each}=@{name}-{i}.npy" for i, each in enumerate(results))], folder)
    expected = [f"--expected-output={each}=@{name}-{i}.npy" for i, each in enumerate(results)]
    for ranks in (1, 2, 3):
        run(["tp-compile", model, "--plan=auto", f"--mesh=tp={ranks}", "--unroll-limit=0",
             "--verify", "-o", "kept.tp"], folder)
        kept = json.loads(run(["tp-run", "kept.tp", "--info", "--json"], folder))
        loops = [part["times"] for part in kept["entries"] if part.get("times", 1) > 1]
        for more in (["--poison"], ["--transport=processes"]) if ranks > 1 else (["--poison"],):
            run(["tp-run", "kept.tp", f"--ranks={ranks}", *options, *expected, *more], folder)
    print(f"{name}: iterations {loops}, {len(results)} results equal on 1, 2, 3 ranks")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in PROGRAMS:
        check(folder, name)


if __name__ == "__main__":
    main()
