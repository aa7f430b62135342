"""What a program returns, held against what JAX returns."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


def leaves(returned: Any) -> list[Any]:
    """The arrays of a tree."""
    return [np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(returned)]


def compare(ports: Sequence[Any], returned: Any, right: Sequence[Any], tolerance: float) -> None:
    """Raises AssertionError unless the arrays have JAX's types, shapes and numbers: integers and
    bits the same, floats within the tolerance, absolute and relative."""
    results = leaves(returned)
    assert len(results) == len(right)
    for port, result, expected in zip(ports, results, right):
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), port.name
        if expected.dtype.kind in "iub":
            np.testing.assert_array_equal(result, expected, err_msg=port.name)
        else:
            np.testing.assert_allclose(result.astype("f8"), expected.astype("f8"), rtol=tolerance,
                                       atol=tolerance, err_msg=port.name)
