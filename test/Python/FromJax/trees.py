"""Programs of JAX are called with trees and get their weights from trees, in JAX's order."""
from __future__ import annotations

import collections
import sys
import warnings
from typing import Any

import jax
import numpy as np

import tp

Batch = collections.namedtuple("Batch", ["zeros", "ones"])


def function(params: Any, batch: Any, pair: Any, scale: Any) -> Any:
    return (batch.zeros @ params["layers"][1]["w"] + batch.ones @ params["layers"][0]["w"]
            + params["b"] + pair[0] - 2 * pair[1]) * scale


draw = np.random.default_rng(0).standard_normal
array = lambda *shape: draw(shape).astype("f4")  # noqa: E731
params = {"layers": [{"w": array(4, 4)}, {"w": array(4, 4)}], "b": array(4)}
batch, pair, scale = Batch(array(2, 4), array(2, 4)), (array(2, 4), array(2, 4)), np.float32(2)
model = tp.export_jax(function, (params, batch, pair, scale), parameters=0)
program = tp.compile(model, plan="auto", mesh=2)
assert program.input_names == ["batch.zeros", "batch.ones", "pair.0", "pair.1", "scale"]
right = function(params, batch, pair, scale)
for result in (program(batch, pair, scale), program(*batch, *pair, scale),
               program(batch=batch, pair=pair, scale=scale), program(batch, pair=pair, scale=scale)):
    np.testing.assert_allclose(result, right, atol=1e-5)

# Weights are the tree that the function takes.
program.save(sys.argv[1])
other = jax.tree.map(lambda leaf: leaf + 1, params)
for weights in other, [other]:
    with tp.load(sys.argv[1], weights=weights) as loaded:
        np.testing.assert_allclose(loaded(batch, pair, scale),
                                   function(other, batch, pair, scale), atol=1e-4)


def message(*inputs: Any) -> str:
    try:
        program(*inputs)
    except tp.RunError as error:
        return str(error)
    return "no exception"


assert message(params, batch, pair, scale) == (
    "the program has 'b', 'layers.0.w', 'layers.1.w' on its ranks: leave them out of the call, "
    "program(batch.zeros, batch.ones, pair.0, pair.1, scale); other values come by tp.load(path, "
    "weights=tree) or program.state[name] = array"), message(params, batch, pair, scale)
assert message({"zeros": 1, "twos": 2}) == (
    "expected arrays for 'batch.zeros', 'batch.ones', 'pair.0', 'pair.1', 'scale', got a tree of "
    "'twos', 'zeros'"), message({"zeros": 1, "twos": 2})
# A list of rows is an array still.
rows = tp.compile(tp.export_jax(lambda w, x: x * w, (array(4), array(2, 4)), parameters=0))
np.testing.assert_allclose(rows([batch.zeros[0], batch.zeros[1]]),
                           batch.zeros * rows.state["w"], atol=1e-6)
print("4 calls, 2 loads")

# Results of a dict or a named tuple are fields of one.
for of_dict in (True, False):
    pick = lambda x: {"zeros": x, "ones": x + 1} if of_dict else Batch(x, x + 1)  # noqa: B023, E731
    with tp.compile(tp.export_jax(pick, (pair[0],))) as both:
        results = both(pair[0])
        print(results._fields)
        jax.tree.map(np.testing.assert_array_equal, results._asdict(), {
            "zeros": pair[0], "ones": pair[0] + 1})
        assert jax.tree.map(np.shape, results).ones == (2, 4)

# Tokens in place of weights, by a wrong position, or beside them. Indices in a tree of weights are
# as likely to be meant.
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for position in (0, 1, (0, 1)):
        tp.export_jax(lambda params, tokens: params["embedding"][tokens],
                      ({"embedding": array(4, 8)}, np.ones(3, "i4")), parameters=position)
    tp.export_jax(lambda params: params["embedding"][params["of_rows"]],
                  ({"embedding": array(4, 8), "of_rows": np.ones(3, "i4")},), parameters=0)
assert [str(each.message) for each in told] == [
    "parameters: nothing but integers in 'tokens: i32[3]', and every call is to give "
    "'params.embedding: f32[4, 8]': write parameters='params' if these are the weights",
    "parameters: 'tokens: i32[3]' is an array of integers, which calls do not give: leave 'tokens' out "
    "of parameters if it is an input, and name it in state if steps count by it"], told
assert (told[0].category, told[0].filename) == (tp.ExportWarning, __file__), told[0]
