"""Loops of JAX with many steps stay loops, and give JAX's results on 1, 2 and 3 ranks; places and
random bits to the bit. What they send is counted by steps.
"""
from __future__ import annotations

import re
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp
from jax_results import compare, leaves

RANDOM = np.random.default_rng(0)
LAYERS = {"up": (RANDOM.standard_normal((250, 8, 16)) * 0.2).astype(np.float32),
          "down": (RANDOM.standard_normal((250, 16, 8)) * 0.2).astype(np.float32)}
X = RANDOM.standard_normal((6, 8)).astype(np.float32)


def layer(h: Any, w: Any) -> Any:
    """Of a network, with what is stacked."""
    return h + jnp.tanh(h @ w["up"]) @ w["down"] * 0.1, h.sum(-1)


def forward(w: Any, x: Any) -> Any:
    """Layers one after another, and in reverse."""
    return lax.scan(layer, x, w), lax.scan(layer, x, w, reverse=True)


def gradient(w: Any, x: Any) -> Any:
    """The loop of the gradient reads what the first one stacked."""
    return jax.value_and_grad(lambda w: (lax.scan(layer, x, w)[0] ** 2).mean())(w)


def counted(x: Any) -> Any:
    """Ten thousand steps, with a counter, a loop inside, a condition and a mask."""
    def step(i: Any, state: Any) -> Any:
        value, mask, count = state
        value = lax.fori_loop(0, 2, lambda _, v: jnp.sin(v * 1.5), value)
        value = lax.cond(i % 3 == 0, lambda v: v + 0.1, lambda v: v, value)
        return value, mask ^ (value > 0.5), count + jnp.where(mask, i, 0).sum(-1)
    return lax.fori_loop(0, 10_000, step, (x, x > 0, jnp.zeros(6, jnp.int32)))


def unsigned(x: Any, seed: Any) -> Any:
    """A loop that carries unsigned numbers beyond the signed ones, and stacks them; rows."""
    def step(state: Any, _: Any) -> Any:
        state = state * jnp.uint32(1664525) + jnp.uint32(1013904223)
        return state, (state >> 28).astype(jnp.uint8)
    last, digits = lax.scan(step, seed, None, length=400)
    rows = lax.map(lambda row: (row * row).sum() + x[0, 0], jnp.tile(x, (300, 1)))
    return last, digits, rows


def check_shards(function: Any, w: Any, x: Any) -> None:
    """Of stacked weights that ranks store as shards, each iteration gathers a layer."""
    model = tp.export_jax(function, (w, x), parameters=("w",))
    right = leaves(jax.jit(function)(w, x))
    with tp.compile(model, plan={"": tp.FullyShard()}, mesh={"dp": 2}) as program:
        compare(model.results, program(x), right, 1e-4)
        sent = sorted((row.kind, row.count) for row in program.collectives)
        carried = program.memory["carried by loops"]
        assert program.memory["arena"] > 0
    print(f"{function.__name__} of shards: {sent}, {carried} bytes carried")


def accumulated(w: Any, batches: Any) -> Any:
    """A step whose gradient is summed over many batches."""
    def loss(w: Any, x: Any) -> Any:
        return ((jnp.tanh(x @ w["up"]) @ w["down"]) ** 2).mean()

    def add(total: Any, x: Any) -> Any:
        return jax.tree.map(jnp.add, total, jax.value_and_grad(loss)(w, x)), None
    zeros = (jnp.float32(0), jax.tree.map(jnp.zeros_like, w))
    (value, gradient), _ = lax.scan(add, zeros, batches)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, w, gradient)


def check_sums() -> None:
    """Partial sums are carried: ranks add them up once, not for each batch."""
    w = {name: value[0] for name, value in LAYERS.items()}
    batches = RANDOM.standard_normal((200, 6, 8)).astype(np.float32)
    model = tp.export_jax(accumulated, (w, batches), parameters=("w",))
    right = leaves(jax.jit(accumulated)(w, batches))
    for ranks in (2, 3):
        plan = {"argument batches": tp.Shard(1)}
        with tp.compile(model, plan=plan, mesh=ranks) as program:
            compare(model.results, program(batches), right, 1e-4)
            sent = sorted((row.kind, row.count, row.payload_bytes) for row in program.collectives)
        print(f"accumulated on {ranks} ranks: {sent}")


def nested(w: Any, batches: Any) -> Any:
    """Gradients of layers in a loop, summed over batches in a loop around it."""
    def add(total: Any, x: Any) -> Any:
        return jax.tree.map(jnp.add, total, gradient(w, x)), None
    return lax.scan(add, (jnp.float32(0), jax.tree.map(jnp.zeros_like, w)), batches)[0]


def check_nested() -> None:
    """The inner loop is unrolled, which is told; not where the outer one is a loop of Python's."""
    w = jax.tree.map(lambda a: a[:60], LAYERS)
    batches = RANDOM.standard_normal((16, 6, 8)).astype(np.float32)

    def written(w: Any, batches: Any) -> Any:
        return jax.tree.map(lambda *parts: sum(parts), *(gradient(w, x) for x in batches[:4]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for function in nested, written:
            model = tp.export_jax(function, (w, batches), parameters=("w",))
            print(f"{function.__name__}: {model.mlir.count('scf.for')} loops")
    text = re.sub(r"^.*kept_loops.py:\d+: |\d,\d+", "N", str(told[0].message))
    print(f"{len(told)} warning: {text}")
    assert told[0].filename == __file__, told[0]


def check(function: Any, *args: Any, parameters: tuple[str, ...] = ()) -> None:
    """Exports, and compares with JAX."""
    model = tp.export_jax(function, args, parameters=parameters)
    given = args[len(parameters):]
    loops = model.mlir.count("scf.for")
    right = leaves(jax.jit(function)(*args))
    sent = []
    for ranks in (1, 2, 3):
        with tp.compile(model, plan="auto", mesh=ranks) as program:
            compare(model.results, program(*given), right, 1e-4)
            sent.append(sum(row.count for row in program.collectives))
    print(f"{function.__name__}: {loops} loops, {len(right)} results equal, collectives {sent}")


check(forward, LAYERS, X, parameters=("w",))
check(gradient, LAYERS, X, parameters=("w",))
check_shards(gradient, LAYERS, X)
check(counted, X)
check(unsigned, X, np.array([7, 9], np.uint32))
check_sums()
check_nested()
