"""Weights that are stacked over layers are split however the layers are read: by a scan, by index,
the first ones alone, in groups, by scans in each other; where they are computed from parameters,
or in another order; unrolled, and in loops that stay loops.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tp
from jax_results import compare

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((6, 16)).astype(np.float32)
PLANS: dict[str, Any] = {"auto": "auto", "by hand": {"up": "colwise", "down": "rowwise"},
                         "transformer": "transformer"}


def layer(x: Any, w: Any) -> Any:
    """Of a network, with its own weights."""
    return x + jnp.tanh(x @ w["up"]) @ w["down"], None


def grouped(w: Any) -> Any:
    """Layers in two groups."""
    return jax.tree.map(lambda a: a.reshape(2, len(a) // 2, *a.shape[1:]), w)


def scan(w: Any, x: Any) -> Any:
    """All layers."""
    return lax.scan(layer, x, w)[0]


def index(w: Any, x: Any) -> Any:
    """By the number of an iteration."""
    return lax.fori_loop(0, len(w["up"]), lambda i, x: layer(
        x, jax.tree.map(lambda a: a[i], w))[0], x)


def first(w: Any, x: Any) -> Any:
    """All layers but the last."""
    return scan(jax.tree.map(lambda a: a[:-1], w), x)


def groups(w: Any, x: Any) -> Any:
    """A scan of scans."""
    return lax.scan(lambda x, group: (scan(group, x), None), x, grouped(w))[0]


def of_each(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """All layers of what the function makes of each stack."""
    def run(w: Any, x: Any) -> Any:
        return scan(jax.tree.map(function, w), x)
    run.__name__ = function.__name__
    return run


def backwards(a: Any) -> Any:
    """The last layer first."""
    return a[::-1]


def scaled(a: Any) -> Any:
    """By one number."""
    return a * 0.5


def masked(a: Any) -> Any:
    """Without small numbers."""
    return jnp.where(jnp.abs(a) > 0.01, a, 0.0)


def normalized(a: Any) -> Any:
    """Layers of one norm."""
    return a / (1.0 + jnp.sqrt(jnp.sum(a * a, axis=(1, 2), keepdims=True)))


def chosen(a: Any) -> Any:
    """In another order."""
    return jnp.take(a, np.roll(np.arange(len(a)), 3)[::-1].copy(), axis=0)


def joined(a: Any) -> Any:
    """Of two parts."""
    return jnp.concatenate([a[2:], a[:2]])


def rolled(a: Any) -> Any:
    """By one layer."""
    return jnp.roll(a, 1, 0)


def low_rank(w: Any, x: Any) -> Any:
    """With a product of two small matrices added to the weights of up."""
    return scan({"up": w["up"] + 0.5 * (w["columns"] @ w["rows"]), "down": w["down"]}, x)


DERIVED = *map(of_each, (backwards, scaled, masked, normalized, chosen, joined, rolled)), low_rank


def check(function: Callable[[Any, Any], Any], length: int) -> None:
    """Runs on 2 ranks under each plan; prints the layouts, which have to be those of all."""
    weights = {"up": RANDOM.standard_normal((length, 16, 32)).astype(np.float32) * 0.02,
               "down": RANDOM.standard_normal((length, 32, 16)).astype(np.float32) * 0.02}
    if function is low_rank:
        weights["columns"] = RANDOM.standard_normal((length, 16, 2)).astype(np.float32) * 0.02
        weights["rows"] = RANDOM.standard_normal((length, 2, 32)).astype(np.float32) * 0.02
    model = tp.export_jax(function, (weights, X), parameters=0)
    right = np.asarray(function(jax.tree.map(jnp.asarray, weights), X))
    found = set()
    for plan in PLANS.values():
        with tp.compile(model, plan=plan, mesh={"tp": 2}) as program:
            compare(model.results, program(X), [right], 1e-4)
            kinds = sorted({row.kind for row in program.collectives} - {"reduce_scatter"})
            found.add(f"{program.layouts['up']}, {program.layouts['down']}, {kinds}")
    print(f"{function.__name__} of {length}: {', or '.join(found)}", flush=True)


def main() -> None:
    for function in scan, index, first, groups, *DERIVED:
        check(function, 4)
    for function in index, first, groups, *DERIVED:
        check(function, 400)


if __name__ == "__main__":
    main()
