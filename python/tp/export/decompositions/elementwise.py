"""Functions of elements for which torch-mlir has no form, or one that is wrong for some numbers.

Its maxima and comparisons lose NaN, its quotients are rounded before they are cut, and it refuses
to divide by 0.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .integers import (byte, bytes_as_int32, in_one_type, of_bytes_and_number,
                       power_of_integers)

aten = torch.ops.aten


def _wide(x: torch.Tensor) -> torch.Tensor:
    """As torch computes: halves in f32."""
    return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x


def _together(a: Any, b: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Both, of which one may be a number, in the result's type; None where that is no float."""
    kind = torch.result_type(a, b)
    if not kind.is_floating_point:
        return None
    first, second = (x.to(kind) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=kind)
                     for x in (a, b))
    return first, second


def maximum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The greater element; NaN where either is."""
    both = _together(a, b)
    if both is None:
        return in_one_type(torch.maximum)(a, b)
    a, b = both
    return torch.where((a > b) | torch.isnan(a), a, b)


def minimum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The lesser element; NaN where either is."""
    both = _together(a, b)
    if both is None:
        return in_one_type(torch.minimum)(a, b)
    a, b = both
    return torch.where((a < b) | torch.isnan(a), a, b)


def clamp(x: torch.Tensor, least: float | None = None,
          most: float | None = None) -> torch.Tensor:
    """Elements between two numbers; NaN stays."""
    for bound in (least, most):
        if bound is not None:
            x = x.to(torch.result_type(x, bound))
    if least is not None:
        x = torch.where(x < least, least, x).to(x.dtype)
    if most is not None:
        x = torch.where(x > most, most, x).to(x.dtype)
    return x.clone()


def clamp_between(x: torch.Tensor, least: torch.Tensor | None = None,
                  most: torch.Tensor | None = None) -> torch.Tensor:
    """Elements between those of two tensors; NaN where any of them is."""
    if least is not None:
        x = torch.maximum(x, least)
    return x.clone() if most is None else torch.minimum(x, most)


def clamp_max(x: torch.Tensor, most: float) -> torch.Tensor:
    """Elements of at most a number; NaN stays."""
    return clamp(x, None, most)


def hardtanh(x: torch.Tensor, least: float = -1, most: float = 1) -> torch.Tensor:
    """Elements between two numbers, in the type of `x`; NaN stays."""
    return clamp(x, least, most).to(x.dtype)


def equal(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Whether elements are equal. torch-mlir takes a value for equal to itself, NaN too."""
    if _together(a, b) is None:
        return NotImplemented
    return torch.logical_not(torch.ne(a, b))


def isclose(a: torch.Tensor, b: torch.Tensor, rtol: float = 1e-5, atol: float = 1e-8,
            equal_nan: bool = False) -> torch.Tensor:
    """|a - b| <= atol + rtol * |b|; of infinities those that are equal."""
    close = torch.eq(a, b)
    if not a.is_floating_point():
        if rtol == 0 and atol == 0:
            return close
        a, b = a.to(torch.get_default_dtype()), b.to(torch.get_default_dtype())
    if equal_nan:
        close = close | (torch.isnan(a) & torch.isnan(b))
    error = (a - b).abs()
    return close | ((error < math.inf) & (error <= atol + (rtol * b).abs()))


def isfinite(x: torch.Tensor) -> torch.Tensor:
    """Whether elements are neither infinite nor NaN."""
    if not x.is_floating_point():
        return NotImplemented if x.is_complex() else torch.ones_like(x, dtype=torch.bool)
    return x.abs() < math.inf


def reciprocal(x: torch.Tensor) -> torch.Tensor:
    """1 / x, infinite where x is 0."""
    kind = x.dtype if x.is_floating_point() or x.is_complex() else torch.get_default_dtype()
    return NotImplemented if x.is_complex() else torch.div(torch.ones_like(x, dtype=kind), x)


def fmod(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The remainder of a division, exactly, with the sign of `a`."""
    both = _together(a, b)
    if both is None:
        return bytes_as_int32(torch.fmod)(a, b)
    a, b = both
    size = torch.remainder(_wide(a).abs(), _wide(b).abs()).to(a.dtype)
    # A zero keeps its sign.
    return torch.where((a == 0) & (size == 0), a, torch.where(a < 0, -size, size))


def fmod_of_number(x: torch.Tensor, divisor: float) -> torch.Tensor:
    """The remainder of a division by a number, with the sign of `x`."""
    kind = torch.result_type(x, divisor)
    return torch.fmod(x.to(kind), torch.full_like(x, divisor, dtype=kind))


def floor_divide(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The quotient cut towards minus infinity: what is left of `a` is divided without a rest, so no
    rounding of the quotient counts."""
    both = _together(a, b)
    if both is None:
        return bytes_as_int32(torch.floor_divide)(a, b)
    kind = both[0].dtype
    a, b = _wide(both[0]), _wide(both[1])
    rest = torch.fmod(a, b)
    whole = (a - rest) / b
    whole = torch.where((rest != 0) & ((b < 0) != (rest < 0)), whole - 1, whole)
    floor = torch.floor(whole)
    floor = torch.where(whole - floor > 0.5, floor + 1, floor)
    # Of a quotient of 0 the sign.
    floor = torch.where(whole == 0, torch.zeros_like(whole) * (a / b), floor)
    return torch.where(b == 0, a / b, floor).to(kind)


def divide(a: torch.Tensor, b: Any, *, rounding_mode: str | None = None) -> torch.Tensor:
    """The quotient cut towards minus infinity; other ways of rounding are torch-mlir's."""
    if rounding_mode != "floor":
        return bytes_as_int32(torch.div)(a, b, rounding_mode=rounding_mode)
    return torch.floor_divide(a, b)


def trunc(x: torch.Tensor) -> torch.Tensor:
    """Elements without their fractions; a zero has the sign of its element."""
    if not x.is_floating_point():
        return x.clone()
    return torch.where(x < 0, torch.ceil(x), torch.floor(x))


def round_to(x: torch.Tensor, *, decimals: int) -> torch.Tensor:
    """Elements to the nearest multiple of a power of 10. Of halves the multiple has no place in
    their type."""
    if not x.is_floating_point():
        return NotImplemented
    if decimals == 0:
        return torch.round(x)
    wide, size = _wide(x), float(f"1e{abs(decimals)}")
    near = torch.round(wide * size) / size if decimals > 0 else torch.round(wide / size) * size
    return near.to(x.dtype)


def shift_left(a: torch.Tensor, b: Any) -> torch.Tensor:
    """Elements times powers of 2."""
    kind = torch.result_type(a, b)
    b = b.to(kind) if isinstance(b, torch.Tensor) else torch.full((), b, dtype=kind)
    return torch.bitwise_left_shift(a.to(kind), b)


def shift_right(a: torch.Tensor, b: Any) -> torch.Tensor:
    """Elements divided by powers of 2, cut towards minus infinity."""
    kind = torch.result_type(a, b)
    b = b.to(kind) if isinstance(b, torch.Tensor) else torch.full((), b, dtype=kind)
    return torch.bitwise_right_shift(a.to(kind), b)


def copysign(a: torch.Tensor, b: Any) -> torch.Tensor:
    """The size of `a` with the sign of `b`, which zeros have too."""
    kind = torch.result_type(a, b)
    kind = kind if kind.is_floating_point else torch.get_default_dtype()
    size = a.to(kind).abs()
    if not isinstance(b, torch.Tensor):
        return size if math.copysign(1, b) > 0 else -size
    b = b.to(kind)
    return torch.where((b < 0) | ((b == 0) & (torch.reciprocal(b) < 0)), -size, size)


def number_minus(x: torch.Tensor, number: float, alpha: float = 1) -> torch.Tensor:
    """A number minus elements of f64; torch-mlir rounds the number to f32. Of int8 too."""
    if x.dtype == torch.int8 and isinstance(number, int):
        return byte(number) - x * alpha
    return NotImplemented if x.dtype != torch.float64 else -(x * alpha) + number


def linspace(start: float, end: float, steps: int, *, dtype: torch.dtype | None = None,
             **options: Any) -> torch.Tensor:
    """Numbers of f64 at equal distances, from either end; torch-mlir rounds the ends to f32."""
    dtype = dtype or torch.get_default_dtype()
    if dtype != torch.float64:
        return NotImplemented
    step = (end - start) / (steps - 1) if steps > 1 else 0.0
    place = torch.arange(steps, dtype=dtype)
    return torch.where(place < steps // 2 + (steps == 1), place * step + start,
                       (place - (steps - 1)) * step + end)


def logspace(start: float, end: float, steps: int, base: float = 10.0, *,
             dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
    """Powers of f64 whose exponents are at equal distances."""
    dtype = dtype or torch.get_default_dtype()
    if dtype != torch.float64:
        return NotImplemented
    return torch.pow(torch.full((steps,), base, dtype=dtype),
                     torch.linspace(start, end, steps, dtype=dtype))


def power(x: torch.Tensor, exponent: float) -> torch.Tensor:
    """A square root is one, also of what is negative. Powers of integers are products."""
    kind = torch.result_type(x, exponent)
    if not kind.is_floating_point and not kind.is_complex:
        return power_of_integers(x.to(kind), int(exponent))
    if not x.is_floating_point() and not x.is_complex():
        return torch.pow(x.to(kind), exponent)
    if exponent not in (0.5, -0.5) or not x.is_floating_point():
        return NotImplemented
    return torch.sqrt(x) if exponent == 0.5 else torch.rsqrt(x)


def logaddexp(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """log(exp(a) + exp(b)), where no power overflows."""
    both = _together(a, b)
    if both is None:
        return NotImplemented
    kind = both[0].dtype
    a, b = _wide(both[0]), _wide(both[1])
    total = torch.maximum(a, b) + torch.log1p(torch.exp(-(a - b).abs()))
    return torch.where(torch.isinf(a) & (a == b), a, total).to(kind)


def fmax(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The greater element; of NaN and a number the number."""
    return torch.where(torch.isnan(a), b, torch.where(torch.isnan(b), a, torch.maximum(a, b)))


def fmin(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The lesser element; of NaN and a number the number."""
    return torch.where(torch.isnan(a), b, torch.where(torch.isnan(b), a, torch.minimum(a, b)))


def hypot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """sqrt(a * a + b * b), where no square overflows."""
    kind = torch.result_type(a, b)
    a, b = torch.broadcast_tensors(_wide(a.to(kind)).abs(), _wide(b.to(kind)).abs())
    greater, lesser = torch.maximum(a, b), torch.minimum(a, b)
    ratio = lesser / torch.where(greater == 0, 1, greater)
    length = greater * torch.sqrt(1 + ratio * ratio)
    return torch.where(torch.isinf(a) | torch.isinf(b), math.inf, length).to(kind)


def angle(x: torch.Tensor) -> torch.Tensor:
    """Of real numbers: pi where they are negative, 0 where they are not, NaN of NaN."""
    if x.is_complex():
        return NotImplemented
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    angles = torch.where(x < 0, math.pi, 0.0).to(dtype)
    return torch.where(torch.isnan(x), x.to(dtype), angles) if x.is_floating_point() else angles


def addmv(c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, *, beta: float = 1,
          alpha: float = 1) -> torch.Tensor:
    """beta * c + alpha * (a @ b); a `c` that beta makes nothing of may be NaN. Factors of integers
    are cut to integers."""
    if not c.is_floating_point() and not c.is_complex():
        beta, alpha = int(beta), int(alpha)
    product = torch.mv(a, b)
    if alpha != 1:
        product = product * alpha
    if beta == 0:
        return product
    return product + (c if beta == 1 else c * beta)


def sigmoid(x: torch.Tensor) -> torch.Tensor:
    """Of halves; exp(-x) has no place in f16 from x = -11.1 on."""
    wide = _wide(x)
    return NotImplemented if wide is x else wide.sigmoid().to(x.dtype)


def remainder_of_number(a: float, b: torch.Tensor) -> torch.Tensor:
    """The remainder of a number by elements, with their sign."""
    kind = torch.result_type(b, a)
    return torch.remainder(torch.full_like(b, a, dtype=kind), b.to(kind))


def rrelu(x: torch.Tensor, lower: float = 1 / 8, upper: float = 1 / 3,
          training: bool = False) -> torch.Tensor:
    """Without training the slope of what is negative is the mean of both."""
    return NotImplemented if training else torch.where(x > 0, x, x * ((lower + upper) / 2))


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.maximum.default: maximum,
    aten.minimum.default: minimum,
    aten.clamp.default: clamp,
    aten.clamp.Tensor: clamp_between,
    aten.clamp_min.default: clamp,
    aten.clamp_min.Tensor: clamp_between,
    aten.clamp_max.default: clamp_max,
    aten.clamp_max.Tensor: minimum,
    aten.hardtanh.default: hardtanh,
    aten.eq.Tensor: equal,
    aten.isclose.default: isclose,
    aten.isfinite.default: isfinite,
    aten.reciprocal.default: reciprocal,
    aten.fmod.Tensor: fmod,
    aten.fmod.Scalar: fmod_of_number,
    aten.remainder.Tensor: bytes_as_int32(torch.remainder),
    aten.remainder.Scalar: bytes_as_int32(torch.remainder),
    aten.floor_divide.default: floor_divide,
    aten.div.Tensor_mode: divide,
    aten.div.Scalar_mode: divide,
    aten.sub.Tensor: of_bytes_and_number(torch.sub),
    aten.rsub.Scalar: number_minus,
    aten.linspace.default: linspace,
    aten.logspace.default: logspace,
    aten.trunc.default: trunc,
    aten.round.decimals: round_to,
    aten.pow.Tensor_Scalar: power,
    aten.copysign.Tensor: copysign,
    aten.copysign.Scalar: copysign,
    aten.__lshift__.Tensor: shift_left,
    aten.__lshift__.Scalar: shift_left,
    aten.bitwise_left_shift.Tensor_Scalar: shift_left,
    aten.__rshift__.Tensor: shift_right,
    aten.__rshift__.Scalar: shift_right,
    aten.bitwise_right_shift.Tensor_Scalar: shift_right,
    aten.logaddexp.default: logaddexp,
    aten.fmax.default: fmax,
    aten.fmin.default: fmin,
    aten.hypot.default: hypot,
    aten.angle.default: angle,
    aten.addmv.default: addmv,
    aten.remainder.Scalar_Tensor: remainder_of_number,
    aten.rrelu.default: rrelu,
    aten.sigmoid.default: sigmoid,
}
