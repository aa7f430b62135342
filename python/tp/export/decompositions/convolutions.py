"""Convolutions for which torch-mlir has no form: transposed ones of one channel a group, and the
gradients of transposed and of grouped ones."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

aten = torch.ops.aten


def apart(x: torch.Tensor, dim: int, step: int) -> torch.Tensor:
    """`x` with `step` - 1 zeros between two elements of the dimension."""
    if step == 1:
        return x
    zeros = torch.zeros_like(x).unsqueeze(dim + 1)
    rows = torch.cat([x.unsqueeze(dim + 1), *[zeros] * (step - 1)], dim + 1)
    return rows.flatten(dim, dim + 1).narrow(dim, 0, (x.shape[dim] - 1) * step + 1)


def convolution(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
                stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                transposed: bool, output_padding: Sequence[int], groups: int) -> torch.Tensor:
    """A transposed convolution of one channel a group: a convolution of what has zeros between its
    elements, with the taps in reverse."""
    if not transposed or not 1 < groups == x.shape[1] or weight.shape[1] != 1:
        return NotImplemented
    rank = len(stride)
    around: list[int] = []
    for dim in range(2, 2 + rank):
        step, reach = stride[dim - 2], dilation[dim - 2] * (weight.shape[dim] - 1)
        x = apart(x, dim, step)
        before = reach - padding[dim - 2]
        around = [before, before + output_padding[dim - 2], *around]
    return aten.convolution(aten.constant_pad_nd(x, around), weight.flip(list(range(2, 2 + rank))),
                            bias, [1] * rank, [0] * rank, dilation, False, [0] * rank, groups)


def convolution_backward(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor,
                         bias_sizes: Sequence[int] | None, stride: Sequence[int],
                         padding: Sequence[int], dilation: Sequence[int], transposed: bool,
                         output_padding: Sequence[int], groups: int,
                         output_mask: Sequence[bool]) -> Any:
    """The gradients of transposed and of grouped convolutions, for which torch-mlir has no form.

    A transposed convolution is the gradient of a convolution by its input. So its own gradient by
    the input is that convolution; its gradient by the weight is the convolution's, whose input is
    `grad` and whose gradient is `x`."""
    if not transposed and groups == 1:
        return NotImplemented
    by_x = by_weight = by_bias = None
    if output_mask[0] and transposed:
        by_x = aten.convolution(grad, weight, None, stride, padding, dilation, False,
                                [0] * len(stride), groups)
    elif output_mask[0]:
        # What the strides of the convolution leave over at the end of the input.
        left = [size - ((out - 1) * step - 2 * pad + reach * (taps - 1) + 1)
                for size, out, step, pad, reach, taps in zip(
                    x.shape[2:], grad.shape[2:], stride, padding, dilation, weight.shape[2:],
                    strict=True)]
        by_x = aten.convolution(grad, weight, None, stride, padding, dilation, True, left, groups)
    if output_mask[1]:
        given, gradient = (grad, x) if transposed else (x, grad)
        by_weight = _weight_gradient(given, gradient, weight, stride, padding, dilation, groups)
    if output_mask[2]:
        by_bias = grad.sum([0, *range(2, grad.dim())])
    return by_x, by_weight, by_bias


def _weight_gradient(x: torch.Tensor, grad: torch.Tensor, weight: torch.Tensor,
                     stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int],
                     groups: int) -> torch.Tensor:
    """The gradient of a convolution of `x` [n, groups * in, ..] by its weight: a convolution whose
    taps are `grad` [n, groups * out, ..] and whose channels are the samples; strides and dilations
    change places."""
    def channels_of_samples(value: torch.Tensor) -> torch.Tensor:
        parts = value.unflatten(1, (groups, value.shape[1] // groups))
        return parts.movedim(0, 2)  # [groups, channels, n, ..]
    x = channels_of_samples(x).movedim(1, 0).flatten(1, 2)  # [in, groups * n, ..]
    grad = channels_of_samples(grad).flatten(0, 1)  # [groups * out, n, ..]
    result = aten.convolution(x, grad, None, dilation, padding, stride, False, [0] * len(stride),
                              groups)
    for dim, taps in enumerate(weight.shape[2:], start=2):
        result = result.narrow(dim, 0, taps)
    return result.transpose(0, 1)


DECOMPOSITIONS = {
    aten.convolution.default: convolution,
    aten.convolution_backward.default: convolution_backward,
}
