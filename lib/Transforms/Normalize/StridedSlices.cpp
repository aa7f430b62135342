//===- StridedSlices.cpp - every n-th element as a part of a pair ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gates and what they gate lie side by side in some weights, and so do the
// halves of complex numbers: the program takes every second element. Seen as
// pairs, a dimension can be sharded without cutting one, and every rank takes
// its elements of its own pairs.
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

namespace {
/// A slice whose strided dimensions of the whole are seen as (n / stride,
/// stride).
struct PairedSlice {
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> whole, part;
  SmallVector<OpFoldResult> offsets, sizes, strides;
};
} // namespace

/// Nothing for a slice without strides, and for one with a stride that does not
/// divide its dimension.
static std::optional<PairedSlice> paired(OffsetSizeAndStrideOpInterface slice,
                                         ArrayRef<int64_t> whole,
                                         Builder &builder) {
  PairedSlice found;
  bool isStrided = false;
  for (int64_t dim : llvm::seq<int64_t>(whole.size())) {
    int64_t offset = slice.getStaticOffsets()[dim],
            size = slice.getStaticSizes()[dim],
            stride = slice.getStaticStrides()[dim];
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
        ShapedType::isDynamic(stride))
      return std::nullopt;
    auto add = [&](int64_t of, int64_t from, int64_t count) {
      found.groups.back().push_back(found.whole.size());
      found.whole.push_back(of);
      found.part.push_back(count);
      found.offsets.push_back(builder.getIndexAttr(from));
      found.sizes.push_back(builder.getIndexAttr(count));
      found.strides.push_back(builder.getIndexAttr(1));
    };
    found.groups.emplace_back();
    if (stride == 1 || size == 1) {
      add(whole[dim], offset, size);
      continue;
    }
    if (stride < 1 || whole[dim] % stride != 0)
      return std::nullopt;
    isStrided = true;
    add(whole[dim] / stride, offset / stride, size);
    add(stride, offset % stride, 1);
  }
  return isStrided ? std::optional(found) : std::nullopt;
}

static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(
      shape, cast<RankedTensorType>(value.getType()).getElementType());
}

static void rewrite(tensor::ExtractSliceOp slice, OpBuilder &builder) {
  Value source = slice.getSource();
  RankedTensorType type = slice.getType();
  std::optional<PairedSlice> pairs =
      paired(slice, slice.getSourceType().getShape(), builder);
  if (!pairs || type.getRank() != slice.getSourceType().getRank())
    return;
  builder.setInsertionPoint(slice);
  Location loc = slice.getLoc();
  Value whole = tensor::ExpandShapeOp::create(
      builder, loc, withShape(source, pairs->whole), source, pairs->groups);
  Value part = tensor::ExtractSliceOp::create(
      builder, loc, withShape(source, pairs->part), whole, pairs->offsets,
      pairs->sizes, pairs->strides);
  slice.replaceAllUsesWith(
      tensor::CollapseShapeOp::create(builder, loc, type, part, pairs->groups)
          .getResult());
  slice.erase();
}

void tp::pairStridedSlices(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
      rewrite(slice, builder);
}
