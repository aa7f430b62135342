"""Programs with loops that are kept give what they give unrolled, on 1, 2 and 3 ranks.

    loops.py FOLDER
"""
import json
import os
import random
import re
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import npy  # noqa: E402

INPUTS = os.path.join(HERE, "Inputs", "loops")
# The entry that runs, and its steps.
PROGRAMS = {"layers": ("main", 1), "nested": ("main", 1), "rotated": ("main", 2),
            "shared": ("main", 2), "state": ("step", 3), "two-loops": ("main", 2),
            "types": ("main", 1)}
# Beside --plan=auto.
PLANS = {"layers": ["sharded-layers", "fully-shard", "keep"], "shared": ["shared"]}
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


def collectives_of(folder):
    """How many there are of each kind in a step of `kept.tp`."""
    counts = {}
    kept = json.loads(run(["tp-run", "kept.tp", "--info", "--json"], folder))
    for part in kept["entries"]:
        for each in part["collectives"]:
            counts[each["kind"]] = counts.get(each["kind"], 0) + each.get("count", 1)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


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

    def compare(plan, axis, *transports):
        """The iterations of loops, and what 2 ranks send."""
        sent = ""
        for ranks in (1, 2, 3):
            run(["tp-compile", model, f"--plan={plan}", f"--mesh={axis}={ranks}",
                 "--unroll-limit=0", "--verify", "-o", "kept.tp"], folder)
            kept = json.loads(run(["tp-run", "kept.tp", "--info", "--json"], folder))
            loops = [part["times"] for part in kept["entries"] if part.get("times", 1) > 1]
            for more in ("--poison", *transports) if ranks > 1 else ("--poison",):
                run(["tp-run", "kept.tp", f"--ranks={ranks}", *options, *expected, more], folder)
            if ranks == 2:
                sent = collectives_of(folder)
        return loops, sent

    loops, _ = compare("auto", "tp", "--transport=processes")
    print(f"{name}: iterations {loops}, {len(results)} results equal on 1, 2, 3 ranks")
    for plan in PLANS.get(name, []):
        path = os.path.join(INPUTS, f"{plan}.plan.mlir")
        with open(path, encoding="utf-8") as file:
            axis = re.search(r'tp.mesh<"(\w+)"', file.read()).group(1)
        _, sent = compare(path, axis)
        print(f"{name}, {plan}: results equal on 1, 2, 3 ranks, 2 ranks: {sent}")


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in PROGRAMS:
        check(folder, name)


if __name__ == "__main__":
    main()
