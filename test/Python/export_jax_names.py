"""What the expressions of export-jax-errors.cases may use."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp


def names() -> dict[str, Any]:
    """The names."""
    up = tp.export_jax(lambda params, x: x @ params["up"]["kernel"],
                       ({"up": {"kernel": np.ones((4, 8), "f4")}}, jnp.ones((2, 4))), parameters=0)
    return {"jax": jax, "jnp": jnp, "np": np, "tp": tp, "x": jnp.ones(4), "up": up,
            "P": jax.sharding.PartitionSpec,
            "export": lambda function, *args: tp.export_jax(function, args)}
