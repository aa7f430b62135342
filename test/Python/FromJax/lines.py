"""Ops and collectives of a JAX function have the lines and scopes of the user's, in explanations
too, and none of the files that tp.compile makes. A rowwise module asks for its sum. Those in a scan
have them too, and their modules, and what functions of jax.numpy compute there has the line of
their call."""
from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp


def loss(params: Any, x: Any) -> Any:
    up, down = params["up"], params["down"]
    with jax.named_scope("mlp"):
        x = x + jnp.tanh(x @ up["kernel"] + up["bias"]) @ down["kernel"] + down["bias"]  # tanh
    return jnp.sum(jnp.exp(x))


draw = np.random.default_rng(0).standard_normal
params = {"up": {"kernel": draw((8, 16)).astype("f4"), "bias": draw(16).astype("f4")},
          "down": {"kernel": draw((16, 8)).astype("f4"), "bias": draw(8).astype("f4")}}
x = draw((4, 8)).astype("f4")
with open(__file__, encoding="utf-8") as file:
    line = next(i for i, text in enumerate(file, 1) if text.endswith("# tanh\n"))

model = tp.export_jax(jax.grad(loss), (params, x), parameters="params")
names = set(re.findall(r'loc\("(lines[^"]*)"\)', model.mlir))
for name in (f"lines.py:{line} mlp/tanh", f"lines.py:{line} bwd:mlp/mul"):
    assert name in names, sorted(names)
with tp.compile(model, plan="auto", mesh=4) as program:
    explained = program.explain()
places = re.findall(r"(?:^\w+ over tp at|^  for \S+ at) (.*?)(?:: f32.*)?$", explained, re.MULTILINE)
assert len(places) > 1, explained
wrong = [place for place in places if "lines.py:" not in place]
assert not wrong and ".mlir" not in explained, explained
print(f"{len(places) > 1} lines")

forward = tp.export_jax(lambda params, x: jnp.tanh(x @ params["up"]["kernel"] + params["up"]["bias"])
                        @ params["down"]["kernel"] + params["down"]["bias"], (params, x), parameters=0)
with tp.compile(forward, plan={"up": "colwise", "down": "rowwise"}, mesh=4) as program:
    explained = program.explain()
print(re.search(r"^all_reduce.*", explained, re.MULTILINE)[0])


def layer(x: Any, w: Any) -> Any:
    h = jnp.tanh(x @ w["up"]) @ w["down"]  # products
    return x + jnp.where(x > 0, h, 0.0), None  # where


with open(__file__, encoding="utf-8") as file:
    own = {text.split("# ")[-1].strip(): number for number, text in enumerate(file, 1)
           if text.startswith("    ") and "  # " in text}
stack = {"up": draw((300, 8, 16)).astype("f4"), "down": draw((300, 16, 8)).astype("f4")}
scanned = tp.export_jax(jax.grad(lambda w, x: lax.scan(layer, x, w)[0].sum()), (stack, x),
                        parameters=0)
names = set(re.findall(r'loc\("(lines[^"]*)"\)', scanned.mlir))
for name in (f"lines.py:{own['products']} dot_general", f"lines.py:{own['products']} bwd:mul",
             f"lines.py:{own['where']}"):
    assert name in names, sorted(names)
with tp.compile(scanned, plan={"up": "colwise", "down": "rowwise"}, mesh=2) as program:
    for row in program.collectives:
        print(row.kind, row.count, row.location.replace(str(own["products"]), "PRODUCTS"))

# A layer is taken out of a stack by a slice, in a loop that stays one and in one that is unrolled.
for depth in (300, 3):
    part = {name: array[:depth] for name, array in stack.items()}
    modules = tp.export_jax(jax.grad(lambda w, x: lax.scan(layer, x, w["mlp"])[0].sum()),
                            ({"mlp": part}, x), parameters=0)
    with tp.compile(modules, plan={"mlp.up": "colwise", "mlp.down": "rowwise"}, mesh=2) as program:
        print(f"{depth} layers:", *((row.count, row.module) for row in program.collectives))


def talkative(x: Any) -> Any:
    raise ValueError(f"got {'1, ' * 9000}")


try:
    tp.export_jax(talkative, (x,))
except tp.ExportError as error:
    print(len(str(error)) < 1000, str(error)[-24:])
