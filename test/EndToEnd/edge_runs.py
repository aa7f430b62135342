"""Programs on the edge values of element types: run on so many ranks with poison in all
padding, and compared bit for bit. Of NaN any is right."""

import argparse
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from element_formats import ELEMENTS, dtype_options, read_npy, write_npy


class Failure(Exception):
    """A tool ends with an error."""


def execute(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise Failure(f"{' '.join(command)[:300]} ends with {done.returncode}: "
                      f"{(done.stderr + done.stdout)[:1500]}")


def run(package, ranks, element, inputs, outputs, environment=None):
    """The codes of `outputs`, which are (name, element); inputs are (name, element, shape,
    codes). `element` is what raw bytes in files are."""
    path = lambda name: os.path.join(os.path.dirname(package), f"{name}.npy")
    options = dtype_options(element)
    for name, kind, shape, codes in inputs:
        write_npy(path(name), kind, shape, codes)
        options.append(f"--input={name}=@{path(name)}")
    options += [f"--output={name}=@{path(name)}" for name, _ in outputs]
    execute(["tp-run", package, f"--ranks={ranks}", "--poison"] + options, environment)
    return [read_npy(path(name), kind) for name, kind in outputs]


def differences(what, element, expected, got):
    if len(got) != len(expected):
        return [f"{what}: {len(got)} elements, expected {len(expected)}"]
    same = ELEMENTS[element].same
    return [f"{what}, element {at}: {b:#x}, expected {a:#x}"
            for at, (a, b) in enumerate(zip(expected, got)) if not same(a, b)]


def parser():
    made = argparse.ArgumentParser()
    made.add_argument("folder")
    made.add_argument("--types", default=",".join(ELEMENTS))
    made.add_argument("--ranks", default="1,2,3")
    return made


def check_all(check, options):
    """The exit status. `check` takes a folder, a type and a number of ranks, and returns how
    many cells there are and what is wrong with them."""
    cells, wrong, failed = 0, [], 0
    for element in options.types.split(","):
        for ranks in options.ranks.split(","):
            folder = os.path.join(options.folder, f"{element}-{ranks}")
            os.makedirs(folder, exist_ok=True)
            try:
                count, found = check(folder, element, int(ranks))
            except Failure as failure:
                print(f"{element} on {ranks} ranks: {failure}")
                failed += 1
                continue
            cells += count
            wrong += found
    for line in wrong[:20]:
        print(line)
    print(f"{cells} cells, {len(wrong)} wrong" + (f", {failed} programs failed" if failed else ""))
    return int(bool(wrong or failed))
