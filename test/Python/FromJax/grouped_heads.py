"""Fewer key/value heads than ranks: ranks share heads, whatever the shape of the kernels, in layers
of their own, unrolled and in loops that stay loops. A layer has two all_reduces, four in training.
"""
from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp
from jax_results import compare

WIDTH, HEADS, SHARED, SIZE, HIDDEN = 16, 8, 2, 4, 32
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 6, WIDTH)).astype("f4")
TARGET = RANDOM.standard_normal(X.shape).astype("f4")
CAUSAL = np.tril(np.ones((6, 6), bool))


def numbers(*shape: int) -> Any:
    return (RANDOM.standard_normal(shape) * 0.1).astype("f4")


def weights(is_flat: bool, layers: int) -> dict[str, Any]:
    """Kernels of all layers: [width, heads x head size], or [width, heads, head size]."""
    def heads(count: int) -> tuple[int, ...]:
        return (count * SIZE,) if is_flat else (count, SIZE)
    return {"query": numbers(layers, WIDTH, *heads(HEADS)),
            "key": numbers(layers, WIDTH, *heads(SHARED)),
            "value": numbers(layers, WIDTH, *heads(SHARED)),
            "out": numbers(layers, *heads(HEADS), WIDTH),
            "up": numbers(layers, WIDTH, HIDDEN), "down": numbers(layers, HIDDEN, WIDTH)}


def project(x: Any, kernel: Any, heads: int) -> Any:
    columns = x @ kernel.reshape(WIDTH, -1) if kernel.ndim == 2 else jnp.einsum(
        "btd,dhk->bthk", x, kernel)
    return columns.reshape(*x.shape[:2], heads, SIZE)


def grouped(q: Any, k: Any, v: Any) -> Any:
    """Attention with queries in groups."""
    q = q.reshape(*q.shape[:2], SHARED, HEADS // SHARED, SIZE)
    scores = jnp.where(CAUSAL, jnp.einsum("btghk,bsgk->bghts", q, k) * 0.5, -1e9)
    return jnp.einsum("bghts,bsgk->btghk", jax.nn.softmax(scores), v)


def repeated(q: Any, k: Any, v: Any) -> Any:
    """Attention with keys and values once for each query head."""
    k, v = (jnp.repeat(a, HEADS // SHARED, 2) for a in (k, v))
    scores = jnp.where(CAUSAL, jnp.einsum("bthk,bshk->bhts", q, k) * 0.5, -1e9)
    return jnp.einsum("bhts,bshk->bthk", jax.nn.softmax(scores), v)


def layer(x: Any, w: Any, attend: Any = grouped) -> Any:
    """Grouped attention, and a feed-forward block."""
    q, k, v = (project(x, w[name], heads) for name, heads in (
        ("query", HEADS), ("key", SHARED), ("value", SHARED)))
    mixed = attend(q, k, v)
    if w["out"].ndim == 2:
        x = x + mixed.reshape(*x.shape[:2], -1) @ w["out"]
    else:
        x = x + jnp.einsum("bthk,hkd->btd", mixed.reshape(*x.shape[:2], HEADS, SIZE), w["out"])
    return x + jnp.tanh(x @ w["up"]) @ w["down"], None


def scanned(w: Any, x: Any, attend: Any = grouped) -> Any:
    return lax.scan(lambda x, w: layer(x, w, attend), x, w)[0]


def listed(w: Any, x: Any) -> Any:
    for each in w:
        x = layer(x, each)[0]
    return x


def step(attend: Any, w: Any, x: Any, target: Any) -> Any:
    """Of SGD."""
    loss, gradients = jax.value_and_grad(
        lambda w: jnp.mean((scanned(w, x, attend) - target) ** 2))(w)
    return {"w": jax.tree.map(lambda p, g: p - 0.5 * g, w, gradients), "loss": loss}


def told(program: tp.Program, key: str) -> str:
    """The layout of keys, and what moves: all but scalars."""
    counts: dict[str, int] = {}
    for row in program.collectives:
        if row.payload_bytes > 64:
            counts[row.kind] = counts.get(row.kind, 0) + row.count
    return f"{program.layouts[key]}; {counts}"


def infer(shape: str, name: str, function: Any, given: Any, key: str) -> None:
    model = tp.export_jax(function, (given, X), parameters=0)
    right = np.asarray(function(jax.tree.map(jnp.asarray, given), X))
    for plan in "transformer", "auto":
        for ranks in 4, 6:
            with tp.compile(model, plan=plan, mesh={"tp": ranks}) as program:
                compare(model.results, program(X), [right], 1e-4)
                if ranks == 4:
                    print(f"{shape} {name} {plan}: {told(program, key)}", flush=True)


def train(shape: str, w: Any, attend: Any) -> None:
    of_attention = functools.partial(step, attend)
    model = tp.export_jax(of_attention, (w, X, TARGET), parameters=0, updates={"w": 0})
    right: Any = {"w": w}
    losses = []
    for _ in range(3):
        right = jax.jit(of_attention)(right["w"], X, TARGET)
        losses.append(float(right["loss"]))
    for mesh in {"tp": 4}, {"dp": 2, "tp": 4}:
        with tp.compile(model, plan="transformer", mesh=mesh) as program:
            np.testing.assert_allclose([float(program(X, TARGET)) for _ in losses], losses,
                                       rtol=1e-5)
            for name in w:
                np.testing.assert_allclose(program.state[name], right["w"][name], atol=1e-5)
            print(f"{shape} {attend.__name__} trained on {mesh}: {told(program, 'key')}",
                  flush=True)


def main() -> None:
    for is_flat in True, False:
        shape = "flat" if is_flat else "by heads"
        few, many = weights(is_flat, 2), weights(is_flat, 60)
        infer(shape, "list", listed, [{name: w[i] for name, w in few.items()} for i in range(2)],
              "0.key")
        infer(shape, "unrolled", scanned, few, "key")
        infer(shape, "loop", scanned, many, "key")
        for attend in grouped, repeated:
            train(shape, many, attend)


if __name__ == "__main__":
    main()
