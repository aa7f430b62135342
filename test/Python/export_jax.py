"""Exports JAX functions, compiles them for 2 ranks and compares with JAX.

    export_jax.py FOLDER
"""
from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp
from exported import Exported

KEY = jax.random.PRNGKey(0)


def layer(params: dict[str, Any], x: Any, mask: Any) -> dict[str, Any]:
    """Attention and a feed-forward block."""
    q, k, v = (jnp.einsum("bsd,dhe->bhse", x, params["attention"][name]) for name in "qkv")
    scores = jnp.where(mask, q @ k.swapaxes(-1, -2) / 4.0, -jnp.inf)
    x = x + jnp.einsum("bhse,hed->bsd", jax.nn.softmax(scores) @ v, params["attention"]["o"])
    return {"x": x + jax.nn.gelu(x @ params["up"]) @ params["down"], "scores": scores.shape[-1] + x}


def case_layer() -> Any:
    """A transformer's layer with its parameters."""
    draw = lambda *shape: jax.random.normal(KEY, shape) * 0.2  # noqa: E731
    params = {"attention": {name: draw(32, 4, 8) for name in "qkv"} | {"o": draw(4, 8, 32)},
              "up": draw(32, 64), "down": draw(64, 32)}
    return layer, (params, draw(2, 8, 32), jnp.tril(jnp.ones((8, 8), bool))), "params"


def case_integers() -> Any:
    """Unsigned numbers, shifts, comparisons."""
    def function(a: Any, b: Any) -> Any:
        return a >> 1, a > jnp.uint32(7), b.astype(jnp.uint8), jnp.argmax(b, -1), a / 3
    return function, (jnp.arange(32, dtype=jnp.uint32).reshape(4, 8),
                      jax.random.randint(KEY, (4, 8), 0, 99)), ()


def case_lookups() -> Any:
    """An embedding, a slice at a place known at run time, an update."""
    def function(table: Any, ids: Any, place: Any) -> Any:
        return (table[ids], jax.lax.dynamic_slice(table, (place, 0), (2, 8)),
                jax.lax.dynamic_update_slice(table, table[:2] * 2, (place, 0)))
    return function, (jax.random.normal(KEY, (16, 8)), jnp.array([[3, 1], [0, 15]]),
                      jnp.int32(5)), "table"


def case_complex() -> Any:
    """Complex numbers and constants."""
    def function(x: Any) -> Any:
        z = x * jnp.exp(1j * jnp.arange(8.0))
        return z.real, jnp.abs(z), z
    return function, (jax.random.normal(KEY, (4, 8)),), ()


def case_gradient() -> Any:
    """The gradient of a loss."""
    def loss(params: Any, x: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ params[0]) @ params[1]) ** 2)
    return jax.grad(loss), ([jnp.ones((8, 16)) * 0.1, jax.random.normal(KEY, (16, 4))],
                            jax.random.normal(KEY, (4, 8))), 0


def parts(array: Any) -> np.ndarray[Any, Any]:
    """A complex array as its parts, as ports have it."""
    array = np.asarray(array)
    return np.stack([array.real, array.imag], -1) if array.dtype.kind == "c" else array


def main() -> int:
    failed = 0
    for name, build in list(globals().items()):
        if not name.startswith("case_"):
            continue
        function, args, parameters = build()
        model = tp.export_jax(function, args, parameters=parameters)
        leaves = jax.tree_util.tree_leaves(args)
        inputs = [parts(leaf) for leaf, port in zip(leaves, model.arguments)
                  if port.kind == "user_input"]
        expected = [parts(leaf) for leaf in jax.tree_util.tree_leaves(jax.jit(function)(*args))]
        outcome, sent = Exported(f"{sys.argv[1]}/{name}", model, inputs, expected).run("auto", 2,
                                                                                     1e-5)
        print(f"{name}: {outcome}, {sent}: {', '.join(map(str, model.arguments))}", flush=True)
        failed += outcome != "equal"
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
