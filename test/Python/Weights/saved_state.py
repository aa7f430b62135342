"""State that a program saves, and loads on another mesh; and what is wrong with other files.

    saved_state.py FOLDER MODEL

MODEL is Inputs/train.mlir; FOLDER gets 1.safetensors and 2.safetensors, the states after one step
and two, and m.tp, the artifact.
"""
from __future__ import annotations

import os
import sys

import numpy as np
import tp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from refusals import refused  # noqa: E402  pylint: disable=wrong-import-position

FOLDER, MODEL = sys.argv[1:]
os.chdir(FOLDER)
rng = np.random.default_rng(0)
WEIGHTS = {"up.weight": rng.standard_normal((6, 10), np.float32), "opt_step:step": np.array(7),
           "cache": rng.standard_normal((4, 10), np.float32)}
X = np.full((4, 6), 0.25, np.float32)
NAMES = ["cache", "opt_step:step", "up.weight"]


def write(name: str, arrays: dict[str, np.ndarray]) -> str:
    tp.Model("", [], [], arrays).save(name)
    return os.path.join(name, "weights.safetensors")


with tp.compile(MODEL, plan="auto", mesh={"tp": 2}, weights=WEIGHTS) as first:
    first(X)
    first.save_state("1.safetensors")
    expected = first(X)
    first.save_state("2.safetensors")
    first.save("m.tp")
# On other meshes and kinds of ranks, without weights; the file that is read is replaced.
for mesh, launch in ((None, "thread"), ({"tp": 3}, "process"), ({"tp": 4}, "thread")):
    plan = None if mesh is None else {"argument up.weight": tp.Shard(1)}
    with tp.compile(MODEL, plan=plan, mesh=mesh, launch=launch) as program:
        program.load_state("1.safetensors")
        np.testing.assert_allclose(program(X), expected, rtol=1e-5, atol=1e-6)
        program.save_state("own.safetensors")
        program.load_state("own.safetensors")
        assert program.state["step"] == 9
        stored = tp.safetensors.SafeTensors("own.safetensors")
        assert list(stored) == NAMES
        np.testing.assert_array_equal(np.asarray(stored["cache"]), program.state["cache"])
        assert sorted(os.listdir(".")) == ["1.safetensors", "2.safetensors", "m.tp",
                                           "own.safetensors"], os.listdir(".")

program = tp.compile(MODEL, weights=WEIGHTS)
LISTED = "'cache', 'opt_step:step', 'up.weight'"
other = write("other", {"layers.0.weight": X})
refused(lambda: program.load_state(other),
        f"{other}: expected a saved state with {LISTED}, got one of "
        "another model, with 'layers.0.weight'")
lacking = write("lacking", {"cache": WEIGHTS["cache"], "up.weight": WEIGHTS["up.weight"]})
refused(lambda: program.load_state(lacking),
        f"{lacking}: lacks the state 'opt_step:step', expected a "
        "file that save_state wrote of this model")
more = write("more", {**WEIGHTS, "x": X})
refused(lambda: program.load_state(more),
        f"{more}: has 'x', which is no state of the model, expected "
        f"{LISTED}")
wide = write("wide", {**WEIGHTS, "up.weight": np.zeros((6, 10))})
refused(lambda: program.load_state(wide),
        f"{wide}: tensor 'up.weight': expected f32[6, 10], got "
        "f64[6, 10]")
turned = write("turned", {**WEIGHTS, "up.weight": np.zeros((10, 6), np.float32)})
refused(lambda: program.load_state(turned),
        f"{turned}: tensor 'up.weight': expected f32[6, 10], got "
        "f32[10, 6]")
with open("1.safetensors", "rb") as file, open("cut", "wb") as cut:
    cut.write(file.read()[:300])
refused(lambda: program.load_state("cut"), "cut: the data of 'cache' ends outside of the file, "
        "or does not have the size of its shape: the file is cut or damaged")
refused(lambda: program.load_state("other"), "other: expected a regular file")
refused(lambda: program.load_state("/dev/zero"), "/dev/zero: expected a regular file")
refused(lambda: program.save_state("other"), "other: cannot write: Is a directory")
refused(lambda: program.save_state("/dev/null"), "/dev/null: is a device or a FIFO, expected a file "
        "that is replaced as a whole")
# What was refused has changed nothing.
assert program.state["step"] == 7
np.testing.assert_array_equal(program.state["up.weight"], WEIGHTS["up.weight"])
program.close()
print("saved and loaded")
