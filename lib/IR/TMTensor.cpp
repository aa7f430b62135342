//===- TMTensor.cpp - the dialect tm_tensor -------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/TMTensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tp::tm_tensor;

#include "tp/IR/TMTensorDialect.cpp.inc"

void TMTensorDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "tp/IR/TMTensorOps.cpp.inc"
      >();
}

/// Two sizes that cannot be one.
static bool differ(int64_t a, int64_t b) {
  return !ShapedType::isDynamic(a) && !ShapedType::isDynamic(b) && a != b;
}

LogicalResult ScatterOp::verify() {
  RankedTensorType updates = getUpdates().getType();
  RankedTensorType indices = getIndices().getType();
  RankedTensorType original = getOriginal().getType();
  ArrayRef<int64_t> map = getDimensionMap();
  int64_t rank = original.getRank(), sliceRank = updates.getRank() - 1;
  if (getResult().getType() != original)
    return emitOpError("expected the result to have the type of the original, ")
           << original << ", got " << getResult().getType();
  if (updates.getElementType() != original.getElementType())
    return emitOpError("expected updates of ")
           << original.getElementType() << ", got " << updates;
  if (indices.getRank() != 2 || !indices.getElementType().isIntOrIndex() ||
      differ(indices.getDimSize(1), map.size()))
    return emitOpError("expected rows of ")
           << map.size() << " integers as indices, got " << indices;
  llvm::SmallBitVector isIndexed(rank);
  for (int64_t dim : map) {
    if (dim < 0 || dim >= rank || isIndexed.test(dim))
      return emitOpError("expected dimension_map to name dimensions of ")
             << original << " once each, got " << dim;
    isIndexed.set(dim);
  }
  if (sliceRank < 0 || sliceRank > rank)
    return emitOpError("expected updates of 1 to ")
           << rank + 1 << " dimensions, got " << updates;
  if (differ(updates.getDimSize(0), indices.getDimSize(0)))
    return emitOpError("expected a row of indices for each of ")
           << updates.getDimSize(0) << " slices, got " << indices;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t number = dim - (rank - sliceRank);
    if (number < 0) {
      if (!isIndexed.test(dim))
        return emitOpError("expected dimension ")
               << dim << " of " << original
               << " in dimension_map, the slices do not have it";
      continue;
    }
    int64_t extent = updates.getDimSize(number + 1);
    int64_t size = original.getDimSize(dim);
    if (!ShapedType::isDynamic(extent) && !ShapedType::isDynamic(size) &&
        extent > size)
      return emitOpError("expected slices of at most ")
             << size << " elements along dimension " << dim << " of "
             << original << ", got " << extent;
  }
  return success();
}

LogicalResult ScatterOp::verifyRegions() {
  Type element = getOriginal().getType().getElementType();
  Block &block = getRegion().front();
  auto isElement = [&](Type type) { return type == element; };
  if (block.getNumArguments() != 2 ||
      !llvm::all_of(block.getArgumentTypes(), isElement))
    return emitOpError("expected the region to have two arguments of ")
           << element << ", the new and the old element";
  auto yield =
      dyn_cast_if_present<YieldOp>(block.empty() ? nullptr : &block.back());
  if (!yield || yield.getNumOperands() != 1 ||
      !llvm::all_of(yield.getOperandTypes(), isElement))
    return emitOpError("expected the region to yield one ") << element;
  return success();
}

#define GET_OP_CLASSES
#include "tp/IR/TMTensorOps.cpp.inc"
