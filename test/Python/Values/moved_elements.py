"""Elements that ops of torch move, pool and look up are where PyTorch has them, on one rank and on
several. A line per op that differs, then their number."""
from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

import tp

NAN, INF = float("nan"), float("inf")


class Op(nn.Module):
    """A function of one tensor as a module."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Its result."""
        return self.function(x)


def written(change: Callable[[torch.Tensor], object]) -> Callable[[torch.Tensor], torch.Tensor]:
    """A copy that is changed in place."""
    def of(x: torch.Tensor) -> torch.Tensor:
        copy = x.clone()
        change(copy)
        return copy
    return of


def both(pair: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Values and their places."""
    return torch.stack([each.double() for each in pair])


MATRIX = torch.arange(42.0).reshape(6, 7) - 20
BOXES = torch.randn(2, 2, 9, 8, 7, generator=torch.Generator().manual_seed(0))
# NaN or infinite where BOXES is greater than 1.
BROKEN, FAR = torch.where(BOXES > 1, NAN, -INF), torch.where(BOXES > 1, INF, BOXES)
LABELS = torch.tensor([[3, 0, -1, 1, 2, 4, 5], [6, 5, 4, 3, 2, 1, 0]]).repeat(3, 1)
BYTES = torch.tensor([[200, 255, 3], [1, 2, 130]], dtype=torch.uint8)
PLACES = torch.tensor([NAN, 0.0, INF, -INF, 0.5])
CASES: dict[str, tuple[Callable[[torch.Tensor], torch.Tensor], torch.Tensor]] = {
    "strides of a copy": (lambda x: x.t().contiguous().as_strided((2, 3), (1, 5), 3), MATRIX),
    "strides of a transpose": (lambda x: x.t().as_strided((2, 3), (7, 2), 3), MATRIX),
    "strides written": (written(lambda x: x.as_strided((2, 2), (1, 9)).zero_()), MATRIX),
    "diagonal filled": (written(lambda x: x.fill_diagonal_(5)), MATRIX),
    "diagonal above": (written(lambda x: x.diagonal(2).mul_(3)), MATRIX),
    "diagonal below": (written(lambda x: x.diagonal(-1).copy_(x[0, :5])), MATRIX),
    "put": (written(lambda x: x.put_(torch.tensor([0, -1]), torch.ones(2))), MATRIX),
    "windows written": (written(lambda x: x.unfold(0, 2, 2).add_(1)), MATRIX),
    "places": (lambda x: torch.searchsorted(torch.tensor([-1.0, 0, 1, 2]), x), PLACES),
    "places to the right": (
        lambda x: torch.searchsorted(torch.tensor([-1.0, 0, 1, 2]), x, right=True), PLACES),
    "adaptive maxima of rows": (
        lambda x: both(F.adaptive_max_pool1d(x[None], 4, return_indices=True)), MATRIX),
    "adaptive maxima": (
        lambda x: both(F.adaptive_max_pool2d(x[0], (4, 3), return_indices=True)), BOXES),
    "maxima of boxes": (lambda x: F.max_pool3d(x, 2), BOXES),
    "maxima of boxes with holes": (
        lambda x: both(F.max_pool3d(x, (3, 2, 3), (2, 1, 2), (1, 0, 1), (1, 2, 1), True, True)),
        BOXES),
    "maxima of boxes with NaN": (
        lambda x: F.max_pool3d(torch.where(x > 2, NAN, x), 3, 2, 1, 1, True), BOXES),
    "maxima of windows with NaN": (
        lambda x: both(F.max_pool2d(x[0], 3, 2, 1, return_indices=True)), BROKEN),
    "maxima of windows with holes and NaN": (
        lambda x: both(F.max_pool2d(x[0], (2, 3), 2, 1, 2, True, return_indices=True)), BROKEN),
    "adaptive maxima with NaN": (
        lambda x: both(F.adaptive_max_pool2d(x[0], (4, 3), return_indices=True)), BROKEN),
    "maxima without a batch": (
        lambda x: both(F.max_pool2d(x[0, 0], 2, return_indices=True)), BOXES),
    "averages without a batch": (lambda x: F.avg_pool2d(x[0, 0], 3, 2, 1), BOXES),
    "averages of rows without a batch": (lambda x: F.avg_pool1d(x, 3), MATRIX),
    "samples beside infinity": (
        lambda x: F.interpolate(x[0], scale_factor=1.7, mode="bilinear"), FAR),
    "samples between corners": (
        lambda x: F.interpolate(x, (5, 9, 7), mode="trilinear", align_corners=True), FAR),
    "samples of rows": (lambda x: F.interpolate(x[0, 0], 5, mode="linear"), FAR),
    "margins of labels beside NaN": (lambda x: F.multilabel_margin_loss(
        torch.where(x == 0, NAN, x), LABELS, reduction="none"), MATRIX),
    "margin of one row of labels": (
        lambda x: F.multilabel_margin_loss(x[0], LABELS[0]), MATRIX),
    "bytes and truths": (lambda x: torch.cat([x, x > 3]), BYTES),
    "bytes and floats": (lambda x: torch.cat([x, x.float() / 2]), BYTES),
    "bytes and signed ones": (lambda x: torch.stack([x, x.to(torch.int8)]), BYTES),
    "bytes of floats": (lambda x: (x.float() - 0.5).to(torch.uint8), BYTES),
    "means of bytes": (lambda x: x.mean(1, dtype=torch.float32), BYTES),
    "bytes beside far numbers": (
        lambda x: torch.stack([x < -1, x == -1, x == 511, x < 300, x != 256]), BYTES),
    "truths beside numbers": (lambda x: torch.stack([x >= -1, x == 1, x < 1]), BYTES > 100),
}


def main() -> None:
    wrong = 0
    for name, (function, x) in CASES.items():
        want = function(x)
        model = tp.export(Op(function), (x,))
        for ranks in (1, 2):
            with tp.compile(model, mesh={"tp": ranks},
                            plan={"argument x": tp.Shard(0)}) as program:
                got = torch.as_tensor(program(x))
            if got.dtype != want.dtype or not torch.allclose(got.double(), want.double(), 0, 1e-6,
                                                             equal_nan=True):
                wrong += 1
                print(f"{name} on {ranks} ranks: {got.flatten()[:8]}, expected "
                      f"{want.flatten()[:8]}")
    print(f"{len(CASES)} ops, {wrong} wrong")
    try:
        tp.export(Op(written(lambda x: x.unfold(1, 3, 2).add_(1))), (MATRIX,))
    except tp.ExportError as error:
        print(error)


if __name__ == "__main__":
    main()
