"""Exports JAX functions that write at computed places, and compares with JAX on 1, 2 and 3 ranks.

Places are repeated, negative and outside, and there is more than one index dimension.
"""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp

DRAW = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return DRAW.standard_normal(shape).astype("f4")


def places(*values: Any) -> Any:
    return np.array(values, "i4")


ROW = jax.lax.ScatterDimensionNumbers((1,), (), (0,))
# Each: a function of an array, places and what is written, and these.
CASES: dict[str, Any] = {
    # What training a language model needs.
    "embedding": (jax.grad(lambda x, i, u: (x[i] * u).sum()), numbers(16, 8),
                  places([1, 2, 1], [99, 3, -1]), numbers(2, 3, 8)),
    "labels": (jax.grad(lambda x, i, u: (jnp.take_along_axis(x, i[..., None], -1) * u).sum()),
               numbers(2, 3, 16), places([1, 2, 1], [9, 30, -2]), numbers(2, 3, 1)),
    # One index, several, before and between whole dimensions.
    "set": (lambda x, i, u: x.at[i].set(u), numbers(16, 8), places([1, 2, 1], [99, 3, -1]),
            numbers(2, 3, 8)),
    "two": (lambda x, i, u: x.at[i, i[::-1]].add(u), numbers(6, 7), places(1, 5, 1, -1, 9),
            numbers(5)),
    "middle": (lambda x, i, u: x.at[:, i].add(u), numbers(4, 7, 3), places(1, 5, 1, 8),
               numbers(4, 4, 3)),
    "split": (lambda x, i, u: x.at[i, :, i].add(u), numbers(4, 7, 3), places(1, 3, 1),
              numbers(3, 7)),
    "batch": (jax.vmap(lambda x, i, u: x.at[i].add(u)), numbers(4, 8),
              places([0, 1, 1], [7, 8, 2], [3, 3, 3], [-1, 0, 7]), numbers(4, 3)),
    "one": (lambda x, i, u: x.at[i].set(u), numbers(8, 3), np.int32(30), numbers(3)),
    # Windows of a part of a dimension; one that leaves the array writes nothing.
    "window": (lambda x, i, u: x.at[i, 1:3].add(u), numbers(8, 4), places(1, 5, 1), numbers(3, 2)),
    "outside": (lambda x, i, u: jax.lax.scatter_add(x, i, u, ROW, mode="drop"), numbers(8),
                places([1], [6], [-1], [2], [0]), numbers(5, 3)),
    "clip": (lambda x, i, u: x.at[i].add(u, mode="clip"), numbers(8), places(1, 50, -20),
             numbers(3)),
    "slice": (lambda x, i, u: x.at[2:5].multiply(u), numbers(8, 3), places(0), numbers(3, 3)),
    # Nothing is added to what no update reaches, not even 0.0.
    "signs": (lambda x, i, u: (x.at[i].add(u), x.at[i].subtract(u), x.at[i].multiply(u)),
              np.full(8, -0.0, "f4"), places(1, 5), numbers(2)),
    # What else is written than a sum.
    "others": (lambda x, i, u: (x.at[i].multiply(u), x.at[i].min(u), x.at[i].max(u),
                                x.at[i].subtract(u)), numbers(8, 4), places(1, 5, 1),
               numbers(3, 4)),
    "bf16": (lambda x, i, u: (x.at[i].max(u), x.at[i].min(u)), numbers(8).astype(jnp.bfloat16),
             places(1, 5, 1), numbers(3).astype(jnp.bfloat16)),
    "unsigned": (lambda x, i, u: (x.at[i].add(u), x.at[i].max(u), x.at[i].min(u), x.at[i].set(u)),
                 np.arange(100, 108, dtype="u1"), np.array([1, 5, 1], "u1"),
                 np.array([200, 201, 3], "u1")),
    "signed": (lambda x, i, u: (x.at[i].max(u), x.at[i].min(u)), places(*range(-4, 4)),
               places(1, 5, 1), places(-9, 9, 7)),
    "booleans": (lambda x, i, u: (x.at[i].set(u), x.at[i].max(u), x.at[i].min(u)),
                 np.arange(8) % 2 == 0, places(1, 4, 1), np.array([True, False, False])),
}


def run(args: dict[str, Any]) -> dict[str, Any]:
    """All cases in one program."""
    return {name: function(*args[name]) for name, (function, *_) in CASES.items()}


args = {name: tuple(rows) for name, (_, *rows) in CASES.items()}
model = tp.export_jax(run, (args,), parameters="args")
assert "stablehlo" not in model.mlir
expected = jax.tree_util.tree_leaves(jax.jit(run)(args))
for ranks in (1, 2, 3):
    with tp.compile(model, plan="auto", mesh=ranks) as program:
        results = program()
    names = program.result_names
    assert len(names) == len(expected)
    signs = 0
    for name, result, right in zip(names, results, expected):
        np.testing.assert_allclose(np.asarray(result, "f8"), np.asarray(right, "f8"), atol=1e-5,
                                   err_msg=f"{name} on {ranks}")
        if "signs" in name:
            np.testing.assert_array_equal(np.signbit(result), np.signbit(right), f"{name}: signs")
            signs += 1
    assert signs == 3, names
    print(f"{len(names)} results of {len(CASES)} functions, ranks: {ranks}")
