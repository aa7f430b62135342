"""Sums that begin from -0.0, the identity of addition: -0.0 + x is x for both zeros.

torch's own sums begin from 0.0, and 0.0 + -0.0 is 0.0. torch has no op for the others, so graphs
have one of tp's, `tp.sum_from_identity`, which becomes a reduction of linalg.
"""
from __future__ import annotations

from collections.abc import Sequence

import torch
from torch_mlir import ir
from torch_mlir.dialects import arith, linalg, tensor

from .own_ops import LIBRARY, builtin_type, integer, to_builtin

_NAME = "sum_from_identity"
LIBRARY.define(f"{_NAME}(Tensor terms, int dim) -> Tensor")


def _result(terms: torch.Tensor, dim: int) -> torch.Tensor:
    """A tensor of the result's shape and type."""
    return terms.sum(dim, dtype=terms.dtype)


# Graphs are lowered, so no kernel computes it.
LIBRARY.impl(_NAME, _result, "Meta")


def sum_where(hit: torch.Tensor, values: torch.Tensor, dim: int, dtype: torch.dtype) -> torch.Tensor:
    """The sum along a dimension of the values that `hit` selects, which broadcasts with them.

    Added to x it is the sum of x and these values alone: x keeps the sign of a zero where `hit`
    selects nothing, or only -0.0.
    """
    if not dtype.is_floating_point:
        return torch.where(hit, values, 0).sum(dim, dtype=dtype)
    terms = torch.where(hit, values, -0.0).to(dtype)
    total: torch.Tensor = torch.ops.tp.sum_from_identity(terms, dim % terms.dim())
    return total


def _lower(ops: Sequence[ir.Operation]) -> None:
    for op in ops:
        with ir.InsertionPoint(op), op.location:
            _lower_one(op)


def _lower_one(op: ir.Operation) -> None:
    terms_type, result_type = builtin_type(op.operands[0].type), builtin_type(op.results[0].type)
    dim = integer(op.operands[1])
    element, rank = terms_type.element_type, terms_type.rank
    terms = to_builtin(op.operands[0])
    identity = arith.ConstantOp(element, ir.FloatAttr.get(element, -0.0)).result
    empty = tensor.EmptyOp(result_type.shape, element).result
    begin = linalg.fill(identity, outs=[empty])
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank)]
    maps = [ir.AffineMap.get(rank, 0, loops),
            ir.AffineMap.get(rank, 0, loops[:dim] + loops[dim + 1:])]
    kinds = ["reduction" if d == dim else "parallel" for d in range(rank)]
    reduction = linalg.GenericOp(
        [result_type], [terms], [begin],
        ir.ArrayAttr.get([ir.AffineMapAttr.get(affine) for affine in maps]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>")
                          for kind in kinds]))
    body = reduction.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(body):
        linalg.YieldOp([arith.AddFOp(*body.arguments).result])
    result = ir.Operation.create("torch_c.from_builtin_tensor", [op.results[0].type],
                                 [reduction.results[0]]).result
    op.results[0].replace_all_uses_with(result)
    op.erase()


LOWERINGS = {_NAME: _lower}
