"""Trains layers that jax.lax.scan runs, with attention, as JAX does: by a plan of names,
by plan="transformer", which splits heads, and on two axes. A loop's collectives count as often as
it runs.
"""
from __future__ import annotations

import re
import sys
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp

LAYERS, WIDTH, HEADS, SIZE, WORDS, STEPS = 30, 8, 2, 4, 12, 3
DRAW = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return (DRAW.standard_normal(shape) * 0.2).astype("f4")


def normed(x: Any, scale: Any) -> Any:
    return x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def block(x: Any, w: Any) -> Any:
    """Attention, and a feed-forward block."""
    h = normed(x, w["norm"])
    q, k, v = (jnp.einsum("sd,dhk->hsk", h, w[name]) for name in ("query", "key", "value"))
    scores = jax.nn.softmax(jnp.einsum("hsk,htk->hst", q, k) * 0.5, -1)
    x = x + jnp.einsum("hsk,hkd->sd", jnp.einsum("hst,htk->hsk", scores, v), w["out"])
    return x + jnp.tanh(normed(x, w["norm"]) @ w["up"]) @ w["down"], None


def loss(params: Any, tokens: Any) -> Any:
    x, _ = lax.scan(block, params["embed"]["weight"][tokens[:-1]], params["blocks"])
    logs = jax.nn.log_softmax(x @ params["head"]["kernel"])
    return -jnp.mean(jnp.take_along_axis(logs, tokens[1:, None], -1))


def step(params: Any, moments: Any, tokens: Any) -> dict[str, Any]:
    """Of SGD with momentum."""
    value, gradients = jax.value_and_grad(loss)(params, tokens)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, params, moments)
    return {"params": params, "moments": moments, "loss": value}


params = {"embed": {"weight": numbers(WORDS, WIDTH)}, "head": {"kernel": numbers(WIDTH, WORDS)},
          "blocks": {"norm": np.ones((LAYERS, WIDTH), "f4"),
                     **{name: numbers(LAYERS, WIDTH, HEADS, SIZE)
                        for name in ("query", "key", "value")},
                     "out": numbers(LAYERS, HEADS, SIZE, WIDTH),
                     "up": numbers(LAYERS, WIDTH, 16), "down": numbers(LAYERS, 16, WIDTH)}}
moments = jax.tree.map(np.zeros_like, params)
tokens = DRAW.integers(0, WORDS, (STEPS, 9)).astype("i4")
model = tp.export_jax(step, (params, moments, tokens[0]), parameters="params",
                      optimizer_state="moments", updates={"params": "params", "moments": "moments"})
PLAN = {"blocks.query": "colwise", "blocks.key": "colwise", "blocks.value": "colwise",
        "blocks.out": "rowwise", "blocks.up": "colwise", "blocks.down": "rowwise",
        "head": "colwise"}

right = {"params": params, "moments": moments}
losses = []
for batch in tokens:
    right = jax.jit(step)(right["params"], right["moments"], batch)
    losses.append(float(right["loss"]))
warnings.simplefilter("error", tp.PlanWarning)
for plan in sys.argv[1:]:
    given, mesh = {"names": (PLAN, {"tp": 2}), "transformer": ("transformer", {"tp": 2}),
                   "axes": ({"dp": {"": tp.FullyShard()}, "tp": PLAN}, {"dp": 2, "tp": 2})}[plan]
    with tp.compile(model, plan=given, mesh=mesh) as program:
        np.testing.assert_allclose([float(program(batch)) for batch in tokens], losses, rtol=1e-5)
        for name in ("query", "down", "norm"):
            np.testing.assert_allclose(program.state[f"blocks.{name}"],
                                       right["params"]["blocks"][name], atol=1e-5)
        print(plan, {name: program.layouts[f"blocks.{name}"]
                     for name in ("query", "out", "up", "down")}, program.layouts["head.kernel"],
              program.layouts["embed.weight"])
        rows = program.collectives
        count = sum(row.count for row in rows)
        told = repr(rows).splitlines()[0]
        large = sum(row.count for row in rows if row.payload_bytes > 64)
        assert re.match(rf"{large} collectives? a step", told), told
        assert f"{count} collectives of" in repr(program), repr(program)
        print(f"loop collectives: {sorted({row.count for row in rows} - {1})}")
