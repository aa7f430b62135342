"""JAX's loops, branches, sorts, largest elements, gradients of windows and random numbers give JAX's
results on 1, 2 and 3 ranks; integers, places and random bits to the bit.
"""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp
from jax_results import compare, leaves

RANDOM = np.random.default_rng(0)
NUMBERS = np.array([[0.5, np.nan, -1, np.inf, -np.inf, 2, 0.5, -0.0], [0, -0.0, 3, 3, -2, -2, 3, 0],
                    [np.nan] * 8, [1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1],
                    [1e-30, -1e-30, 0, -0.0, 1, 1, 1, 1]], np.float32)
INTEGERS = RANDOM.integers(-3, 3, (6, 8), np.int32)
LAYERS = (RANDOM.standard_normal((4, 8, 8)) * 0.3).astype(np.float32)
IMAGE = RANDOM.standard_normal((2, 7, 9, 3)).astype(np.float32)
X = RANDOM.standard_normal((6, 8)).astype(np.float32)


def loops(x: Any, w: Any) -> Any:
    """Forward, in reverse, nested, with a counter, without steps; their gradients."""
    def step(h: Any, wi: Any) -> Any:
        return jnp.tanh(h @ wi), h.sum(-1)
    forward = lax.scan(step, x, w)
    back = lax.scan(step, x, w, reverse=True)
    inner = lax.scan(lambda h, wi: (lax.fori_loop(0, 3, lambda i, g: jnp.sin(g @ wi) + i, h), None),
                     x, w)[0]
    empty = lax.scan(step, x, w[:0])
    rows = lax.map(lambda row: row * row.sum(), x)
    gradient = jax.grad(lambda w: (lax.scan(jax.checkpoint(step), x, w)[0] ** 2).sum())(w)
    return forward, back, inner, empty, rows, gradient, lax.associative_scan(jnp.add, x, axis=1)


def branches(x: Any, i: Any) -> Any:
    """Of two and of several, with indices beyond them; one whose other side has no number."""
    several = [lax.switch(i[0, k] + k - 2, [jnp.sin, jnp.cos, lambda v: v * 0 + k, jnp.tanh], x)
               for k in range(6)]
    positive = lax.cond(x[0, 0] > 0, lambda v: jnp.log(jnp.abs(v)), lambda v: v - 1, x)
    return several, positive, jax.grad(
        lambda v: lax.cond(v.sum() > 0, lambda u: u * u, lambda u: u, v).sum())(x)


def sorted_values(x: Any, i: Any) -> Any:
    """Stable, by several keys, along both dimensions, with payloads."""
    return (jnp.sort(x), jnp.argsort(x, 0), jnp.argsort(i, 1), jnp.sort(i, 0, descending=True),
            lax.sort((i, x, i * 2), dimension=1, num_keys=2), jnp.median(i, 1),
            jnp.percentile(jnp.where(jnp.isnan(x) | jnp.isinf(x), 0, x), 30.0, axis=0),
            jnp.unique(i[0], size=4, fill_value=9), jnp.lexsort((i[0], i[1])), jnp.sort(x[:1], 0),
            jnp.sort(i[:0], 0))


def best(x: Any, i: Any) -> Any:
    """Few and many of the largest elements; of integers, along another dimension."""
    wide = jnp.concatenate([x] * 9, 1)
    return (lax.top_k(x, 3), lax.top_k(x, 7), lax.top_k(wide, 2), lax.top_k(i, 4), lax.top_k(i.T, 1),
            lax.top_k(x.astype(jnp.bfloat16), 2))


def windows(x: Any) -> Any:
    """Largest and smallest elements of windows that overlap, leave gaps and pass the edge."""
    def taken(init: float, which: Any, size: tuple[int, ...], steps: tuple[int, ...],
              padding: Any) -> Any:
        return jax.grad(lambda v: (lax.reduce_window(v, init, which, size, steps, padding)
                                   * jnp.float32(1.5)).sum())(x)
    return (taken(-jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"),
            taken(-jnp.inf, lax.max, (1, 2, 2, 1), (1, 3, 2, 1), "VALID"),
            taken(jnp.inf, lax.min, (1, 3, 2, 1), (1, 1, 1, 1), ((0, 0), (1, 2), (0, 1), (0, 0))))


def random_numbers(x: Any, seed: Any) -> Any:
    """Keys of a seed, split and folded; bits, uniform and normal numbers, and choices."""
    key = jax.random.wrap_key_data(seed)
    first, second = jax.random.split(key)
    return (jax.random.bits(first, (5, 7)), jax.random.uniform(second, (6, 8)) * x,
            jax.random.bernoulli(jax.random.fold_in(key, 3), 0.7, (6, 8)),
            jax.random.randint(first, (9,), -4, 100), jax.random.permutation(key, 9),
            jax.random.key_data(second), jax.random.normal(jax.random.key(1), (6, 8)) + x,
            jax.random.categorical(first, x), jax.random.truncated_normal(key, -1, 1, (3, 3)))


def check(function: Any, *args: Any) -> None:
    """Exports, and compares with JAX."""
    model = tp.export_jax(function, args)
    right = leaves(jax.jit(function)(*args))
    for ranks in (1, 2, 3):
        with tp.compile(model, plan="auto", mesh=ranks) as program:
            compare(model.results, program(*args), right, 1e-5)
    print(f"{function.__name__}: {len(right)} results equal")


check(loops, X, LAYERS)
check(branches, X, INTEGERS)
check(sorted_values, NUMBERS, INTEGERS)
check(best, NUMBERS, INTEGERS)
check(windows, IMAGE)
check(random_numbers, X, np.array([7, 9], np.uint32))
