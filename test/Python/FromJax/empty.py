"""Arrays without elements in JAX functions give JAX's results on 1 to 4 ranks: in gradients of running
products and the like, which halve their operand until nothing is left, and in every kind of op."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp
from jax_results import compare, leaves

X = np.random.default_rng(0).standard_normal((5, 6)).astype("f4")
NONE = np.zeros(0, "i4")


def gradients(x: Any) -> Any:
    """Of scans by doubling, strided slices beyond the end, products and sums of nothing."""
    def of(function: Any, *args: Any) -> Any:
        return jax.grad(lambda x: (function(x, *args) ** 2).sum())(x)
    return (of(jnp.cumprod, 0), of(lax.cummax, 1), of(lax.cummin, 0), of(lax.cumlogsumexp, 1),
            of(lambda x: lax.associative_scan(jnp.multiply, x, axis=1)),
            of(lambda x: lax.associative_scan(jnp.maximum, x, reverse=True)),
            of(lambda x: x[5::2] * 3), of(lambda x: x[:, :0] @ x[:0] + 1),
            of(lambda x: x[:1, 1:2].prod()), of(lambda x: jax.nn.softmax(x[:0])),
            of(lambda x: jnp.concatenate([jax.nn.logsumexp(x[:, :0], 1), x[:, 0]])),
            of(lambda x: jax.checkpoint(lambda x: jnp.sin(jnp.sin(x[NONE])))(x)))


def moved(x: Any) -> Any:
    """Slices, padding, concatenation, lookups and writes; loops without steps."""
    no = x[5:]
    return (lax.pad(x[:0], 2.0, [(1, 1, 1), (0, 0, 0)]), lax.pad(no, 7.0, [(3, -1, 2), (1, 0, 1)]),
            lax.pad(x[:1] > 0, True, [(-1, 2, 4), (0, 0, 0)]), lax.pad(x, 0.0, [(-2, -3, 0)] * 2),
            jnp.concatenate([no, x, x[:, :0].T[:, :0].reshape(0, 6), x]), no.reshape(3, 0).T,
            x.at[NONE].set(1), x.at[:, NONE].add(x[:, NONE]), x[NONE], x[:, :0][np.array([1, 2])],
            lax.dynamic_update_slice(x, no, (1, 0)), lax.dynamic_slice(x, (1, 0), (0, 3)),
            jnp.where(no > 0, no, 1), jnp.sort(no, 1), lax.scan(lambda c, r: (c + r, c * r), x[0], no),
            lax.map(lambda row: row * 2, no), no.astype("i4"), jnp.roll(no[::-1], 1),
            jax.random.normal(jax.random.key(0), (0, 3)), lax.top_k(x, 0)[0])


def reduced(x: Any, given: Any) -> Any:
    """Sums and the like; of several arrays, of windows, of an argument."""
    no = x[:0]
    return (no.sum(), no.sum(1), no.sum(0), no.T.prod(1), no.max(initial=-3), no.mean(),
            (no > 0).any(), (no > 0).all(), no.astype("u4").max(initial=4), jnp.linalg.norm(no),
            jnp.abs(no * 1j).sum(), (no * 1j).sum().imag, jax.nn.softmax(no), jnp.argmin(no, 1),
            no.var(1), lax.reduce((no, no), (np.float32(1), np.float32(2)), lambda a, b: (
                a[0] + b[0], jnp.maximum(a[1], b[1])), (0,)),
            lax.reduce_window(no, 0.0, lax.add, (2, 1), (1, 1), ((2, 2), (0, 0))),
            lax.reduce_window(no, 1.0, lax.add, (2, 1), (1, 1), ((2, 2), (0, 0))),
            lax.reduce_window(x, 0.0, lax.add, (1, 9), (1, 1), "VALID"),
            x.T[:, :0] @ no, jnp.einsum("ij,jk->ik", x[:, :0], no), given.sum(0), given + x[0])


def check(function: Any, *args: Any) -> None:
    model = tp.export_jax(function, args, parameters="x")
    right = leaves(jax.jit(function)(*args))
    for ranks in (1, 2, 3, 4):
        with tp.compile(model, plan="auto", mesh=ranks) as program:
            compare(model.results, program(*args[1:]), right, 1e-5)
    print(f"{function.__name__}: {len(right)} results equal", flush=True)


check(gradients, X)
check(moved, X)
check(reduced, X, np.zeros((0, 6), "f4"))
