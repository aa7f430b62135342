"""Arithmetic of complex and real numbers together, on the parts of the complex ones."""
from __future__ import annotations

from typing import Any

import torch

from .integers import of_bytes_and_number

aten = torch.ops.aten


def _is_complex(x: Any) -> bool:
    return isinstance(x, complex) or isinstance(x, torch.Tensor) and x.is_complex()


def _by_parts(x: torch.Tensor, real: Any, function: Any) -> torch.Tensor:
    """The parts of `x`, each with the real number or tensor."""
    if isinstance(real, torch.Tensor):
        real = real.unsqueeze(-1)
    return torch.view_as_complex(function(torch.view_as_real(x), real))


def mul(x: Any, y: Any) -> Any:
    """A product where one factor is real."""
    if _is_complex(x) and not _is_complex(y):
        return _by_parts(x, y, torch.mul)
    if _is_complex(y) and not _is_complex(x):
        return _by_parts(y, x, torch.mul)
    return of_bytes_and_number(torch.mul)(x, y)


def div(x: Any, y: Any) -> Any:
    """A quotient whose divisor is real."""
    return (_by_parts(x, y, torch.div) if _is_complex(x) and not _is_complex(y)
            else NotImplemented)


def add(x: Any, y: Any, *, alpha: Any = 1) -> Any:
    """A sum of a complex and a real number: the real one has no imaginary part."""
    if _is_complex(x) == _is_complex(y) or isinstance(y, complex):
        return NotImplemented
    whole, real = (x, y * alpha) if _is_complex(x) else (y * alpha, x)
    return torch.complex(whole.real + real, whole.imag.expand((whole.real + real).shape))


def conj(x: torch.Tensor) -> Any:
    """The conjugate."""
    return torch.complex(x.real, -x.imag) if x.is_complex() else NotImplemented


def absolute(x: torch.Tensor) -> Any:
    """The absolute value."""
    if not x.is_complex():
        return NotImplemented
    return torch.sqrt(x.real * x.real + x.imag * x.imag)


DECOMPOSITIONS = {
    aten.mul.Tensor: mul,
    aten.div.Tensor: div,
    aten.add.Tensor: add,
    aten._conj.default: conj,
    aten._conj_physical.default: conj,
    aten.conj_physical.default: conj,
    aten.abs.default: absolute,
}
