"""Ops of tp's own in exported graphs: reductions that torch has no op for.

`tp.sum_from_identity` begins from -0.0, the identity of addition: -0.0 + x is x for both zeros.
torch's own sums begin from 0.0, and 0.0 + -0.0 is 0.0. `tp.sum_at` and `tp.last_write_at` ask for
every place of the result, in the order of the writes, what is written there, without a tensor of
places by writes. Each becomes a reduction of linalg before torch-mlir's passes run: none of them
can take it for an op of torch's.
"""
from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch_mlir import ir
from torch_mlir.dialects import arith, linalg, tensor
from torch_mlir.passmanager import PassManager

_LIBRARY = torch.library.Library("tp", "FRAGMENT")
_LIBRARY.define("sum_from_identity(Tensor terms, int dim) -> Tensor")
_LIBRARY.define("sum_at(Tensor values, Tensor index, int size, bool identity) -> Tensor")
_LIBRARY.define("last_write_at(Tensor index, int size) -> Tensor")


# Graphs are lowered, so no kernel computes them: these have the results' shapes and types.
def _shape_of_sum(terms: torch.Tensor, dim: int) -> torch.Tensor:
    return terms.sum(dim, dtype=terms.dtype)


def _shape_of_sum_at(values: torch.Tensor, index: torch.Tensor, size: int,
                     identity: bool) -> torch.Tensor:
    return values.new_empty([size, *values.shape[1:]])


def _shape_of_last_write(index: torch.Tensor, size: int) -> torch.Tensor:
    return index.new_empty([*index.shape[:-1], size], dtype=torch.int64)


_LIBRARY.impl("sum_from_identity", _shape_of_sum, "Meta")
_LIBRARY.impl("sum_at", _shape_of_sum_at, "Meta")
_LIBRARY.impl("last_write_at", _shape_of_last_write, "Meta")


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


def sum_at(values: torch.Tensor, index: torch.Tensor, size: int, *,
           identity: bool = True) -> torch.Tensor:
    """[size, ..]: for each place the sum of the slices of `values` [writes, ..] that `index`
    [writes] sends there, of a float or integer type. Floats begin from -0.0, or without `identity`
    from 0.0. An index outside is added nowhere."""
    total: torch.Tensor = torch.ops.tp.sum_at(values, index, size, identity)
    return total


def last_write(index: torch.Tensor, size: int) -> torch.Tensor:
    """For each place of `size` the number of the last write to it, -1 where there is none. `index`
    has the places of the writes in its last dimension."""
    last: torch.Tensor = torch.ops.tp.last_write_at(index, size)
    return last


def lower_sums(module: ir.Module) -> None:
    """Makes every one of these ops of an imported graph a reduction of linalg."""
    lowerings: dict[str, Callable[[ir.Operation], ir.Value]] = {
        "torch.tp.sum_from_identity": _lower_sum, "torch.tp.sum_at": _lower_sum_at,
        "torch.tp.last_write_at": _lower_last_write}
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if (op.name == "torch.operator"
                and ir.StringAttr(op.attributes["name"]).value in lowerings):
            found.append(op)
        return ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    if not found:
        return
    with module.context:
        # Only passes load the dialect that casts between torch's tensors and MLIR's.
        empty = ir.Module.create(ir.Location.unknown())
        PassManager.parse("builtin.module(torch-func-backend-type-conversion)").run(empty.operation)
        for op in found:
            with ir.InsertionPoint(op), op.location:
                reduced = lowerings[ir.StringAttr(op.attributes["name"]).value](op)
                result = ir.Operation.create("torch_c.from_builtin_tensor", [op.results[0].type],
                                             [reduced]).result
            op.results[0].replace_all_uses_with(result)
            op.erase()


def _lower_sum(op: ir.Operation) -> ir.Value:
    terms = _operand(op, 0)
    dim, rank = _constant(op, 1), ir.RankedTensorType(terms.type).rank
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank)]
    kinds = ["reduction" if d == dim else "parallel" for d in range(rank)]
    return _reduction(op, [(terms, loops)], loops[:dim] + loops[dim + 1:], kinds, -0.0,
                      lambda term, total: arith.AddFOp(total, term).result)


def _lower_sum_at(op: ir.Operation) -> ir.Value:
    values, index = _operand(op, 0), _operand(op, 1)
    rank = ir.RankedTensorType(values.type).rank
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
    is_float = not isinstance(ir.RankedTensorType(values.type).element_type, ir.IntegerType)
    zero = -0.0 if is_float and _constant(op, 3) else 0.0

    def add(at: ir.Value, value: ir.Value, total: ir.Value) -> ir.Value:
        # What is not written here adds the identity.
        nothing = _number(value.type, -0.0)
        term = arith.SelectOp(_is_at(at, 0), value, nothing).result
        return (arith.AddFOp if is_float else arith.AddIOp)(total, term).result
    return _reduction(op, [(index, loops[rank:]), (values, loops[rank:] + loops[1:rank])],
                      loops[:rank], ["parallel"] * rank + ["reduction"], zero, add)


def _lower_last_write(op: ir.Operation) -> ir.Value:
    index = _operand(op, 0)
    rank = ir.RankedTensorType(index.type).rank
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]

    def later(at: ir.Value, last: ir.Value) -> ir.Value:
        number = arith.IndexCastOp(last.type, _loop(rank)).result
        here = arith.SelectOp(_is_at(at, rank - 1), number, _number(last.type, -(1 << 63))).result
        return arith.MaxSIOp(last, here).result
    return _reduction(op, [(index, loops[:rank - 1] + loops[rank:])], loops[:rank],
                      ["parallel"] * rank + ["reduction"], -1, later)


def _is_at(place: ir.Value, loop: int) -> ir.Value:
    """Whether the index of a loop is `place`."""
    here = arith.IndexCastOp(place.type, _loop(loop)).result
    return arith.CmpIOp(arith.CmpIPredicate.eq, here, place).result


def _loop(number: int) -> ir.Value:
    return linalg.IndexOp(number).result


def _number(type: ir.Type, value: float) -> ir.Value:
    attribute = (ir.IntegerAttr.get(type, int(value)) if isinstance(type, ir.IntegerType)
                 else ir.FloatAttr.get(type, value))
    return arith.ConstantOp(type, attribute).result


def _constant(op: ir.Operation, number: int) -> int:
    """An operand that is a constant, an integer or a boolean."""
    return ir.IntegerAttr(op.operands[number].owner.attributes["value"]).value


def _operand(op: ir.Operation, number: int) -> ir.Value:
    value = op.operands[number]
    return ir.Operation.create("torch_c.to_builtin_tensor", [_builtin(value.type)], [value]).result


def _reduction(op: ir.Operation, inputs: list[tuple[ir.Value, list[ir.AffineExpr]]],
               result: list[ir.AffineExpr], kinds: list[str], begin: float,
               body: Callable[..., ir.Value]) -> ir.Value:
    """A reduction with the result type of `op`: `body` makes the next result of the elements of
    the inputs and the result so far."""
    type = _builtin(op.results[0].type)
    empty = tensor.EmptyOp(type.shape, type.element_type).result
    filled = linalg.fill(_number(type.element_type, begin), outs=[empty])
    maps = [ir.AffineMap.get(len(kinds), 0, indices) for _, indices in [*inputs, (None, result)]]
    reduction = linalg.GenericOp(
        [type], [value for value, _ in inputs], [filled],
        ir.ArrayAttr.get([ir.AffineMapAttr.get(affine) for affine in maps]),
        ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]))
    block = reduction.regions[0].blocks.append(
        *(ir.RankedTensorType(value.type).element_type for value, _ in inputs), type.element_type)
    with ir.InsertionPoint(block):
        linalg.YieldOp([body(*block.arguments)])
    return reduction.results[0]


def _builtin(vtensor: ir.Type) -> ir.RankedTensorType:
    """MLIR's tensor type of one of torch's: `!torch.vtensor<[8,4],f32>` has it in its text."""
    match = re.fullmatch(r"!torch\.vtensor<\[([0-9,]*)\],(\w+)>", str(vtensor))
    assert match, str(vtensor)
    sizes = [int(size) for size in match.group(1).split(",") if size]
    # Signs of integers are the ops'.
    element = re.sub(r"^[su]i", "i", match.group(2))
    return ir.RankedTensorType.get(sizes, ir.Type.parse(element))
