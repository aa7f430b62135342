"""Functions of integers that torch-mlir computes in f32, has no form for, or crashes on."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten


def bytes_as_int32(op: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Quotients and remainders of bytes by those of wider numbers; torch-mlir crashes on bytes."""
    def of_bytes(a: Any, b: Any, **options: Any) -> torch.Tensor:
        kind = torch.result_type(a, b)
        if kind not in (torch.int8, torch.uint8) or options.get("rounding_mode", "") is None:
            return NotImplemented
        a, b = (x.to(torch.int32) if isinstance(x, torch.Tensor) else x for x in (a, b))
        return op(a, b, **options).to(kind)
    return of_bytes


def byte(number: int) -> torch.Tensor:
    """A number as one of int8, cut to its last 8 bits."""
    return torch.full((), (int(number) + 128) % 256 - 128, dtype=torch.int8)


def in_one_type(op: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of int8 and a tensor of another type without dimensions, which torch-mlir crashes on."""
    def of_bytes(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        kind = torch.result_type(a, b)
        if kind != torch.int8 or a.dtype == b.dtype:
            return NotImplemented
        return op(a.to(kind), b.to(kind))
    return of_bytes


def extreme_byte(op: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The greatest, or least, of all elements of int8, which torch-mlir crashes on."""
    def of_bytes(x: torch.Tensor) -> torch.Tensor:
        return op(x.reshape(-1), 0) if x.dtype == torch.int8 else NotImplemented
    return of_bytes


def of_bytes_and_number(op: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of int8 and a whole number, which torch-mlir crashes on."""
    def of_bytes(x: Any, number: Any, **options: Any) -> torch.Tensor:
        if isinstance(number, torch.Tensor) and not options:
            return in_one_type(op)(x, number)
        if not isinstance(number, int) or x.dtype != torch.int8:
            return NotImplemented
        return op(x, byte(number), **options)
    return of_bytes


def product_of_bytes(op: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of matrices of int8, which torch-mlir crashes on: their last 8 bits are those in int32."""
    def of_bytes(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        if a.dtype != torch.int8:
            return NotImplemented
        return op(a.to(torch.int32), b.to(torch.int32)).to(torch.int8)
    return of_bytes


def negative(x: torch.Tensor) -> torch.Tensor:
    """Of integers; torch-mlir rounds them to f32."""
    return NotImplemented if x.is_floating_point() or x.is_complex() else torch.zeros_like(x) - x


def power_of_integers(x: torch.Tensor, exponent: int) -> torch.Tensor:
    """A product, without what has no place in the type."""
    result, factor = x * 0 + 1, x
    while exponent > 0:
        if exponent % 2:
            result = result * factor
        exponent //= 2
        factor = factor * factor if exponent > 0 else factor
    return result


def power_of_tensors(base: Any, exponents: torch.Tensor) -> torch.Tensor:
    """Of integers, whose exponents differ from element to element: a product of what their bits
    say. Of a negative exponent only 1 and -1 are more than 0 when they are cut."""
    kind = torch.result_type(base, exponents)
    if kind.is_floating_point or kind.is_complex or kind == torch.bool:
        return NotImplemented
    exponents = exponents.to(kind)
    base = (base.to(kind) if isinstance(base, torch.Tensor) else
            torch.full((), int(base), dtype=kind))
    factor, result = base, torch.ones_like(exponents)
    limits = torch.iinfo(kind)
    for bit in range(limits.bits - (limits.min < 0)):
        result = torch.where(((exponents >> bit) & 1) != 0, result * factor, result)
        factor = factor * factor
    if limits.min == 0:
        return result
    sign = torch.where((exponents & 1) != 0, base, torch.ones_like(base))
    cut = torch.where((base == 1) | (base == -1), sign, torch.zeros_like(sign))
    return torch.where(exponents < 0, cut, result)


def with_number(op: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of integers and a number, which torch cuts to their type."""
    def of_integers(x: torch.Tensor, number: Any) -> torch.Tensor:
        kind = torch.result_type(x, number)
        if kind.is_floating_point or kind.is_complex:
            return NotImplemented
        return op(x.to(kind), torch.full((), _cut(int(number), kind), dtype=kind))
    return of_integers


def _cut(number: int, kind: torch.dtype) -> int:
    """A number to the last bits, which are all that a type has."""
    if kind == torch.bool:
        return number % 2
    limits = torch.iinfo(kind)
    least, count = int(limits.min), 1 << int(limits.bits)
    return (number - least) % count + least


def compared_with_number(op: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of integers and a number that their type does not hold, and of truths, whose true is -1 to
    torch-mlir."""
    def of_integers(x: torch.Tensor, number: Any) -> torch.Tensor:
        kind = torch.result_type(x, number)
        if kind.is_floating_point or kind.is_complex or kind == torch.bool:
            return NotImplemented
        if x.dtype == torch.bool:
            return op(x.to(kind), number)
        if _cut(int(number), kind) == number:
            return NotImplemented
        return op(x, _cut(int(number), kind))
    return of_integers


def shift_of_number(number: int, amounts: torch.Tensor) -> torch.Tensor:
    """A number times powers of 2."""
    return torch.full_like(amounts, number) << amounts


def square(x: torch.Tensor) -> torch.Tensor:
    """Elements times themselves."""
    return NotImplemented if x.is_floating_point() or x.is_complex() else x * x


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.neg.default: negative,
    aten.bitwise_left_shift.Scalar_Tensor: shift_of_number,
    aten.bitwise_and.Scalar: with_number(torch.bitwise_and),
    aten.bitwise_or.Scalar: with_number(torch.bitwise_or),
    aten.bitwise_xor.Scalar: with_number(torch.bitwise_xor),
    aten.max.default: extreme_byte(torch.amax),
    aten.min.default: extreme_byte(torch.amin),
    aten.eq.Scalar: compared_with_number(torch.eq),
    aten.ne.Scalar: compared_with_number(torch.ne),
    aten.lt.Scalar: compared_with_number(torch.lt),
    aten.le.Scalar: compared_with_number(torch.le),
    aten.gt.Scalar: compared_with_number(torch.gt),
    aten.ge.Scalar: compared_with_number(torch.ge),
    aten.pow.Scalar: power_of_tensors,
    aten.pow.Tensor_Tensor: power_of_tensors,
    aten.square.default: square,
    aten.mm.default: product_of_bytes(torch.mm),
    aten.bmm.default: product_of_bytes(torch.bmm),
}
