"""Pooling that torch-mlir has no valid form for."""
from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import torch

from .convolutions import apart

aten = torch.ops.aten


def _averages(x: torch.Tensor, dim: int, count: int) -> torch.Tensor:
    """Of `count` windows of a dimension, which torch's rule cuts: from floor(i * n / count) to
    ceil((i + 1) * n / count)."""
    size = x.shape[dim]
    if size % count == 0:
        return x.unflatten(dim, (count, size // count)).mean(dim + 1)
    windows = []
    for i in range(count):
        begin, end = i * size // count, -(-(i + 1) * size // count)
        windows.append(x.narrow(dim, begin, end - begin).mean(dim))
    return torch.stack(windows, dim)


def adaptive_avg_pool3d(x: torch.Tensor, output_size: Sequence[int]) -> torch.Tensor:
    """Averages of boxes, [..., depth, height, width]: the mean of a box is that of its means along
    one dimension after the other."""
    for dim, count in enumerate(output_size, start=x.dim() - 3):
        x = _averages(x, dim, count)
    return x


def _shares(grad: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """Of `size` elements, what the averages of the windows that they are in hand back."""
    count = grad.shape[dim]
    if size % count == 0:
        return (grad / (size // count)).unsqueeze(dim + 1).expand(
            *grad.shape[:dim + 1], size // count, *grad.shape[dim + 1:]).flatten(dim, dim + 1)
    total = torch.zeros_like(grad.narrow(dim, 0, 1))
    for i in range(count):
        begin, end = i * size // count, -(-(i + 1) * size // count)
        share = grad.narrow(dim, i, 1) / (end - begin)
        shape = [end - begin if d == dim else length for d, length in enumerate(grad.shape)]
        around = [0, 0] * (grad.dim() - 1 - dim) + [begin, size - end]
        total = total + aten.constant_pad_nd(share.expand(shape), around)
    return total


def adaptive_avg_pool_backward(grad: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """The gradient of averages of windows of the dimensions behind the channels."""
    for dim, size in enumerate(x.shape):
        if grad.shape[dim] != size:
            grad = _shares(grad, dim, size)
    return grad


def max_pool_backward(grad: torch.Tensor, x: torch.Tensor, kernel_size: Sequence[int],
                      stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                      ceil_mode: bool, indices: torch.Tensor) -> torch.Tensor:
    """The gradient of the largest elements of windows. `indices` has their places among all of a
    channel; each place of the windows hands back what was taken there."""
    rank = 3 if len(kernel_size) == 3 else 2
    kernel, stride, padding, dilation = (
        list(option) * (rank // len(option)) if len(option) in (1, rank) else list(option)
        for option in (kernel_size, stride or kernel_size, padding, dilation))
    first = x.dim() - rank
    total = torch.zeros_like(x)
    for taps in itertools.product(*(range(size) for size in kernel)):
        begins = [tap * reach - before
                  for tap, reach, before in zip(taps, dilation, padding, strict=True)]
        place = torch.zeros((1,) * rank, dtype=torch.int64)
        for d, (begin, step) in enumerate(zip(begins, stride, strict=True)):
            along = torch.arange(grad.shape[first + d]) * step + begin
            inside = (along >= 0) & (along < x.shape[first + d])
            # What is outside of the input is nobody's place: -1, less than 0 with all that follow.
            along = torch.where(inside, along, -x.numel())
            place = place * x.shape[first + d] + along.reshape(
                [-1 if d == other else 1 for other in range(rank)])
        part = torch.where(indices == place, grad, 0)
        around: list[int] = []
        for d, (begin, step) in enumerate(zip(begins, stride, strict=True)):
            part = apart(part, first + d, step)
            around = [begin, x.shape[first + d] - begin - part.shape[first + d], *around]
        total = total + aten.constant_pad_nd(part, around)
    return total


def avg_pool_backward(grad: torch.Tensor, x: torch.Tensor, kernel_size: Sequence[int],
                      stride: Sequence[int], padding: Sequence[int], ceil_mode: bool,
                      count_include_pad: bool, divisor_override: int | None) -> torch.Tensor:
    """The gradient of averages of windows: each place of the windows hands back its share."""
    rank = 3 if len(kernel_size) == 3 else 2
    kernel, stride, padding = (
        list(option) * (rank // len(option)) if len(option) in (1, rank) else list(option)
        for option in (kernel_size, stride or kernel_size, padding))
    first = x.dim() - rank
    share = grad.float() if grad.dtype in (torch.float16, torch.bfloat16) else grad
    if divisor_override is not None:
        share = share / divisor_override
    else:
        for d, (reach, step, before) in enumerate(zip(kernel, stride, padding, strict=True)):
            size = x.shape[first + d]
            begin = torch.arange(grad.shape[first + d]) * step - before
            end = (begin + reach).clamp(max=size + before)
            if not count_include_pad:
                begin, end = begin.clamp(min=0), end.clamp(max=size)
            share = share / (end - begin).reshape(
                [-1 if d == other else 1 for other in range(rank)])
    total = torch.zeros_like(x, dtype=share.dtype)
    for taps in itertools.product(*(range(size) for size in kernel)):
        part = share
        around: list[int] = []
        for d, (tap, step, before) in enumerate(zip(taps, stride, padding, strict=True)):
            part = apart(part, first + d, step)
            begin_at = tap - before
            around = [begin_at, x.shape[first + d] - begin_at - part.shape[first + d], *around]
        total = total + aten.constant_pad_nd(part, around)
    return total.to(grad.dtype)


def _largest(values: Sequence[torch.Tensor],
             places: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Of tensors of one shape the greatest elements, the last NaN before all, and their places; -1
    is that of padding."""
    value, place = values[0], places[0]
    for other, there in zip(values[1:], places[1:], strict=True):
        taken = (other > value) | ((place < 0) & (there >= 0))
        if value.is_floating_point():
            taken = taken | torch.isnan(other)
        value, place = torch.where(taken, other, value), torch.where(taken, there, place)
    return value, place


def _places(x: torch.Tensor, rank: int) -> torch.Tensor:
    """The number of each element among those of the last dimensions."""
    shape = x.shape[x.dim() - rank:]
    return torch.arange(math.prod(shape)).reshape(shape).expand(x.shape)


def adaptive_max_pool2d(x: torch.Tensor,
                        output_size: Sequence[int]) -> Any:
    """The greatest elements of windows, and their places. torch-mlir has windows of one size, of
    batches."""
    if x.dim() == 4 and not any(
            size % count for size, count in zip(x.shape[2:], output_size, strict=True)):
        return NotImplemented
    place = _places(x, 2)
    for dim, count in ((x.dim() - 1, output_size[1]), (x.dim() - 2, output_size[0])):
        windows = []
        size = x.shape[dim]
        for i in range(count):
            begin, end = i * size // count, -(-(i + 1) * size // count)
            windows.append(_largest(x.narrow(dim, begin, end - begin).unbind(dim),
                                    place.narrow(dim, begin, end - begin).unbind(dim)))
        x, place = (torch.stack(each, dim) for each in zip(*windows, strict=True))
    return x, place


def _max_pool(rank: int, x: torch.Tensor, kernel_size: Sequence[int], stride: Sequence[int],
              padding: Sequence[int], dilation: Sequence[int],
              ceil_mode: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The greatest elements of boxes, and their places: along one dimension after the other."""
    place = _places(x, rank)
    least = -math.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
    options = (list(option) * (rank // len(option))
               for option in (kernel_size, stride or kernel_size, padding, dilation))
    for dim, (taps, step, before, reach) in reversed(
            list(enumerate(zip(*options, strict=True), start=x.dim() - rank))):
        size, span = x.shape[dim], reach * (taps - 1) + 1
        room = size + 2 * before - span
        count = (-(-room // step) if ceil_mode else room // step) + 1
        if ceil_mode and (count - 1) * step >= size + before:
            # The last window begins in the input, or in the padding before it.
            count -= 1
        behind = max(0, (count - 1) * step + span - size - before)
        around = [0, 0] * (x.dim() - 1 - dim) + [before, behind]
        x, place = (aten.constant_pad_nd(each, around, value)
                    for each, value in ((x, least), (place, -1)))
        values, places = ([aten.slice(each, dim, tap * reach,
                                      tap * reach + (count - 1) * step + 1, step)
                           for tap in range(taps)] for each in (x, place))
        x, place = _largest(values, places)
    return x, place


def max_pool3d(x: torch.Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (),
               padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,),
               ceil_mode: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The greatest elements of boxes, and their places."""
    return _max_pool(3, x, kernel_size, stride, padding, dilation, ceil_mode)


# Whether torch-mlir's form is asked for.
_kept: ContextVar[bool] = ContextVar("kept", default=False)


def max_pool2d_with_indices(x: torch.Tensor, kernel_size: Sequence[int], stride: Sequence[int] = (),
                            padding: Sequence[int] = (0,), dilation: Sequence[int] = (1,),
                            ceil_mode: bool = False) -> Any:
    """The greatest elements of windows in torch-mlir's form, which is of batches. Its places are -1
    where a NaN is the greatest; so they are found here."""
    if _kept.get():
        return NotImplemented
    options = kernel_size, stride or kernel_size, padding, dilation, ceil_mode
    token = _kept.set(True)
    try:
        batch = x if x.dim() == 4 else x.unsqueeze(0)
        value = aten.max_pool2d_with_indices(batch, *options)[0]
    finally:
        _kept.reset(token)
    return value if x.dim() == 4 else value.squeeze(0), _max_pool(2, x, *options)[1]


def _of_a_batch(op: Any, rank: int) -> Callable[..., Any]:
    """An average of windows of `[channels, ...]`: torch-mlir has those of batches alone."""
    def pool(x: torch.Tensor, *args: Any) -> Any:
        if x.dim() == rank + 2:
            return NotImplemented
        return op(x.unsqueeze(0), *args).squeeze(0)
    return pool


DECOMPOSITIONS = {
    aten.adaptive_max_pool2d.default: adaptive_max_pool2d,
    **{op: _of_a_batch(op, rank) for op, rank in (
        (aten.avg_pool1d.default, 1), (aten.avg_pool2d.default, 2), (aten.avg_pool3d.default, 3))},
    aten.max_pool2d_with_indices.default: max_pool2d_with_indices,
    aten.max_pool3d_with_indices.default: max_pool3d,
    aten.avg_pool2d_backward.default: avg_pool_backward,
    aten.avg_pool3d_backward.default: avg_pool_backward,
    aten.max_pool2d_with_indices_backward.default: max_pool_backward,
    aten.max_pool3d_with_indices_backward.default: max_pool_backward,
    aten._adaptive_avg_pool3d.default: adaptive_avg_pool3d,
    aten._adaptive_avg_pool2d_backward.default: adaptive_avg_pool_backward,
    aten._adaptive_avg_pool3d_backward.default: adaptive_avg_pool_backward,
}
