"""Discrete Fourier transforms as products with matrices of cosines and sines.

A transform of n numbers takes n * n products in place of n * log(n); what is multiplied stays
sharded as in any product. The angles are exact multiples of 2 * pi / n, reduced as integers.
"""
from __future__ import annotations

import math
from collections.abc import Sequence

import torch

aten = torch.ops.aten

_UNSCALED, _BY_ROOT, _BY_SIZE = range(3)


def _scale(shape: Sequence[int], dims: Sequence[int], normalization: int) -> float:
    size = math.prod(shape[dim] for dim in dims)
    return {_UNSCALED: 1.0, _BY_ROOT: 1 / math.sqrt(size), _BY_SIZE: 1 / size}[normalization]


def _waves(rows: int, columns: int, size: int, dtype: torch.dtype) -> tuple[torch.Tensor,
                                                                            torch.Tensor]:
    """cos and sin of 2 * pi * row * column / size, [rows, columns]."""
    steps = torch.arange(rows)[:, None] * torch.arange(columns)[None] % size
    # Angles beyond half a turn as negative ones, which are smaller.
    steps = torch.where(2 * steps > size, steps - size, steps)
    angles = steps.to(dtype) * (2 * math.pi / size)
    return torch.cos(angles), torch.sin(angles)


def _along(x: torch.Tensor, dim: int, matrix: torch.Tensor) -> torch.Tensor:
    """The products of all rows along a dimension with a matrix, [rows of x, columns]."""
    return torch.matmul(x.movedim(dim, -1), matrix).movedim(-1, dim)


def _turned(real: torch.Tensor, imaginary: torch.Tensor, dims: Sequence[int],
            forward: bool) -> tuple[torch.Tensor, torch.Tensor]:
    for dim in dims:
        size = real.shape[dim]
        cosines, sines = _waves(size, size, size, real.dtype)
        if forward:
            sines = -sines
        real, imaginary = (_along(real, dim, cosines) - _along(imaginary, dim, sines),
                           _along(real, dim, sines) + _along(imaginary, dim, cosines))
    return real, imaginary


def fft_c2c(x: torch.Tensor, dim: Sequence[int], normalization: int,
            forward: bool) -> torch.Tensor:
    """Of complex numbers."""
    parts = torch.view_as_real(x)
    real, imaginary = _turned(parts[..., 0], parts[..., 1], [d % x.dim() for d in dim], forward)
    scale = _scale(x.shape, dim, normalization)
    return torch.complex(real * scale, imaginary * scale)


def fft_r2c(x: torch.Tensor, dim: Sequence[int], normalization: int,
            onesided: bool) -> torch.Tensor:
    """Of real numbers; `onesided`: the half along the last dimension of `dim` that tells the
    other."""
    *others, last = [d % x.dim() for d in dim]
    size = x.shape[last]
    cosines, sines = _waves(size, size // 2 + 1 if onesided else size, size, x.dtype)
    real, imaginary = _turned(_along(x, last, cosines), -_along(x, last, sines), others, True)
    scale = _scale(x.shape, dim, normalization)
    return torch.complex(real * scale, imaginary * scale)


def fft_c2r(x: torch.Tensor, dim: Sequence[int], normalization: int,
            last_dim_size: int) -> torch.Tensor:
    """Back to real numbers, `last_dim_size` of them along the last dimension of `dim`."""
    *others, last = [d % x.dim() for d in dim]
    parts = torch.view_as_real(x)
    held = last_dim_size // 2 + 1
    real, imaginary = _turned(parts[..., 0].narrow(last, 0, held),
                              parts[..., 1].narrow(last, 0, held), others, False)
    cosines, sines = _waves(held, last_dim_size, last_dim_size, real.dtype)
    places = torch.arange(held)[:, None]
    # The other half is conjugate; the ends have no other.
    weights = torch.where((places == 0) | (2 * places == last_dim_size), 1, 2).to(real.dtype)
    result = _along(real, last, weights * cosines) - _along(imaginary, last, weights * sines)
    shape = list(x.shape)
    shape[last] = last_dim_size
    return result * _scale(shape, dim, normalization)


DECOMPOSITIONS = {
    aten._fft_c2c.default: fft_c2c,
    aten._fft_r2c.default: fft_r2c,
    aten._fft_c2r.default: fft_c2r,
}
