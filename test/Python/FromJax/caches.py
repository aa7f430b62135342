"""A decode step's caches have the layout of the heads that fill them, on more ranks than heads too:
no cache moves. They are layers of their own, or stacked, read and written by loops.
"""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp

BATCH, LENGTH, SIZE, WIDTH, HEADS, GROUP = 2, 8, 4, 16, 2, 2
RANDOM = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return (RANDOM.standard_normal(shape) * 0.05).astype("f4")


def layer(x: Any, w: Any, keys: Any, values: Any, at: Any) -> tuple[Any, Any, Any]:
    """One token more."""
    q, k, v = (jnp.einsum("btd,dhk->bthk", x, w[name]) for name in ("query", "key", "value"))
    keys, values = (lax.dynamic_update_slice(cache, new, (0, at, 0, 0))
                    for cache, new in ((keys, k), (values, v)))
    scores = jnp.einsum("btghk,bsgk->bghts", q.reshape(BATCH, 1, HEADS, GROUP, SIZE), keys)
    shares = jax.nn.softmax(jnp.where(jnp.arange(LENGTH) <= at, scores, -1e9))
    mixed = jnp.einsum("bghts,bsgk->btghk", shares, values)
    return x + jnp.einsum("bthk,hkd->btd", mixed.reshape(BATCH, 1, HEADS * GROUP, SIZE),
                          w["out"]), keys, values


def listed(w: Any, keys: Any, values: Any, x: Any, at: Any) -> dict[str, Any]:
    """Python's loop."""
    new = []
    for i in range(len(keys)):
        x, *caches = layer(x, jax.tree.map(lambda a: a[i], w), keys[i], values[i], at)
        new.append(caches)
    return {"x": x, "keys": jnp.stack([k for k, _ in new]),
            "values": jnp.stack([v for _, v in new])}


def scanned(w: Any, keys: Any, values: Any, x: Any, at: Any) -> dict[str, Any]:
    """Caches that a scan takes apart and makes."""
    def body(x: Any, of_layer: Any) -> Any:
        x, *caches = layer(x, *of_layer, at)
        return x, caches
    x, (keys, values) = lax.scan(body, x, (w, keys, values))
    return {"x": x, "keys": keys, "values": values}


def carried(w: Any, keys: Any, values: Any, x: Any, at: Any) -> dict[str, Any]:
    """Caches that a loop hands on, written in place."""
    def body(i: Any, state: Any) -> Any:
        x, keys, values = state
        x, k, v = layer(x, jax.tree.map(lambda a: a[i], w), keys[i], values[i], at)
        return (x, lax.dynamic_update_index_in_dim(keys, k, i, 0),
                lax.dynamic_update_index_in_dim(values, v, i, 0))
    x, keys, values = lax.fori_loop(0, len(keys), body, (x, keys, values))
    return {"x": x, "keys": keys, "values": values}


def check(step: Any, layers: int) -> None:
    w = {"query": numbers(layers, WIDTH, HEADS * GROUP, SIZE),
         "key": numbers(layers, WIDTH, HEADS, SIZE), "value": numbers(layers, WIDTH, HEADS, SIZE),
         "out": numbers(layers, HEADS * GROUP, SIZE, WIDTH)}
    empty = np.zeros((layers, BATCH, LENGTH, HEADS, SIZE), "f4")
    tokens = 20 * numbers(3, BATCH, 1, WIDTH)
    model = tp.export_jax(step, (w, empty, empty, tokens[0], np.int32(0)), parameters=0,
                          optimizer_state=(1, 2), updates={"keys": 1, "values": 2})
    for plan in "auto", "transformer":
        for ranks in 2, 4:
            keys, values = empty, empty
            with tp.compile(model, plan=plan, mesh={"tp": ranks}) as program:
                for at, token in enumerate(tokens):
                    right = jax.jit(step)(w, keys, values, token, at)
                    keys, values = right["keys"], right["values"]
                    np.testing.assert_allclose(program(token, np.int32(at)), right["x"], atol=2e-4)
                np.testing.assert_allclose(program.state["keys"], keys, atol=2e-4)
                kinds = sorted({row.kind for row in program.collectives} - {"reduce_scatter"})
                print(f"{step.__name__}, {layers} layers, {plan}: {program.layouts['keys']}, {kinds}",
                      flush=True)


def main() -> None:
    check(listed, 3)
    for step in scanned, carried:
        check(step, 3)
        check(step, 60)


if __name__ == "__main__":
    main()
