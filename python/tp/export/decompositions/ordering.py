"""Running sums, sorting, the largest elements and their places, by comparisons and sums."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ...errors import ExportError

aten = torch.ops.aten

# A triangle of comparisons up to this size; log2(size) shifted sums beyond.
_TRIANGLE = 1024
# Sorting compares every pair of a dimension.
_MOST_SORTED = 8192
# The best of this many elements or more, as of a vocabulary, are found in blocks.
_LEAST_IN_BLOCKS = 1024
_MOST_BLOCKS = 128
_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.float32: torch.float64}


def cumsum(x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Sums of the elements up to each place."""
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
    x = x.to(dtype)
    if x.dim() == 0:
        return x.clone()
    dim %= x.dim()
    size = x.shape[dim]
    if size > _TRIANGLE:
        return _doubling(x, dim, lambda a, b: a + b, 0)
    place = torch.arange(size, device=x.device)
    before = place[None, :] <= place[:, None]
    moved = x.movedim(dim, -1).unsqueeze(-2)
    return torch.where(before, moved, 0).sum(-1, dtype=dtype).movedim(-1, dim)


def cumprod(x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Products of the elements up to each place. Those of elements between two places are made on
    the way, which may be too large for the type though none that is asked for is."""
    if dtype is None:
        dtype = x.dtype if x.is_floating_point() else torch.int64
    x = x.to(dtype)
    if x.dim() == 0:
        return x.clone()
    return _doubling(x.to(_WIDER.get(dtype, dtype)), dim % x.dim(), lambda a, b: a * b, 1).to(dtype)


def logcumsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Logarithms of the running sums of exponentials."""
    if x.dim() == 0:
        return x.clone()
    return _doubling(x, dim % x.dim(), torch.logaddexp, -torch.inf)


def cummax(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest elements up to each place, and the last places that have them."""
    return _running_best(x, dim, torch.maximum, largest=True)


def cummin(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest elements up to each place, and the last places that have them."""
    return _running_best(x, dim, torch.minimum, largest=False)


def _running_best(x: torch.Tensor, dim: int, combine: Callable[[Any, Any], Any],
                  largest: bool) -> tuple[torch.Tensor, torch.Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    dim %= x.dim()
    size = x.shape[dim]
    if size > _MOST_SORTED:
        raise ExportError(f"places of running maxima of {size} elements compare every pair, at "
                          f"most {_MOST_SORTED} are supported", op="aten.cummax")
    if x.dtype == torch.bool:
        values, places = _running_best(x.to(torch.int64), dim, combine, largest)
        return values.to(torch.bool), places
    if x.is_floating_point():
        worst = -torch.inf if largest else torch.inf
    else:
        worst = torch.iinfo(x.dtype).min if largest else torch.iinfo(x.dtype).max
    values = _doubling(x, dim, combine, worst)
    # A NaN is the best from its place on, and each later NaN takes its place.
    last, best = x.movedim(dim, -1).unsqueeze(-2), values.movedim(dim, -1).unsqueeze(-1)
    place = torch.arange(size, device=x.device)
    found = (last == best) | last.isnan() if x.is_floating_point() else last == best
    found = found & (place[None, :] <= place[:, None])
    return values, torch.where(found, place, 0).amax(-1).movedim(-1, dim)


def _doubling(x: torch.Tensor, dim: int, combine: Callable[[Any, Any], Any],
              identity: float) -> torch.Tensor:
    """A scan: step k combines each element with the one 2^k places before."""
    size, distance = x.shape[dim], 1
    while distance < size:
        head = x.narrow(dim, 0, distance)
        shifted = torch.cat([torch.full_like(head, identity),
                             x.narrow(dim, 0, size - distance)], dim)
        x = combine(shifted, x)
        distance *= 2
    return x


def _is_before(a: torch.Tensor, b: torch.Tensor, descending: bool) -> torch.Tensor:
    """True where `a` comes before `b`; NaN counts as the largest number."""
    if not a.is_floating_point():
        return a > b if descending else a < b
    if descending:
        return (a > b) | (a.isnan() & ~b.isnan())
    return (a < b) | (b.isnan() & ~a.isnan())


def sort(x: torch.Tensor, dim: int = -1, descending: bool = False,
         stable: bool | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The sorted elements and their places, stable. The rank of an element is the number of
    elements before it."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    return _first(x, x.shape[dim], dim, descending)


def _first(x: torch.Tensor, count: int, dim: int,
           descending: bool) -> tuple[torch.Tensor, torch.Tensor]:
    x = x.movedim(dim, -1)
    values, index = _of_ranks(x, torch.arange(count, device=x.device), descending, "aten.sort")
    return values.movedim(-1, dim), index.movedim(-1, dim)


def _of_ranks(x: torch.Tensor, wanted: torch.Tensor, descending: bool,
              op: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The elements of the last dimension that a stable sort puts at the places `wanted`, and their
    places in `x`."""
    size = x.shape[-1]
    if size > _MOST_SORTED:
        raise ExportError(f"sorting {size} elements compares every pair, at most {_MOST_SORTED} "
                          "are supported: sort before the call, or use torch.topk", op=op)
    place = torch.arange(size, device=x.device)
    left, right = x.unsqueeze(-2), x.unsqueeze(-1)  # [.., i, j] compares j with i
    equal_before = ~_is_before(left, right, descending) & ~_is_before(right, left, descending)
    before = _is_before(left, right, descending) | (
        equal_before & (place[None, :] < place[:, None]))
    rank = before.sum(-1)
    # The element of rank r is the one whose place is the sum of all places of rank r.
    index = torch.where(rank.unsqueeze(-2) == wanted.unsqueeze(-1), place, 0).sum(-1)
    return torch.gather(x, -1, index), index


def kthvalue(x: torch.Tensor, k: int, dim: int = -1,
             keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The k-th smallest elements, counted from 1, and their places. Of equal elements the first
    ones come first, where PyTorch promises no order."""
    return _at_rank(x, dim, keepdim, "aten.kthvalue", lambda numbers: numbers * 0 + (k - 1))


def median(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The lesser of the elements in the middle, and their places; the first NaN where one is."""
    size = x.shape[dim] if x.dim() else 1
    return _at_rank(x, dim, keepdim, "aten.median",
                    lambda numbers: torch.where(numbers < size, numbers, (size - 1) // 2))


def nanmedian(x: torch.Tensor, dim: int,
              keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """As `median`, of the elements that are numbers."""
    return _at_rank(x, dim, keepdim, "aten.nanmedian",
                    lambda numbers: torch.div((numbers - 1).clamp(min=0), 2, rounding_mode="floor"))


def _at_rank(x: torch.Tensor, dim: int, keepdim: bool, op: str,
             rank: Callable[[torch.Tensor], torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The elements at one place of the sorted dimension, which `rank` gives from the number of
    elements that are no NaN."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    last = x.movedim(dim, -1)
    numbers = (~last.isnan()).sum(-1, keepdim=True) if x.is_floating_point() else torch.full(
        (1,), last.shape[-1], device=x.device)
    values, index = _of_ranks(last, rank(numbers), False, op)
    values, index = values.movedim(-1, dim), index.movedim(-1, dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


def median_of_all(x: torch.Tensor) -> torch.Tensor:
    """The lesser of the two elements in the middle of all."""
    return median(x.reshape(-1), 0)[0]


def nanmedian_of_all(x: torch.Tensor) -> torch.Tensor:
    """As `median_of_all`, of the elements that are numbers."""
    return nanmedian(x.reshape(-1), 0)[0]


def topk(x: torch.Tensor, k: int, dim: int = -1, largest: bool = True,
         sorted: bool = True) -> tuple[torch.Tensor, torch.Tensor]:
    """The k largest or smallest elements and their places, in order."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    size = x.shape[dim]
    # NaN counts as the largest number here, for min as the smallest.
    if k == 1 and (largest or not x.is_floating_point()):
        return (max_along if largest else min_along)(x, dim, True)
    if k > 4 and k * 8 > size and size <= _MOST_SORTED:
        return _first(x, k, dim, largest)
    x = x.movedim(dim, -1)
    blocks = _blocks(size, k)
    if blocks:
        values, index = _best_of_blocks(x, k, largest, blocks)
    else:
        index = _best_by_best(x, k, largest)
        values = torch.gather(x, -1, index)
    return values.movedim(-1, dim), index.movedim(-1, dim)


def _blocks(size: int, k: int) -> int | None:
    """How many blocks to look for k elements in, or None. Ranks have whole blocks, so that a number
    that many numbers of ranks divide is best. What the blocks leave is a small part of the whole."""
    if size < _LEAST_IN_BLOCKS:
        return None
    numbers = [blocks for blocks in range(4, _MOST_BLOCKS + 1)
               if size % blocks == 0 and 8 * blocks * k <= size]
    return max(numbers, key=lambda blocks: (math.gcd(blocks, 48), -blocks), default=None)


def _best_of_blocks(x: torch.Tensor, k: int, largest: bool,
                    blocks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k best elements of the last dimension, and their places: those of the k best of every
    block. Where ranks have different blocks each looks at its own, and sends what is best there."""
    block = x.shape[-1] // blocks
    parts = x.reshape(*x.shape[:-1], blocks, block)
    index = _best_by_best(parts, k, largest)
    # By reductions, as a lookup would need all blocks.
    place = torch.arange(block, device=x.device)
    lowest = -torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
    values = torch.where(place == index.unsqueeze(-1), parts.unsqueeze(-2), lowest).amax(-1)
    first = torch.arange(blocks, device=x.device) * block
    # Equal elements are in the order of their places here too.
    values, places = (found.reshape(*x.shape[:-1], blocks * k)
                      for found in (values, index + first[:, None]))
    order = _best_by_best(values, k, largest)
    return torch.gather(values, -1, order), torch.gather(places, -1, order)


def _best_by_best(x: torch.Tensor, k: int, largest: bool) -> torch.Tensor:
    """The places of the k best elements of the last dimension: takes the best one k times. An
    element that is taken is never taken again."""
    size = x.shape[-1]
    place = torch.arange(size, device=x.device)
    if x.is_floating_point():
        nan = x.isnan()
        key = torch.where(nan, torch.inf, x) if largest else torch.where(nan, -torch.inf, -x)
        # Infinities and NaN share a key: among these the class decides, then the place.
        order = nan.to(torch.int64) if largest else -nan.to(torch.int64)
    else:
        key, order = (x if largest else ~x), torch.zeros_like(x, dtype=torch.int64)
    free = torch.ones_like(x, dtype=torch.bool)
    indices = []
    for _ in range(k):
        lowest = -torch.inf if key.is_floating_point() else torch.iinfo(key.dtype).min
        best = torch.where(free, key, lowest).amax(-1, keepdim=True)
        candidate = free & (key == best)
        if x.is_floating_point():
            top = torch.where(candidate, order, -2).amax(-1, keepdim=True)
            candidate = candidate & (order == top)
        index = torch.where(candidate, place, size).amin(-1)
        indices.append(index)
        free = free & (place != index.unsqueeze(-1))
    return torch.stack(indices, -1)


def argmax(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    """The place of the largest element: of the first one, or of the first NaN."""
    return _place_of(x, dim, keepdim, torch.amax)


def argmin(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    """The place of the smallest element: of the first one, or of the first NaN."""
    return _place_of(x, dim, keepdim, torch.amin)


def _place_of(x: torch.Tensor, dim: int | None, keepdim: bool,
              best: Callable[..., torch.Tensor]) -> torch.Tensor:
    """Two reductions of one value each. Ranks that hold parts of the dimension reduce their own
    part and combine one element of each, where a reduction of values and places together would
    have to gather the elements."""
    shape = x.shape
    if dim is None:
        x, axis = x.reshape(-1), 0
    elif x.dim() == 0:
        return torch.zeros((), dtype=torch.int64)
    else:
        axis = dim
    size = x.shape[axis]
    found = x == best(x, axis, keepdim=True)
    if x.is_floating_point():
        found = found | x.isnan()
    place = torch.arange(size, device=x.device)
    places = place.reshape([-1 if i == axis % x.dim() else 1 for i in range(x.dim())])
    result = torch.where(found, places, size).amin(axis, keepdim=keepdim and dim is not None)
    return result.reshape([1] * len(shape)) if keepdim and dim is None else result


def max_along(x: torch.Tensor, dim: int,
              keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest elements and their places."""
    return x.amax(dim, keepdim), argmax(x, dim, keepdim)


def min_along(x: torch.Tensor, dim: int,
              keepdim: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest elements and their places."""
    return x.amin(dim, keepdim), argmin(x, dim, keepdim)


def argsort(x: torch.Tensor, dim: int = -1, descending: bool = False) -> torch.Tensor:
    """The places of the sorted elements."""
    return sort(x, dim, descending)[1]


def sort_stable(x: torch.Tensor, *, stable: bool | None = None, dim: int = -1,
                descending: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """`sort` with the arguments of its overload `stable`."""
    return sort(x, dim, descending)


def searchsorted(sequence: torch.Tensor, x: torch.Tensor, *, out_int32: bool = False,
                 right: bool = False, side: str | None = None,
                 sorter: torch.Tensor | None = None) -> torch.Tensor:
    """The place of each element in a sorted sequence: how many elements are before it."""
    if sorter is not None:
        sequence = torch.gather(sequence, -1, sorter)
    whole = x if sequence.dim() > 1 else x.reshape(1, -1)
    left, wanted = sequence.reshape(-1, 1, sequence.shape[-1]), whole.reshape(
        -1, whole.shape[-1], 1)
    # NaN stands behind all numbers.
    before = ~(left > wanted if right or side == "right" else left >= wanted)
    return before.sum(-1, dtype=torch.int32 if out_int32 else torch.int64).reshape(x.shape)


DECOMPOSITIONS = {
    aten.logcumsumexp.default: logcumsumexp,
    aten.searchsorted.Tensor: searchsorted,
    aten.cumsum.default: cumsum,
    aten.cumprod.default: cumprod,
    aten.argmax.default: argmax,
    aten.argmin.default: argmin,
    aten.max.dim: max_along,
    aten.min.dim: min_along,
    aten.cummax.default: cummax,
    aten.cummin.default: cummin,
    aten.median.default: median_of_all,
    aten.median.dim: median,
    aten.nanmedian.default: nanmedian_of_all,
    aten.nanmedian.dim: nanmedian,
    aten.kthvalue.default: kthvalue,
    aten.topk.default: topk,
    aten.sort.default: sort,
    aten.sort.stable: sort_stable,
    aten.argsort.default: argsort,
}
