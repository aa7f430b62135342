"""A step of JAX whose dropout takes a key from the step before it: with a first value from the export,
from the first call or from `program.state`; later calls by position leave it out."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp

DRAW = np.random.default_rng(0)
KEY = np.asarray(jax.random.key_data(jax.random.key(7)))
X, RATE = DRAW.standard_normal((4, 6)).astype("f4"), np.float32(0.1)
PARAMS = {"up": {"kernel": DRAW.standard_normal((6, 12)).astype("f4") / 3},
          "down": {"kernel": DRAW.standard_normal((12, 6)).astype("f4") / 3}}
UPDATES = {"params": "params", "key": "key"}


def step(params: Any, key: Any, batch: Any, rate: Any) -> dict[str, Any]:
    mine, following = jax.random.split(jax.random.wrap_key_data(key))

    def loss(params: Any) -> Any:
        hidden = jnp.tanh(batch["x"] @ params["up"]["kernel"])
        kept = jax.random.bernoulli(mine, 0.7, hidden.shape)
        return jnp.mean((jnp.where(kept, hidden, 0) @ params["down"]["kernel"]) ** 2)
    value, gradients = jax.value_and_grad(loss)(params)
    params = jax.tree.map(lambda p, g: p - rate * g, params, gradients)
    return {"params": params, "key": jax.random.key_data(following), "loss": value}


def expected(count: int) -> list[float]:
    right: dict[str, Any] = {"params": PARAMS, "key": KEY}
    losses = []
    for _ in range(count):
        right = jax.jit(step)(right["params"], right["key"], {"x": X}, RATE)
        losses.append(float(right["loss"]))
    return losses


RIGHT = expected(4)
EXPORT: dict[str, Any] = {"parameters": "params", "updates": UPDATES}
ARGS = (PARAMS, KEY, {"x": X}, RATE)
model, known = tp.export_jax(step, ARGS, **EXPORT), tp.export_jax(step, ARGS, **EXPORT, state="key")
PLAN = {"up": "colwise", "down": "rowwise"}
for ranks in (1, 2, 3, 4):
    with tp.compile(known, plan=PLAN, mesh=ranks) as program:
        assert program.input_names == ["batch.x", "rate"], program.input_names
        np.testing.assert_allclose([program(X, RATE) for _ in range(4)], RIGHT, rtol=1e-5)
    with tp.compile(model, plan=PLAN, mesh=ranks) as program:
        assert program.input_names == ["key", "batch.x", "rate"], program.input_names
        losses = [program(KEY, X, RATE), program(X, RATE), program({"x": X}, rate=RATE),
                  program(rate=RATE, batch={"x": X})]
        np.testing.assert_allclose(losses, RIGHT, rtol=1e-5)
print("4 steps on 1, 2, 3, 4 ranks: equal")


def last(params: Any, seen: Any, x: Any) -> dict[str, Any]:
    """A state that no step reads: the caller does."""
    return {"sum": (params["w"] * x).sum(), "seen": x}


unread = tp.export_jax(last, ({"w": X}, np.zeros_like(X), X), parameters=0, optimizer_state="seen",
                       updates={"seen": "seen"})
for ranks in (1, 2):
    with tp.compile(unread, plan="auto", mesh=ranks) as program:
        np.testing.assert_array_equal(program.state["seen"], np.zeros_like(X))
        program(X)
        np.testing.assert_array_equal(program.state["seen"], X)
print("a state that no step reads on 1, 2 ranks: kept")


def message(program: tp.Program, *inputs: Any, **named: Any) -> str:
    try:
        return f"no exception: {program(*inputs, **named)}"
    except tp.RunError as error:
        return str(error)


# Without a first value, the messages name what lacks one, however the rest is given.
FIRST = ("expected 3 inputs ('key', 'batch.x', 'rate'), got 2: 'key: u32[2]' is missing: steps update "
         "it, and it has no first value: give it in the first call, write program.state['key'] = "
         "array, or export with tp.export_jax(..., state='key')")
GIVEN: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((X, RATE), {}), (({"x": X}, RATE), {}), ((X,), {"rate": RATE}),
    ((), {"rate": RATE, "batch": {"x": X}}))
with tp.compile(model, plan=PLAN, mesh=2) as program:
    for inputs, named in GIVEN:
        assert message(program, *inputs, **named) == FIRST, message(program, *inputs, **named)
    program.state["key"] = KEY
    np.testing.assert_allclose([program(*inputs, **named) for inputs, named in GIVEN], RIGHT,
                               rtol=1e-5)
    # Given again, by position or by name; every mistake is about the inputs that it is in.
    np.testing.assert_allclose(program(program.state["key"], X, RATE), expected(5)[4], rtol=1e-5)
    program(X, RATE, key=KEY)
    for inputs, named, text in (
            ((X,), {}, "expected 3 inputs ('key', 'batch.x', 'rate'), got 1: 'rate: f32[]' is missing"),
            ((X,), {"key": KEY}, "expected 3 inputs ('key', 'batch.x', 'rate'), got 2: 'rate: f32[]' "
                                 "is missing"),
            ((KEY, X, RATE), {"rate": RATE}, "input 'rate' is given twice: by position and by name"),
            ((KEY, X, RATE, X), {}, "expected 3 inputs ('key', 'batch.x', 'rate'), got 4")):
        assert message(program, *inputs, **named) == text, message(program, *inputs, **named)
with tp.compile(model, plan=PLAN, mesh=2) as program:
    losses = [program(X, RATE, key=KEY), *(program(X, RATE) for _ in range(3))]
    np.testing.assert_allclose(losses, RIGHT, rtol=1e-5)

moments = jax.tree.map(np.zeros_like, {"mu": PARAMS, "nu": PARAMS})
forgotten = tp.export_jax(lambda params, state, x: (params, jax.tree.map(lambda m: m + x, state), x),
                          (PARAMS, moments, RATE), parameters=0, updates={0: 0, 1: 1})
with tp.compile(forgotten) as program:
    print("forgotten:", message(program, RATE).partition("are missing: ")[2])

# Each moment and its next value have a name of their own, that of `program.state`.
adam = tp.export_jax(lambda params, state, x: (params, jax.tree.map(lambda m: m + x, state), x),
                     (PARAMS, moments, RATE), parameters=0, optimizer_state=1, updates={0: 0, 1: 1})
print(*adam.arguments, sep=", ")
print(*adam.results, sep=", ")
