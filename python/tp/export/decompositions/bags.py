"""Sums, means and maxima of bags of rows of a table, as torch.nn.EmbeddingBag has them.

torch-mlir's form leaves out the weights of samples and reads a table of padding for any.
"""
from __future__ import annotations

import math

import torch

from .assertions import checked

aten = torch.ops.aten

_SUM, _MEAN, _MAX = range(3)
_Bags = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


def padded_bag(table: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor,
                  scale_grad_by_freq: bool = False, mode: int = _SUM, sparse: bool = False,
                  per_sample_weights: torch.Tensor | None = None,
                  include_last_offset: bool = False, padding_idx: int | None = None) -> _Bags:
    """One row for each bag, [bags, width], the bag of each index, how many rows each bag has, and
    of maxima their indices, which nothing reads here.

    Bag `b` has the rows of `table`, [rows, width], at `indices` from `offsets[b]` to
    `offsets[b + 1]`, but for those that are `padding_idx`. Every element is computed where it is
    used: a row of another bag never meets it, so that its NaN does not.
    """
    count = indices.shape[0]
    indices = checked(indices, 0, table.shape[0] - 1, "embedding_bag")
    offsets = checked(offsets, 0, count, "embedding_bag")
    checked(offsets[:1], 0, 0, "embedding_bag")
    bags = offsets.shape[0] - int(include_last_offset)
    places = torch.arange(count, dtype=offsets.dtype)
    # Of equal offsets all but the last begin an empty bag.
    owner = (offsets[None] <= places[:, None]).sum(1) - 1
    held = owner[None] == torch.arange(bags)[:, None]
    if padding_idx is not None:
        held = held & (indices != padding_idx % table.shape[0])[None]
    sizes = held.sum(1)
    rows = torch.embedding(table, indices)
    if mode == _MAX:
        # torch keeps a NaN that comes first, and takes no other.
        compared = held[:, :, None] & ~torch.isnan(rows)[None]
        best = torch.where(compared, rows[None], -math.inf).amax(1)
        first = torch.where(held, places[None], count).amin(1).clamp(max=count - 1)
        begin = rows[first]
        best = torch.where(torch.isnan(begin), begin, best)
        result = torch.where(sizes[:, None] == 0, 0, best)
    else:
        if per_sample_weights is not None:
            rows = rows * per_sample_weights[:, None]
        result = torch.where(held[:, :, None], rows[None], 0).sum(1, dtype=rows.dtype)
        if mode == _MEAN:
            result = result / sizes.clamp(min=1)[:, None]
    return result.to(table.dtype), owner, sizes, torch.zeros_like(sizes)


def bag(table: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor,
        scale_grad_by_freq: bool = False, mode: int = _SUM, sparse: bool = False,
        per_sample_weights: torch.Tensor | None = None, include_last_offset: bool = False,
        padding_idx: int = -1) -> _Bags:
    """As `padded_bag`; a negative `padding_idx` is none."""
    return padded_bag(table, indices, offsets, scale_grad_by_freq, mode, sparse,
                      per_sample_weights, include_last_offset,
                      padding_idx if padding_idx >= 0 else None)


DECOMPOSITIONS = {
    aten.embedding_bag.default: bag,
    aten.embedding_bag.padding_idx: padded_bag,
    aten._embedding_bag.default: bag,
    aten._embedding_bag_forward_only.default: bag,
}
