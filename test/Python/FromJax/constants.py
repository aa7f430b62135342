"""Arrays that a JAX function closes over, of few and of many elements: jaxlib writes those of more
than a hundred in hexadecimal digits, and bits otherwise than tp reads them."""
from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import tp
from jax_results import compare, leaves

DRAW = np.random.default_rng(0)
X = DRAW.standard_normal((2, 40, 40)).astype("f4")
BITS = [DRAW.integers(0, 2, shape).astype(bool) for shape in (
    (), (0,), (7,), (8,), (100,), (101,), (104,), (11, 11), (3, 5, 7), (40, 40))]
BITS += [np.tri(40, dtype=bool), np.ones((40, 40), bool), np.arange(201) < 200, np.arange(200) < 1]
OTHERS = [(DRAW.standard_normal((2, 40)) * 50).astype(dtype) for dtype in (
    np.int8, np.float16, ml_dtypes.bfloat16, np.uint32)]


def masked(x: Any, number: Any) -> Any:
    """Results of every constant; one of bits alone."""
    array = jnp.asarray(BITS[9])
    selected = [jnp.where(bits, x.reshape(-1)[:bits.size].reshape(bits.shape), number)
                for bits in BITS]
    return selected, [x[0, 0] * each.astype("f4") for each in OTHERS], array & (x[0] > 0)


model = tp.export_jax(masked, (X, np.float32(2)), parameters="x")
right = leaves(jax.jit(masked)(X, np.float32(2)))
for ranks in (1, 2, 3, 4):
    with tp.compile(model, plan="auto", mesh=ranks) as program:
        compare(model.results, program(np.float32(2)), right, 0)
print(f"{len(BITS) + len(OTHERS)} constants on 1, 2, 3, 4 ranks: equal")

quarter = np.arange(120).astype(ml_dtypes.int4)
model = tp.export_jax(lambda x: x * jnp.asarray(quarter).astype("f4"), (X.reshape(-1)[:120],),
                      parameters="x")
try:
    tp.compile(model, mesh=1)
except tp.CompileError as error:
    print("of 4 bits:", re.sub(r"(constants.py):\d+", r"\1:LINE", str(error)))
