//===- MemoryOrder.cpp - the order of elements in memory ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryOrder.h"
#include "Elements/ViewAnalysis.h"

using namespace mlir;
using namespace tp::target;

AffineMap tp::target::placeMap(MemRefType type) {
  MemRefLayoutAttrInterface layout = type.getLayout();
  if (layout.isIdentity())
    return rowMajor(type.getShape(), type.getContext());
  return layout.getAffineMap();
}

MemRefType tp::target::orderedMemRef(ArrayRef<int64_t> shape, Type elementType,
                             AffineMap place) {
  auto type = MemRefType::get(shape, elementType);
  if (place == placeMap(type))
    return type;
  auto ordered = MemRefType::get(shape, elementType, AffineMapAttr::get(place));
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(ordered.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset) ||
      llvm::any_of(strides, ShapedType::isDynamic))
    return ordered;
  if (offset == 0 && isRowMajor(ordered))
    return type;
  return MemRefType::get(
      shape, elementType,
      StridedLayoutAttr::get(place.getContext(), offset, strides));
}

bool tp::target::isRowMajor(MemRefType type) {
  if (type.getNumElements() == 0)
    return true;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0)
    return false;
  int64_t expected = 1;
  for (int64_t i = type.getRank() - 1; i >= 0; --i) {
    int64_t size = type.getDimSize(i);
    if (size == 1)
      continue;
    if (strides[i] != expected)
      return false;
    expected *= size;
  }
  return true;
}

AffineMap tp::target::receivedOrder(tp::AllToAllOp op) {
  MLIRContext *context = op.getContext();
  SmallVector<int64_t> block(shapeOf(op.getResult()));
  int64_t concat = op.getConcatDim();
  block[concat] = shapeOf(op.getSource())[concat];
  int64_t blockElements = 1;
  for (int64_t size : block)
    blockElements *= size;
  Indices within = identityIndices(block.size(), context);
  AffineExpr along = within[concat];
  int64_t size = std::max<int64_t>(block[concat], 1);
  within[concat] = along % size;
  AffineExpr address =
      rowMajor(block, context).getResult(0).replaceDims(within) +
      along.floorDiv(size) * blockElements;
  return AffineMap::get(block.size(), 0, address, context);
}
