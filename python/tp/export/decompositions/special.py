"""Special functions that torch-mlir has no form for, computed in f64."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten

# Below, the series for large numbers are less exact than f64.
_LARGE = 10
# Abramowitz and Stegun, Handbook of Mathematical Functions, 6.1.41 and 6.3.18: numbers of
# Bernoulli over 2n(2n - 1), and over 2n.
_LOG_GAMMA = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def _doubles(x: torch.Tensor) -> torch.Tensor:
    return x.double() if x.is_floating_point() else x.to(torch.get_default_dtype()).double()


def _result(value: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return value.to(x.dtype if x.is_floating_point() else torch.get_default_dtype())


def _series(x: torch.Tensor, terms: tuple[float, ...]) -> torch.Tensor:
    """The sum of terms[n] / x^(2n)."""
    square = 1 / (x * x)
    total = torch.full_like(x, terms[-1])
    for term in terms[-2::-1]:
        total = total * square + term
    return total


def _steps_to_large(
        x: torch.Tensor, total: torch.Tensor,
        add: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    """`x` plus the whole number that makes it large, and `total` with what each step adds to it."""
    for _ in range(_LARGE):
        total = torch.where(x < _LARGE, add(total, x), total)
        x = torch.where(x < _LARGE, x + 1, x)
    return x, total


def lgamma(x: torch.Tensor) -> torch.Tensor:
    """The logarithm of the absolute value of the gamma function."""
    wide = _doubles(x)
    # log|gamma(x)| = log(pi / |sin(pi x)|) - log gamma(1 - x)
    small = wide < 0.5
    at = torch.where(small, 1 - wide, wide)
    at, product = _steps_to_large(at, torch.ones_like(at), lambda total, x: total * x)
    # At infinity this is infinity minus infinity.
    value = torch.where(
        torch.isinf(at), at, (at - 0.5) * torch.log(at) - at + 0.5 * math.log(2 * math.pi) +
        _series(at, _LOG_GAMMA) / at - torch.log(product))
    value = torch.where((wide == 1) | (wide == 2), torch.zeros_like(wide), value)
    sine = torch.sin(math.pi * (wide - torch.round(wide))).abs()
    reflected = torch.where(torch.isinf(wide), torch.full_like(wide, math.inf),
                            torch.log(math.pi / sine) - value)
    return _result(torch.where(small, reflected, value), x)


def digamma(x: torch.Tensor) -> torch.Tensor:
    """The derivative of the logarithm of the gamma function; NaN at negative whole numbers."""
    wide = _doubles(x)
    # digamma(x) = digamma(1 - x) - pi / tan(pi x)
    small = wide < 0.5
    at = torch.where(small, 1 - wide, wide)
    at, total = _steps_to_large(at, torch.zeros_like(at), lambda total, x: total - 1 / x)
    value = total + torch.log(at) - 0.5 / at - _series(at, _DIGAMMA) / (at * at)
    part = wide - torch.round(wide)
    reflected = value - math.pi * torch.cos(math.pi * part) / torch.sin(math.pi * part)
    reflected = torch.where(part == 0, torch.full_like(wide, math.nan), reflected)
    value = torch.where(small, reflected, value)
    pole = torch.copysign(torch.full_like(wide, math.inf), -wide)
    return _result(torch.where(wide == 0, pole, value), x)


def _scaled_erfc(x: torch.Tensor) -> torch.Tensor:
    """exp(x^2) erfc(x) of numbers from 1.5 on, as f64: Abramowitz and Stegun, 7.1.14."""
    fraction = x
    for step in range(40, 0, -1):
        fraction = x + step / 2 / fraction
    return 1 / (math.sqrt(math.pi) * fraction)


def erfc(x: torch.Tensor) -> torch.Tensor:
    """1 - erf(x), exact to the last bits of f32 also where that is small."""
    if x.dtype == torch.float64:
        return NotImplemented
    wide = _doubles(x)
    far = wide.clamp(min=1.5)
    return _result(torch.where(wide < 1.5, 1 - torch.erf(wide),
                               torch.exp(-far * far) * _scaled_erfc(far)), x)


def erfcx(x: torch.Tensor) -> torch.Tensor:
    """exp(x^2) erfc(x)."""
    if x.dtype == torch.float64:
        return NotImplemented
    wide = _doubles(x)
    near = torch.exp(wide * wide) * (1 - torch.erf(wide))
    return _result(torch.where(wide < 1.5, near, _scaled_erfc(wide.clamp(min=1.5))), x)


# Giles, Approximating the erfinv function, GPU Computing Gems (2011), table 5: for w < 5 and above.
_ERFINV = ((2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
            -0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
           (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
            -0.0076224613, 0.00943887047, 1.00167406, 2.83297682))


def erfinv(x: torch.Tensor) -> torch.Tensor:
    """The number whose erf is `x`; infinite at -1 and 1, NaN beyond."""
    if x.dtype == torch.float64:
        return NotImplemented
    wide = _doubles(x)
    inside = torch.where(wide.abs() < 1, wide, torch.zeros_like(wide))
    w = -torch.log((1 - inside) * (1 + inside))
    centre, tail = (
        _polynomial(at, terms) for at, terms in zip((w - 2.5, torch.sqrt(w) - 3), _ERFINV))
    value = torch.where(w < 5, centre, tail) * inside
    for _ in range(2):
        slope = 2 / math.sqrt(math.pi) * torch.exp(-value * value)
        value = value - (torch.erf(value) - inside) / slope
    value = torch.where(wide.abs() == 1, wide * math.inf, value)
    return _result(torch.where(wide.abs() <= 1, value, torch.full_like(wide, math.nan)), x)


def _polynomial(x: torch.Tensor, terms: tuple[float, ...]) -> torch.Tensor:
    """terms[0] times the highest power, and so on."""
    total = torch.full_like(x, terms[0])
    for term in terms[1:]:
        total = total * x + term
    return total


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.digamma.default: digamma,
    aten.erfc.default: erfc,
    aten.erfinv.default: erfinv,
    aten.lgamma.default: lgamma,
    aten.special_erfcx.default: erfcx,
}
