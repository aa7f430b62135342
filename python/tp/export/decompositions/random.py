"""Random numbers: ops of tp's own, `tp.random_...`, that are functions of an element's place.

An element's number is Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, 2011) of its index in the
whole tensor, the number of the op in the program, and the step, under the seed as key. So it does not
depend on what computes it: it is the same on every mesh, and where it is computed again.

A graph has these ops without state first. `random_state.py` gives them the state and their numbers;
`philox.py` writes them in linalg.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ...errors import ExportError
from .own_ops import LIBRARY

aten = torch.ops.aten

_TAGS = (torch.Tag.nondeterministic_seeded,)
_SIGNATURES = {
    "random_uniform": "int[] size, ScalarType dtype",
    "random_normal": "int[] size, ScalarType dtype",
    "random_keep": "int[] size, float probability",
    "random_integers": "int[] size, int low, int high",
}
for _name, _signature in _SIGNATURES.items():
    LIBRARY.define(f"{_name}({_signature}) -> Tensor", tags=_TAGS)
    LIBRARY.define(f"{_name}_of(Tensor state, int op, {_signature}) -> Tensor")
LIBRARY.define("random_next(Tensor state) -> Tensor")


def _empty(*args: Any) -> torch.Tensor:
    """A tensor of the result's shape and type: of ops with a state the arguments behind it."""
    size = next(i for i, arg in enumerate(args) if isinstance(arg, (list, tuple, torch.Size)))
    rest = args[size + 1:]
    dtype = (rest[0] if isinstance(rest[0], torch.dtype)
             else torch.int64 if len(rest) == 2 else torch.bool)
    return torch.empty(args[size], dtype=dtype, device="meta")


for _name in _SIGNATURES:
    LIBRARY.impl(_name, _empty, "CompositeExplicitAutograd")
    LIBRARY.impl(f"{_name}_of", _empty, "Meta")
LIBRARY.impl("random_next", torch.empty_like, "Meta")

_REAL = (torch.float64, torch.float32, torch.float16, torch.bfloat16)


def _real(dtype: torch.dtype | None, op: str) -> torch.dtype:
    dtype = dtype or torch.get_default_dtype()
    if dtype not in _REAL:
        raise ExportError(f"{op} of {dtype}: expected f64, f32, f16 or bf16: draw torch.float32 "
                          "and convert it", op=op)
    return dtype


def _uniform(size: Sequence[int], dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    result: torch.Tensor = torch.ops.tp.random_uniform(list(size), _real(dtype, "aten.rand"))
    return result


def _normal(size: Sequence[int], dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    result: torch.Tensor = torch.ops.tp.random_normal(list(size), _real(dtype, "aten.randn"))
    return result


def _keep(size: Sequence[int], probability: float) -> torch.Tensor:
    result: torch.Tensor = torch.ops.tp.random_keep(list(size), float(probability))
    return result


def _uniform_like(x: torch.Tensor, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return _uniform(x.shape, dtype or x.dtype)


def _normal_like(x: torch.Tensor, dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return _normal(x.shape, dtype or x.dtype)


def _between(x: torch.Tensor, low: float = 0.0, high: float = 1.0, **_: Any) -> torch.Tensor:
    return _uniform(x.shape, x.dtype) * (high - low) + low


def _normal_of(x: torch.Tensor, mean: float = 0.0, std: float = 1.0, **_: Any) -> torch.Tensor:
    return _normal(x.shape, x.dtype) * std + mean


def _normal_around(mean: torch.Tensor, std: Any = 1.0, **_: Any) -> torch.Tensor:
    shape = torch.broadcast_shapes(mean.shape, getattr(std, "shape", ()))
    return mean + std * _normal(shape, mean.dtype)


def _normal_with(mean: float, std: torch.Tensor, **_: Any) -> torch.Tensor:
    return mean + std * _normal(std.shape, std.dtype)


def _normal_sized(mean: float, std: float, size: Sequence[int],
                  dtype: torch.dtype | None = None, **_: Any) -> torch.Tensor:
    return mean + std * _normal(size, dtype)


def _exponential(x: torch.Tensor, rate: float = 1.0, **_: Any) -> torch.Tensor:
    # 1 - u is above 0.
    return -torch.log(1 - _uniform(x.shape, x.dtype)) / rate


def _integers(size: Sequence[int], low: int, high: int,
              dtype: torch.dtype | None = None) -> torch.Tensor:
    if not 0 < high - low <= 1 << 32:
        raise ExportError(f"aten.randint from {low} to {high}: expected 1 to 2**32 numbers",
                          op="aten.randint")
    result: torch.Tensor = torch.ops.tp.random_integers(list(size), low, high)
    return result.to(dtype or torch.int64)


def _integers_below(high: int, size: Sequence[int], dtype: torch.dtype | None = None,
                    **_: Any) -> torch.Tensor:
    return _integers(size, 0, high, dtype)


def _integers_from(low: int, high: int, size: Sequence[int], dtype: torch.dtype | None = None,
                   **_: Any) -> torch.Tensor:
    return _integers(size, low, high, dtype)


def _integers_like(x: torch.Tensor, high: int, dtype: torch.dtype | None = None,
                   **_: Any) -> torch.Tensor:
    return _integers(x.shape, 0, high, dtype or x.dtype)


def _integers_like_from(x: torch.Tensor, low: int, high: int, dtype: torch.dtype | None = None,
                        **_: Any) -> torch.Tensor:
    return _integers(x.shape, low, high, dtype or x.dtype)


def _bernoulli(p: torch.Tensor, **_: Any) -> torch.Tensor:
    # A uniform number of a narrow type would not reach all probabilities.
    wide = p if p.dtype == torch.float64 else p.float()
    return (_uniform(p.shape, wide.dtype) < wide).to(p.dtype)


def _bernoulli_of(x: torch.Tensor, p: float = 0.5, **_: Any) -> torch.Tensor:
    return _keep(x.shape, p).to(x.dtype)


def _native_dropout(x: torch.Tensor, p: float,
                    train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    if not train:
        return x, torch.ones_like(x, dtype=torch.bool)
    mask = _keep(x.shape, 1 - p)
    return mask * x * (0.0 if p == 1 else float(1 / (1 - p))), mask


DECOMPOSITIONS = {
    aten.rand.default: _uniform,
    aten.rand_like.default: _uniform_like,
    aten.randn.default: _normal,
    aten.randn_like.default: _normal_like,
    aten.uniform.default: _between,
    aten.normal_functional.default: _normal_of,
    aten.normal.Tensor_float: _normal_around,
    aten.normal.Tensor_Tensor: _normal_around,
    aten.normal.float_Tensor: _normal_with,
    aten.normal.float_float: _normal_sized,
    aten.exponential.default: _exponential,
    aten.randint.default: _integers_below,
    aten.randint.low: _integers_from,
    aten.randint_like.default: _integers_like,
    aten.randint_like.low_dtype: _integers_like_from,
    aten.bernoulli.default: _bernoulli,
    aten.bernoulli.p: _bernoulli_of,
    aten.native_dropout.default: _native_dropout,
}
