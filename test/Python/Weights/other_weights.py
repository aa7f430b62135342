"""Other weights for an artifact: what they lack that is no parameter comes from the tp.Model.

    other_weights.py MODEL FOLDER

MODEL is Inputs/train.mlir.
"""
from __future__ import annotations

import os
import sys

import numpy as np
import tp

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from refusals import refused  # noqa: E402  pylint: disable=wrong-import-position

MODEL, FOLDER = sys.argv[1:]
os.chdir(FOLDER)
rng = np.random.default_rng(0)
UP = rng.standard_normal((6, 10), np.float32)
REST = {"opt_step:step": np.array(7), "cache": rng.standard_normal((4, 10), np.float32)}
X = np.full((4, 6), 0.25, np.float32)
with open(MODEL, encoding="utf-8") as file:
    model = tp.Model(file.read(), [], [], {"up.weight": UP, **REST})
model.save("model")
tuned = {"up.weight": UP + 1}
with tp.compile(MODEL, weights={**tuned, **REST}) as program:
    expected = program(X)
    program.save("m.tp")
for loaded in (model, tp.Model.load("model")):
    for launch in ("thread", "process"):
        with tp.load("m.tp", [tuned, loaded], launch=launch) as program:
            np.testing.assert_array_equal(program(X), expected)
    with tp.load("m.tp", [loaded, tuned]) as program:  # the order does not matter
        np.testing.assert_array_equal(program(X), expected)
    # Alone a model gives its parameters too.
    with tp.load("m.tp", loaded) as program:
        np.testing.assert_array_equal(program.state["up.weight"], UP)
with tp.compile(MODEL, weights=[tuned, model]) as program:
    np.testing.assert_array_equal(program(X), expected)
# Parameters come from the weights alone.
other = {"cache": REST["cache"]}
refused(lambda: tp.load("m.tp", [other, model]), "the weights lack 'up.weight': what is given, 1 "
        "name, is of other weights of the model: add the missing ones")
