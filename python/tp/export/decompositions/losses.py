"""Losses as torch's kernels compute them."""
from __future__ import annotations

import torch

aten = torch.ops.aten


def multilabel_margin_loss(x: torch.Tensor, target: torch.Tensor,
                           reduction: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Of `[batch, classes]` or `[classes]`: how far other classes come too near to the targets, which
    end at -1. Also whether classes are targets, as numbers."""
    classes = x.shape[-1]
    numbers = torch.arange(classes)
    end = torch.where(target == -1, numbers, classes).amin(-1, keepdim=True)
    named = numbers < end
    is_target = ((target.unsqueeze(-1) == numbers) & named.unsqueeze(-1)).any(-2)
    of_target = torch.gather(x, -1, torch.where(named, target, 0))
    far = 1 - of_target.unsqueeze(-1) + x.unsqueeze(-2)
    # A NaN is not near.
    counted = (far > 0) & named.unsqueeze(-1) & ~is_target.unsqueeze(-2)
    far = torch.where(counted, far, 0).sum((-2, -1)) / classes
    # Torch's numbers of the mean and the sum.
    reduced = {1: far.mean, 2: far.sum}.get(reduction, lambda: far)()
    return reduced, is_target.to(x.dtype)


DECOMPOSITIONS = {
    aten.multilabel_margin_loss_forward.default: multilabel_margin_loss,
}
