"""Training steps with jax.jit around them and in them: the numbers are JAX's, and modules,
collectives and memory are those of the same step without it."""
from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp

DRAW = np.random.default_rng(0)
Function = Callable[..., Any]
Wrap = Callable[[Function], Function]
PLAN = {"embed": "rowwise", "layers.*.up": "colwise", "layers.*.down": "rowwise"}
STACKED = {"embed": "rowwise", "argument layers.up.kernel": tp.Shard(2),
           "argument layers.up.bias": tp.Shard(1), "argument layers.down.kernel": tp.Shard(1)}


def numbers(*shape: int) -> Any:
    return (DRAW.standard_normal(shape) * 0.3).astype("f4")


def plain(function: Function) -> Function:
    return function


def layer(product: Function, w: Any, x: Any, act: str) -> Any:
    with jax.named_scope("mlp"):
        hidden = jnp.tanh(product(x, w["up"]["kernel"]) + w["up"]["bias"])  # PRODUCT
        assert act == "tanh"
        return x + jnp.where(hidden > -9, hidden, 0) @ w["down"]["kernel"]  # WHERE


def in_a_row(layer: Function, params: Any, tokens: Any) -> Any:
    x = jnp.take(params["embed"]["embedding"], tokens, axis=0)
    for w in params["layers"]:
        x = layer(w, x, act="tanh")
    return x


def scanned(layer: Function, params: Any, tokens: Any) -> Any:
    x = jnp.take(params["embed"]["embedding"], tokens, axis=0)
    return jax.lax.scan(lambda x, w: (layer(w, x, act="tanh"), None), x, params["layers"])[0]


def step(of_loss: Wrap = plain, of_forward: Wrap = plain, of_layer: Wrap = plain,
         of_product: Wrap = plain, forward: Function = in_a_row) -> Function:
    """A step of SGD with its parts wrapped."""
    whole = of_forward(partial(forward, of_layer(partial(layer, of_product(jnp.matmul)))))
    loss = of_loss(lambda params, tokens: jnp.mean(whole(params, tokens) ** 2))

    def step(params: Any, tokens: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, tokens)
        return {"params": jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), "loss": value}
    return step


def rows(around: Wrap, inside: Wrap) -> Wrap:
    """A layer that computes the rows of a batch."""
    return lambda layer: lambda w, x, act: around(
        jax.vmap(inside(partial(layer, act=act)), (None, 0)))(w, x)


def with_gradient(around: Wrap, inside: Wrap) -> Wrap:
    """A product with a gradient of its own."""
    def of(product: Function) -> Function:
        own = jax.custom_vjp(inside(product))
        own.defvjp(inside(lambda x, w: (x @ w, (x, w))), inside(
            lambda kept, g: (0.5 * g @ kept[1].T, jnp.einsum("...i,...j->ij", kept[0], g))))
        return around(own)
    return of


def checkpointed(around: Wrap, inside: Wrap) -> Wrap:
    return lambda layer: lambda w, x, act: around(
        jax.checkpoint(inside(partial(layer, act=act))))(w, x)


def compiled(function: Function, ranks: int, params: Any, plan: Any) -> Any:
    """The collectives, the modules of ops and the memory of a step whose numbers are JAX's."""
    model = tp.export_jax(function, (params, TOKENS), parameters="params",
                          updates={"params": "params"})
    jitted = jax.jit(function)
    with tp.compile(model, plan=plan, mesh=ranks) as program:
        right = params
        for _ in range(2):
            value, returned = program(TOKENS), jitted(right, TOKENS)
            right = returned["params"]
            np.testing.assert_allclose(value, returned["loss"], rtol=1e-5)
        for name, leaf in zip(program.state, jax.tree.leaves(right), strict=True):
            np.testing.assert_allclose(program.state[name], leaf, atol=1e-5, err_msg=name)
        return ([(row.kind, row.count, row.module) for row in program.collectives],
                sorted(re.findall(r'loc\("([\w.:]+)"\("jits', model.mlir)), program.memory.total)


def compare(name: str, function: Function, ranks: tuple[int, ...], params: Any, plan: Any,
            without: Function) -> None:
    for each in ranks:
        key = (without, each)
        if key not in FOUND:
            FOUND[key] = compiled(without, each, params, plan)
        mine, its = compiled(function, each, params, plan), FOUND[key]
        assert mine == its, f"{name} on {each}:\n{mine}\nwithout it:\n{its}"
    print(f"{name}: the same on {', '.join(map(str, ranks))}", flush=True)


FOUND: dict[tuple[Function, int], Any] = {}
UNWRAPPED = step()
jit, static = jax.jit, partial(jax.jit, static_argnames="act")
TOKENS = DRAW.integers(0, 19, (2, 6)).astype("i4")
LAYERS = [{"up": {"kernel": numbers(12, 24), "bias": numbers(24)},
           "down": {"kernel": numbers(24, 12)}} for _ in range(3)]
params = {"embed": {"embedding": numbers(19, 12)}, "layers": LAYERS[:2]}
found = FOUND[UNWRAPPED, 2] = compiled(UNWRAPPED, 2, params, PLAN)
print(f"without: {len(found[0])} collectives", flush=True)
assert set(found[1]) == {"embed", *(f"{back}layers.{i}.{name}" for i in range(2)
                                    for back in ("", "bwd:") for name in ("up", "down"))}
for name, function, ranks, without in (
        ("around everything", jit(step(), donate_argnums=0), (2,), UNWRAPPED),
        ("of the loss", step(of_loss=jit), (3,), UNWRAPPED),
        ("of forward", step(of_forward=jit), (4,), UNWRAPPED),
        ("of each layer", step(of_layer=static), (2,), UNWRAPPED),
        ("of products", step(of_product=jit), (3,), UNWRAPPED),
        ("everywhere", jit(jit(step(jit, jit, static, jit))), (1, 2, 3, 4), UNWRAPPED),
        ("of vmap, in vmap", step(of_layer=rows(jit, jit)), (2,),
         step(of_layer=rows(plain, plain))),
        ("around and in a gradient of its own", step(of_product=with_gradient(jit, jit)), (3,),
         step(of_product=with_gradient(plain, plain))),
        ("around and in checkpoint", step(of_layer=checkpointed(jit, jit)), (2,),
         step(of_layer=checkpointed(plain, plain)))):
    compare(name, function, ranks, params, PLAN, without)
for length, ranks in (3, (2,)), (90, (4,)):
    few = [jax.tree.map(lambda w: 0.1 * w, LAYERS[i % 3]) for i in range(length)]
    stacked = {**params, "layers": jax.tree.map(lambda *leaves: np.stack(leaves), *few)}
    compare(f"around and in a scan of {length}",
            jit(step(of_layer=static, of_product=jit, forward=jit(scanned, static_argnums=0))),
            ranks, stacked, STACKED, step(forward=scanned))

# Ops in functions have the lines and scopes that they have without jit; those of functions of
# jax.numpy have the line of their call.
with open(__file__, encoding="utf-8") as file:
    lines = {text.split("# ")[-1].strip(): number for number, text in enumerate(file, 1)}
model = tp.export_jax(jit(step(jit, jit, static)), (params, TOKENS), parameters="params")
places = set(re.findall(r'loc\("(jits[^"]*)"\)', model.mlir))
for place in (f"{lines['PRODUCT']} mlp/tanh", f"{lines['PRODUCT']} bwd:mlp/mul",
              f"{lines['WHERE']} mlp/gt", f"{lines['WHERE']} mlp", f"{lines['WHERE']} bwd:mlp"):
    assert f"jits.py:{place}" in places, sorted(places)
