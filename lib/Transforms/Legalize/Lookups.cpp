//===- Lookups.cpp - gather and scatter as lookups ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Conditions.h"
#include "Legalize.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace tp;

namespace {
/// Reads coordinates that stand along the last dimension of a tensor.
struct Coordinates {
  Value indices;
  ArrayRef<int64_t> dims;
  RankedTensorType whole;

  unsigned batchRank() const {
    return cast<RankedTensorType>(indices.getType()).getRank() - 1;
  }
  bool areReadable() const {
    Type type = getElementTypeOrSelf(indices.getType());
    return type.isIndex() || (type.isSignlessInteger() && !type.isInteger(1));
  }

  /// The coordinate along `dims[number]` at the batch index, which lies in the
  /// whole tensor.
  Value read(OpBuilder &builder, Location loc, ValueRange batch,
             unsigned number) const {
    SmallVector<Value> at(batch);
    at.push_back(arith::ConstantIndexOp::create(builder, loc, number));
    Value coordinate = tensor::ExtractOp::create(builder, loc, indices, at);
    if (!coordinate.getType().isIndex())
      coordinate = arith::IndexCastOp::create(
          builder, loc, builder.getIndexType(), coordinate);
    // Below zero is beyond the end of unsigned numbers.
    Value size = arith::ConstantIndexOp::create(builder, loc,
                                                whole.getDimSize(dims[number]));
    Value inside = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, coordinate, size);
    cf::AssertOp::create(builder, loc, inside,
                         "coordinate lies outside the tensor");
    return coordinate;
  }
};
} // namespace

LogicalResult legalize::writeGather(tensor::GatherOp op, OpBuilder &builder) {
  RankedTensorType source = op.getSourceType(), type = op.getResultType();
  Coordinates coordinates{op.getIndices(), op.getGatherDims(), source};
  if (!coordinates.areReadable())
    return success();
  unsigned batchRank = coordinates.batchRank();
  bool keepsRank = type.getRank() == batchRank + source.getRank();
  Value made = perElement(
      builder, op.getLoc(), type, {},
      [&](OpBuilder &nested, Location loc, ValueRange index, ValueRange) {
        ValueRange batch = index.take_front(batchRank);
        ValueRange slice = index.drop_front(batchRank);
        SmallVector<Value> at;
        for (int64_t dim = 0; dim < source.getRank(); ++dim) {
          auto found = llvm::find(coordinates.dims, dim);
          bool isGathered = found != coordinates.dims.end();
          at.push_back(isGathered
                           ? coordinates.read(nested, loc, batch,
                                              found - coordinates.dims.begin())
                           : slice.front());
          if (!isGathered || keepsRank)
            slice = slice.drop_front();
        }
        return tensor::ExtractOp::create(nested, loc, op.getSource(), at);
      });
  op.replaceAllUsesWith(made);
  op.erase();
  return success();
}

LogicalResult legalize::writeScatter(tensor::ScatterOp op, OpBuilder &builder) {
  RankedTensorType dest = op.getDestType();
  Coordinates coordinates{op.getIndices(), op.getScatterDims(), dest};
  if (!coordinates.areReadable())
    return success();
  unsigned batchRank = coordinates.batchRank(), rank = dest.getRank();
  bool keepsRank = op.getSourceType().getRank() == batchRank + dest.getRank();
  // Loops: the dimensions of the destination, then all slices written there.
  SmallVector<AffineExpr> from;
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::parallel);
  for (unsigned batch = 0; batch < batchRank; ++batch) {
    from.push_back(builder.getAffineDimExpr(rank + batch));
    loops.push_back(utils::IteratorType::reduction);
  }
  for (unsigned dim = 0; dim < rank; ++dim) {
    if (!llvm::is_contained(coordinates.dims, dim))
      from.push_back(builder.getAffineDimExpr(dim));
    else if (keepsRank)
      from.push_back(builder.getAffineConstantExpr(0));
  }
  AffineMap maps[] = {
      AffineMap::get(rank + batchRank, 0, from, op.getContext()),
      AffineMap::getMultiDimIdentityMap(rank + batchRank, op.getContext())
          .getMajorSubMap(rank)};
  auto made = linalg::GenericOp::create(
      builder, op.getLoc(), dest, op.getSource(), op.getDest(), maps, loops,
      [&](OpBuilder &nested, Location loc, ValueRange elements) {
        SmallVector<Value> batch;
        for (unsigned i = 0; i < batchRank; ++i)
          batch.push_back(linalg::IndexOp::create(nested, loc, rank + i));
        // The op has at least one dimension to look up.
        Value isHere;
        for (auto [number, dim] : llvm::enumerate(coordinates.dims)) {
          Value coordinate = coordinates.read(nested, loc, batch, number);
          Value at = linalg::IndexOp::create(nested, loc, dim);
          isHere = legalize::andCompare(
              nested, loc, isHere, arith::CmpIPredicate::eq, at, coordinate);
        }
        Value written = arith::SelectOp::create(nested, loc, isHere,
                                                elements[0], elements[1]);
        linalg::YieldOp::create(nested, loc, written);
      });
  op.replaceAllUsesWith(made.getResult(0));
  op.erase();
  return success();
}
