//===- PaddedParts.cpp - sums of parts in zeros as concatenations ---------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a value that is taken apart comes as a sum: each part's
// gradient in zeros of the whole shape. As a concatenation of the parts it
// says where they are, so ranks that have some of every part need nothing of
// each other.
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

namespace {
/// A part of a dimension of a value that is zero elsewhere.
struct PaddedPart {
  Value part;
  int64_t dim = 0, offset = 0, size = 0;
};
} // namespace

/// Whether the generic is the sum of its two inputs, element by element.
static bool isSum(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumResults() != 1 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return false;
  Block *body = op.getBlock();
  auto sum =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  return sum && body->getOperations().size() == 2 &&
         llvm::is_contained(sum->getOperands(), body->getArgument(0)) &&
         llvm::is_contained(sum->getOperands(), body->getArgument(1));
}

static std::optional<PaddedPart> paddedPart(Value value) {
  auto slice = value.getDefiningOp<tensor::InsertSliceOp>();
  if (!slice || !matchPattern(slice.getDest(), m_PosZeroFloat()) ||
      slice.getSourceType().getRank() != slice.getDestType().getRank())
    return std::nullopt;
  std::optional<PaddedPart> found;
  for (int64_t dim : llvm::seq<int64_t>(slice.getDestType().getRank())) {
    int64_t offset = slice.getStaticOffsets()[dim],
            size = slice.getStaticSizes()[dim];
    if (ShapedType::isDynamic(offset) || ShapedType::isDynamic(size) ||
        slice.getStaticStrides()[dim] != 1)
      return std::nullopt;
    if (size == slice.getDestType().getDimSize(dim))
      continue;
    if (found)
      return std::nullopt;
    found = PaddedPart{slice.getSource(), dim, offset, size};
  }
  return found;
}

/// Adds the padded parts that `value` is a sum of; false where it is none.
static bool addParts(Value value, SmallVectorImpl<PaddedPart> &parts) {
  if (std::optional<PaddedPart> part = paddedPart(value)) {
    parts.push_back(*part);
    return true;
  }
  auto sum = value.getDefiningOp<linalg::GenericOp>();
  return sum && value.hasOneUse() && isSum(sum) &&
         addParts(sum.getInputs()[0], parts) &&
         addParts(sum.getInputs()[1], parts);
}

static Value zeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

static void join(linalg::GenericOp sum, OpBuilder &builder) {
  SmallVector<PaddedPart> parts;
  if (!isSum(sum) || !addParts(sum.getInputs()[0], parts) ||
      !addParts(sum.getInputs()[1], parts))
    return;
  llvm::sort(parts, [](const PaddedPart &one, const PaddedPart &other) {
    return one.offset < other.offset;
  });
  auto type = cast<RankedTensorType>(sum.getResultTypes()[0]);
  int64_t dim = parts[0].dim, end = 0;
  builder.setInsertionPoint(sum);
  SmallVector<std::pair<int64_t, Value>> pieces;
  for (const PaddedPart &part : parts) {
    if (part.dim != dim || part.offset < end)
      return;
    if (part.offset > end)
      pieces.push_back({part.offset - end, Value()});
    pieces.push_back({part.size, part.part});
    end = part.offset + part.size;
  }
  if (end < type.getDimSize(dim))
    pieces.push_back({type.getDimSize(dim) - end, Value()});
  SmallVector<Value> values;
  for (auto [size, value] : pieces) {
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] = size;
    values.push_back(value ? value
                           : zeros(builder, sum.getLoc(),
                                   type.clone(ArrayRef<int64_t>(shape))));
  }
  // A sum with a zero has no negative zeros.
  Value whole =
      tensor::ConcatOp::create(builder, sum.getLoc(), type, dim, values);
  sum.getInputsMutable()[0].set(whole);
  sum.getInputsMutable()[1].set(zeros(builder, sum.getLoc(), type));
}

void tp::joinPaddedParts(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  // Backwards, so that the sum of all parts comes before those of some.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (auto sum = dyn_cast<linalg::GenericOp>(op))
      join(sum, builder);
}
