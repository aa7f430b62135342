"""Products by the algorithms of XLA that jax.nn and `precision=` ask for, on two ranks. Of what
narrows f32 the numbers are the specification's, which XLA does not keep to on processors.
"""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import tp

RANDOM = np.random.default_rng(0)


def run(function: Any, *args: Any) -> Any:
    model = tp.export_jax(function, ((), *args), parameters=0)
    with tp.compile(model, plan="auto", mesh={"tp": 2}) as program:
        return np.asarray(program(*args)).astype("f8")


def attention(w: Any, q: Any, k: Any) -> Any:
    """Of bf16, whose scores are f32."""
    return jax.nn.dot_product_attention(q, k, k, is_causal=True)


def main() -> None:
    q = RANDOM.standard_normal((2, 6, 4, 8)).astype(ml_dtypes.bfloat16)
    for heads in 4, 2:
        right = np.asarray(attention(None, q, q[:, :, :heads])).astype("f8")
        error = np.abs(run(attention, q, q[:, :, :heads]) - right).max()
        print(f"attention of {heads} heads: {'equal' if error < 0.02 else error}")
    x = RANDOM.standard_normal((8, 16)).astype("f4")
    narrow = x.astype(ml_dtypes.bfloat16).astype("f8")
    for name, right in (("BF16_BF16_F32", narrow), ("BF16_BF16_F32_X3", x), ("F32_F32_F32", x)):
        got = run(lambda _, a, b, name=name: jnp.matmul(a, b, precision=name), x, x.T)
        error = np.abs(got - right.astype("f8") @ right.T.astype("f8")).max()
        print(f"{name}: {'equal' if error < 1e-4 else error}")


if __name__ == "__main__":
    main()
