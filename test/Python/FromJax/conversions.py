"""Floats of JAX become integers of every width as in XLA: beyond a type its least or greatest
number, and NaN zero. What jax.checkpoint wraps gives its gradient."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import tp

jax.config.update("jax_enable_x64", True)
INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
EDGES = [sign * edge for bits in (7, 8, 15, 16, 31, 32, 63, 64)
         for edge in (2.0 ** bits - 1, 2.0 ** bits, 2.0 ** bits * (1 + 2 ** -10)) for sign in (1, -1)]
NUMBERS = np.array([*EDGES, np.inf, -np.inf, np.nan, 0.0, -0.0, 0.5, -0.5, 1.9, -1.9, 127.5, -128.5,
                    3e9, -3e9, 1e30, -1e30])


def below(x: Any) -> Any:
    """The floats before, which an integer type may have as they are."""
    return np.nextafter(x, np.zeros_like(x))


args = {}
for name, dtype in (("f32", np.float32), ("f64", np.float64), ("f16", np.float16),
                    ("bf16", ml_dtypes.bfloat16)):
    with np.errstate(over="ignore"):
        values = NUMBERS.astype(dtype)
    args[name] = np.concatenate([values, below(values)])


def convert(values: Any) -> Any:
    """All conversions in one program; two of scalars, and one that is reduced."""
    return {name: [x.astype(integer) for integer in INTEGERS]
            + [x[4].astype("i1"), x.astype("i8").max(), x.astype(bool)]
            for name, x in values.items()}


def checkpointed(w: Any, x: Any) -> Any:
    """What is computed again for the gradient."""
    return jnp.sum(jax.checkpoint(lambda x: jnp.sin(jnp.sin(x @ w)))(x))


def compare(function: Any, args: tuple[Any, ...], parameters: int) -> None:
    """Exports, and compares with JAX on 1 and 2 ranks."""
    model = tp.export_jax(function, args, parameters=parameters)
    right = jax.tree_util.tree_leaves(jax.jit(function)(*args))
    for ranks in (1, 2):
        with tp.compile(model, plan="auto", mesh=ranks) as program:
            results = program(*args[1:])
        results = results if isinstance(results, tuple) else [results]
        assert len(results) == len(right)
        for port, result, expected in zip(model.results, results, right):
            atol = 1e-5 if port.dtype == "f32" else 0
            np.testing.assert_allclose(result, np.asarray(expected), rtol=0, atol=atol,
                                       err_msg=port.name)
        print(f"{function.__name__}: {len(right)} results, ranks: {ranks}")


compare(convert, (args,), 0)
draw = np.random.default_rng(0).standard_normal
compare(jax.grad(checkpointed), (draw((8, 6)).astype("f4"), draw((4, 8)).astype("f4")), 0)
