"""The choice of the next token from its logits."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import RunError
from .prompts import described


class Sampler:
    """Chooses tokens, one at a time.

    Numbers come from a generator of the sampler's own, one for each token: the same seed gives the
    same tokens on every mesh, as far as the logits are the same. Logits of other meshes differ by
    rounding, which changes a token only where its number lies within that of two tokens' border.

    Args:
        temperature: 0 chooses the most probable token; else logits are divided by it.
        top_k: only the `top_k` most probable tokens are chosen from.
        top_p: only the fewest tokens whose probabilities add up to `top_p` or more are.
        seed: of the generator (Philox 4x64), an integer of at least 0.
        row: of the batch. Each row has a generator of its own, so that its tokens are the same
            whatever the others are; row 0 has the one of a single prompt.

    Raises:
        RunError: a value is out of its range, or limits what is drawn where nothing is.
    """

    def __init__(self, temperature: float = 0.0, top_k: int | None = None,
                 top_p: float | None = None, seed: int = 0, row: int = 0) -> None:
        if not _is_number(temperature) or temperature < 0:
            raise RunError(f"temperature: expected a number from 0 on, got {temperature!r}")
        if top_k is not None and (not _is_integer(top_k) or top_k < 1):
            raise RunError(f"top_k: expected an integer from 1 on, or None, got {top_k!r}")
        if top_p is not None and (not _is_number(top_p) or not 0 < top_p <= 1):
            raise RunError(f"top_p: expected a number above 0 and at most 1, or None, got {top_p!r}")
        for name, value in {"top_k": top_k, "top_p": top_p}.items():
            if value is not None and temperature == 0:
                raise RunError(f"{name}: nothing is drawn at temperature 0, which takes the most "
                               "probable token: give a temperature too, such as 1.0")
        if not _is_integer(seed) or seed < 0:
            raise RunError(f"seed: expected an integer from 0 on, got {seed!r}")
        if not _is_integer(row) or row < 0:
            raise RunError(f"row: expected an integer from 0 on, got {row!r}")
        self._temperature = float(temperature)
        self._top_k = top_k
        self._top_p = top_p
        self._seed = seed
        self._numbers = np.random.Generator(np.random.Philox(
            np.random.SeedSequence(seed, spawn_key=(row,) if row else ())))

    def rows(self, count: int) -> list[Sampler]:
        """The samplers of the rows of a batch, with this one's limits and seed."""
        return [Sampler(self._temperature, self._top_k, self._top_p, self._seed, row)
                for row in range(count)]

    def __call__(self, logits: np.ndarray) -> int:
        """The chosen token.

        Args:
            logits: of one sequence, [vocabulary].

        Raises:
            RunError: a logit is NaN, or none is above minus infinity.
        """
        if np.isnan(logits).any() or not np.isfinite(logits).any():
            raise RunError("the logits of the next token hold "
                           f"{'NaN' if np.isnan(logits).any() else 'no finite number'}: the model "
                           "or its weights give no probabilities")
        if self._temperature == 0:
            return int(np.argmax(logits))
        scaled = logits.astype(np.float64) / self._temperature
        # Stable: of equal logits the first token is the first in every order.
        order = np.argsort(-scaled, kind="stable")[:self._top_k]
        weights = np.exp(scaled[order] - scaled[order[0]])
        sums = np.cumsum(weights)
        if self._top_p is not None:
            kept = int(np.searchsorted(sums, self._top_p * sums[-1])) + 1
            order, sums = order[:kept], sums[:kept]
        place = np.searchsorted(sums, self._numbers.random() * sums[-1], side="right")
        return int(order[min(int(place), len(order) - 1)])


def require_sampler(sampler: Any, what: str = "sampler", wanted: Any = Callable) -> None:
    """Refuses what chooses no tokens. `wanted` is the class that it has to be of."""
    if not isinstance(sampler, wanted):
        raise RunError(f"{what}: expected a Sampler, got {described(sampler)}")


def samplers_of(samplers: Any, count: int) -> list[Sampler]:
    """The samplers of so many prompts. Raises RunError where they are others."""
    if not hasattr(samplers, "__iter__"):
        advice = f": give its .rows({count})" if hasattr(samplers, "rows") else ""
        raise RunError("samplers: expected a list with one for each prompt, got "
                       f"{type(samplers).__name__}{advice}")
    found = list(samplers)
    if len(found) != count:
        raise RunError(f"expected a sampler for each of {count} prompts, got {len(found)}")
    for row, sampler in enumerate(found):
        require_sampler(sampler, f"sampler {row}")
    return found


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return (_is_integer(value) or isinstance(value, (float, np.floating))) and math.isfinite(value)
