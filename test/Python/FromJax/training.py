"""Trains a language model of JAX on 1, 2 and 3 ranks, whose step feeds the next one on the ranks.

The gradient of the loss writes at the places of tokens and labels; the weights are tied.
"""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp

VOCABULARY, WIDTH, STEPS = 33, 12, 5
PLAN = {"layers.*.up": "colwise", "layers.*.down": "rowwise"}
DRAW = np.random.default_rng(0)


def numbers(*shape: int) -> Any:
    return (DRAW.standard_normal(shape) * 0.3).astype("f4")


def loss(params: Any, tokens: Any) -> Any:
    x = params["embed"]["weight"][tokens[:, :-1]]
    for layer in params["layers"]:
        x = x + jnp.tanh(x @ layer["up"]["weight"]) @ layer["down"]["weight"]
    logs = jax.nn.log_softmax(x @ params["embed"]["weight"].T)
    return -jnp.mean(jnp.take_along_axis(logs, tokens[:, 1:, None], -1))


def step(params: Any, moments: Any, tokens: Any) -> dict[str, Any]:
    """One step of SGD with momentum."""
    value, gradients = jax.value_and_grad(loss)(params, tokens)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
    params = jax.tree.map(lambda p, m: p - 0.1 * m, params, moments)
    return {"params": params, "moments": moments, "loss": value}


params = {"embed": {"weight": numbers(VOCABULARY, WIDTH)},
          "layers": [{"up": {"weight": numbers(WIDTH, 24)}, "down": {"weight": numbers(24, WIDTH)}}
                     for _ in range(2)]}
moments = jax.tree.map(np.zeros_like, params)
tokens = DRAW.integers(0, VOCABULARY, (STEPS, 2, 7)).astype("i4")
model = tp.export_jax(step, (params, moments, tokens[0]), parameters="params",
                      optimizer_state="moments", updates={"params": "params", "moments": "moments"})
print(model)

expected, right = [], {"params": params, "moments": moments}
for batch in tokens:
    right = jax.jit(step)(right["params"], right["moments"], batch)
    expected.append(float(right["loss"]))
for ranks, plan in (1, "auto"), (2, PLAN), (3, "auto"), (3, PLAN):
    with tp.compile(model, plan=plan, mesh=ranks) as program:
        losses = [float(program(batch)) for batch in tokens]
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
        # The loss alone: all others are written in place.
        assert program.memory["results"] == 4, program.memory
        for name, tree in (("", "params"), ("opt_moments:", "moments")):
            for leaf, value in (("embed.weight", right[tree]["embed"]["weight"]),
                                ("layers.1.up.weight", right[tree]["layers"][1]["up"]["weight"])):
                np.testing.assert_allclose(program.state[name + leaf], value, atol=1e-5)
    print(f"{STEPS} steps on {ranks}: equal")
