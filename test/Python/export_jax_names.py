"""What the expressions of export-jax-errors.cases may use."""
from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tp


def names() -> dict[str, Any]:
    """The names."""
    return {"jax": jax, "jnp": jnp, "np": np, "tp": tp, "x": jnp.ones(4),
            "export": lambda function, *args: tp.export_jax(function, args)}
