"""What the expressions of export-jax-errors.cases may use."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp


def names() -> dict[str, Any]:
    """The names."""
    def product(kernel: Any, **options: Any) -> tp.Model:
        return tp.export_jax(lambda params, x: x @ params["up"]["kernel"],
                             ({"up": {"kernel": kernel}}, jnp.ones((2, 4))), **options)

    def counted(count: Any, **options: Any) -> tp.Model:
        return tp.export_jax(lambda count, x: (count + 1, x), (count, jnp.ones(4)), updates={0: 0},
                             **options)
    return {"jax": jax, "jnp": jnp, "np": np, "tp": tp, "x": jnp.ones(4),
            "up": product(np.ones((4, 8), "f4"), parameters=0), "product": product,
            "counted": counted, "P": jax.sharding.PartitionSpec,
            "export": lambda function, *args: tp.export_jax(function, args)}
