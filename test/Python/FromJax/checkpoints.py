"""Steps through layers of JAX that jax.checkpoint wraps: the gradients are JAX's, and a step takes
less memory than without it. Once for each way in which JAX writes the second computation: layers in
a row, a policy, a checkpoint in a checkpoint, dropout, and scans that are unrolled and that stay
loops.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp

DRAW = np.random.default_rng(0)
ROWS, WIDTH, HIDDEN = 24, 12, 48
PLAN: dict[str, Any] = {"layers.*.up": "colwise", "layers.*.down": "rowwise"}
STACKED = {"argument layers.up.weight": tp.Shard(2), "argument layers.up.bias": tp.Shard(1),
           "argument layers.down.weight": tp.Shard(1)}
Wrap = Callable[[Any], Any]


def numbers(*shape: int) -> Any:
    return (DRAW.standard_normal(shape) * 0.3).astype("f4")


def layer(w: Any, x: Any) -> Any:
    """A feed-forward block of [ROWS, WIDTH] to the same."""
    hidden = jax.nn.gelu(jnp.sin(x @ w["up"]["weight"] + w["up"]["bias"]) * 2)
    return x + jnp.tanh(hidden @ w["down"]["weight"])


def in_a_row(wrap: Wrap, params: Any, x: Any) -> Any:
    """The loss of layers that are called one by one."""
    for w in params["layers"]:
        x = wrap(layer)(w, x)
    return jnp.mean(x * x)


def nested(wrap: Wrap, params: Any, x: Any) -> Any:
    """The same; two layers at a time are computed again, and each of them once more."""
    def pair(ws: Any, x: Any) -> Any:
        for w in ws:
            x = wrap(layer)(w, x)
        return x
    for i in range(0, len(params["layers"]), 2):
        x = wrap(pair)(params["layers"][i:i + 2], x)
    return jnp.mean(x * x)


def scanned(wrap: Wrap, params: Any, x: Any) -> Any:
    """The same as a scan over stacked weights."""
    x, _ = jax.lax.scan(lambda x, w: (wrap(layer)(w, x), None), x, params["layers"])
    return jnp.mean(x * x)


def dropped(wrap: Wrap, params: Any, x: Any) -> Any:
    """The same as `in_a_row` with dropout, whose keys are computed from the layer's number."""
    def block(number: int, w: Any, x: Any) -> Any:
        key = jax.random.fold_in(jax.random.PRNGKey(3), number)
        return layer(w, jnp.where(jax.random.bernoulli(key, 0.8, x.shape), x / 0.8, 0))
    for i, w in enumerate(params["layers"]):
        x = wrap(partial(block, i))(w, x)
    return jnp.mean(x * x)


def memory(loss: Any, wrap: Wrap, params: Any, x: Any, plan: Any) -> int:
    """Compares a step's gradients with JAX's; returns the bytes of its arena, and of what loops
    carry."""
    step = jax.value_and_grad(partial(loss, wrap))
    model = tp.export_jax(step, (params, x), parameters="params")
    right = jax.tree_util.tree_leaves(jax.jit(step)(params, x))
    with tp.compile(model, plan=plan, mesh=3) as program:
        for port, result, expected in zip(model.results, program(x), right):
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5, err_msg=port.name)
        return program.memory["arena"] + program.memory.get("carried by loops", 0)


def compare(name: str, loss: Any, layers: Any, wrap: Wrap = jax.checkpoint,
            plan: dict[str, Any] = PLAN) -> None:
    params, x = {"layers": layers}, numbers(ROWS, WIDTH)
    sizes = [memory(loss, each, params, x, plan) for each in (lambda f: f, wrap)]
    print(f"{name}:", "less memory" if sizes[1] < 0.8 * sizes[0] else sizes)


LAYERS = [{"up": {"weight": numbers(WIDTH, HIDDEN), "bias": numbers(HIDDEN)},
           "down": {"weight": numbers(HIDDEN, WIDTH)}} for _ in range(6)]
compare("in a row", in_a_row, LAYERS)
compare("policy", in_a_row, LAYERS, partial(
    jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable))
compare("nested", nested, LAYERS)
compare("dropout", dropped, LAYERS)
for length in (4, 40):
    few = [jax.tree.map(lambda w: 0.3 * w, LAYERS[i % 6]) for i in range(length)]
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *few)
    compare(f"scan of {length}", scanned, stacked, plan=STACKED)

# What is computed again is no block of its own.
model = tp.export_jax(jax.grad(partial(scanned, jax.checkpoint)),
                      ({"layers": stacked}, numbers(ROWS, WIDTH)), parameters="params")
with tp.compile(model, plan="transformer", mesh=2) as program:
    print("transformer:", program.layouts["layers.up.weight"])
