"""What steps of train.mlir compute, by numpy."""
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tp


def check_steps(program: tp.Program, weight: np.ndarray, cache: np.ndarray,
                steps: Sequence[np.ndarray]) -> np.ndarray:
    """Runs the steps, each of which updates the weight [6, 10] and the cache [4, 10] that the ranks
    begin with; `step` begins at 7. Returns the cache after the last one."""
    for number, x in enumerate(steps):
        y = x @ weight
        cache = y + cache
        weight = weight - x.T @ y
        np.testing.assert_allclose(program(x), cache, rtol=1e-5, atol=1e-5)
        assert program.state["step"] == 8 + number
    np.testing.assert_allclose(program.state["up.weight"], weight, rtol=1e-5, atol=1e-5)
    return cache
