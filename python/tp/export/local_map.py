"""Functions that run on the parts of tensors, one part a rank, as `local_map` of
torch.distributed.tensor."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ExportError, plural
from ..styles import Layouts, Placement


def local_map(function: Callable[..., Any], out_layouts: Layouts, in_layouts: Layouts,
              ranks: int) -> Callable[..., Any]:
    """A function of whole tensors that cuts them into `ranks` parts, runs `function` on the parts
    of each number alone, and joins what it returns. A module that is exported calls it.

        normalize = tp.local_map(lambda x: x / x.norm(), tp.Shard(0), (tp.Shard(0),), ranks=4)

    The parts are those of the tensors, not of a mesh: the numbers are the same on every mesh. On an
    axis of `ranks` ranks each rank runs the function on its own part, without communication.

    Args:
        function: of parts; made of torch's ops. It must not change its arguments in place.
        out_layouts: for what it returns: Shard(d): the parts are joined along dimension d;
            Partial(op): they are combined by `sum`, `avg`, `max`, `min` or `product`. One layout
            for a single tensor, else a sequence.
        in_layouts: for each argument Shard(d): it is cut along dimension d, which `ranks` divides;
            Replicate() or None: every part is the whole; Partial(): the tensor has a first
            dimension of `ranks`, one addend a rank.
        ranks: how many parts.

    Raises:
        ExportError: when the function is called: a layout or a size does not fit.
    """
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise ExportError(f"local_map: ranks: expected a number from 1 on, got {ranks!r}")
    if not callable(function):
        raise ExportError(f"local_map: expected a function, got {type(function).__name__}")
    layouts = _listed(in_layouts)

    def mapped(*args: Any) -> Any:
        import torch
        if len(args) != len(layouts):
            raise ExportError(f"local_map: expected {plural(len(layouts), 'argument')}, as "
                                f"in_layouts has, got {len(args)}")
        parts = [_cut(arg, layout, ranks, number)
                 for number, (arg, layout) in enumerate(zip(args, layouts))]
        dims = tuple(None if _is_whole(layout) else 0 for layout in layouts)
        if all(dim is None for dim in dims):
            raise ExportError("local_map: expected a Shard or Partial argument, all are whole: "
                                "call the function itself")
        results = torch.vmap(function, in_dims=dims, randomness="different")(*parts)
        single = not isinstance(results, (tuple, list))
        rows = [results] if single else list(results)
        outs = _listed(out_layouts)
        if len(outs) != len(rows):
            raise ExportError(f"local_map: out_layouts has {plural(len(outs), 'layout')}, the "
                                f"function returns {plural(len(rows), 'tensor')}")
        joined = [_join(row, layout, number)
                  for number, (row, layout) in enumerate(zip(rows, outs))]
        return joined[0] if single else type(results)(joined)
    return mapped


def _listed(layouts: Layouts) -> Sequence[Placement | None]:
    if isinstance(layouts, (tuple, list)):
        # torch has a list of placements, one for each axis of the mesh, in each place.
        return [layout[0] if isinstance(layout, (tuple, list)) and len(layout) == 1 else layout
                for layout in layouts]
    return [layouts]  # type: ignore[list-item]


def _is_whole(layout: Any) -> bool:
    return layout is None or type(layout).__name__ == "Replicate"


def _dim(layout: Any, rank: int, what: str) -> int:
    dim: int = layout.dim
    if not -rank <= dim < rank:
        raise ExportError(f"local_map: {what}: Shard({dim}) needs that dimension, it has {rank}")
    return dim % rank


def _cut(value: Any, layout: Any, ranks: int, number: int) -> Any:
    """The parts along a first dimension; a whole value as it is."""
    what, kind = f"argument {number}", type(layout).__name__
    if _is_whole(layout):
        return value
    if kind == "Partial":
        if value.dim() == 0 or value.shape[0] != ranks:
            raise ExportError(f"local_map: {what}: Partial() expects a first dimension of {ranks}, "
                                f"one addend a rank, got {list(value.shape)}")
        return value
    if kind != "Shard":
        raise ExportError(f"local_map: {what}: expected Shard(d), Replicate(), Partial() or None, "
                            f"got {layout!r}")
    dim = _dim(layout, value.dim(), what)
    if value.shape[dim] % ranks:
        raise ExportError(f"local_map: {what}: {ranks} ranks do not divide dimension {dim} of "
                            f"{list(value.shape)}: the function would run on parts of several "
                            "sizes: pad the dimension")
    return value.unflatten(dim, (ranks, value.shape[dim] // ranks)).movedim(dim, 0)


_REDUCTIONS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(0), "avg": lambda x: x.mean(0), "max": lambda x: x.amax(0),
    "min": lambda x: x.amin(0), "product": lambda x: x.prod(0)}


def _join(value: Any, layout: Any, number: int) -> Any:
    what, kind = f"result {number}", type(layout).__name__
    if kind == "Shard":
        dim = _dim(layout, value.dim() - 1, what)
        return value.movedim(0, dim).flatten(dim, dim + 1)
    if kind == "Partial":
        reduce = _REDUCTIONS.get(layout.reduce_op)
        if reduce is None:
            raise ExportError(f"local_map: {what}: Partial('{layout.reduce_op}') is no reduction, "
                                f"expected one of {', '.join(_REDUCTIONS)}")
        return reduce(value)
    raise ExportError(f"local_map: {what}: expected Shard(d) or Partial(), got {layout!r}: parts "
                        "need not be equal; compute what is the same on all ranks outside of the "
                        "function")
