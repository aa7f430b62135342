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
/// A part of a dimension of a value that is zero elsewhere: consecutive
/// elements, or every `stride`-th one from `offset` on.
struct PaddedPart {
  Value part;
  int64_t dim = 0, offset = 0, size = 0, stride = 1;
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

static bool isZero(Value value) {
  while (auto expand = value.getDefiningOp<tensor::ExpandShapeOp>())
    value = expand.getSrc();
  if (auto fill = value.getDefiningOp<linalg::FillOp>())
    value = fill.getInputs().front();
  return matchPattern(value, m_PosZeroFloat());
}

/// A part of each group of a dimension, as tp-legalize writes it: in a
/// dimension that counts inside of the groups.
static std::optional<PaddedPart> partOfGroups(tensor::CollapseShapeOp value) {
  auto slice = value.getSrc().getDefiningOp<tensor::InsertSliceOp>();
  auto part = slice ? slice.getSource().getDefiningOp<tensor::ExpandShapeOp>()
                    : nullptr;
  auto groups = value.getReassociationIndices();
  if (!part || !isZero(slice.getDest()) || !slice.hasUnitStride() ||
      part.getReassociationIndices() != groups ||
      slice.getSourceType().getRank() != slice.getDestType().getRank())
    return std::nullopt;
  std::optional<PaddedPart> found;
  for (auto [dim, group] : llvm::enumerate(groups)) {
    int64_t last = group.back(), offset = slice.getStaticOffsets()[last],
            size = slice.getDestType().getDimSize(last);
    for (int64_t each : group)
      if (slice.getStaticSizes()[each] !=
          (group.size() == 2 && each == last
               ? 1
               : slice.getDestType().getDimSize(each)))
        return std::nullopt;
    if (group.size() == 1)
      continue;
    if (found || group.size() != 2 || ShapedType::isDynamic(offset))
      return std::nullopt;
    found = PaddedPart{part.getSrc(), static_cast<int64_t>(dim), offset,
                       slice.getDestType().getDimSize(group.front()), size};
  }
  return found;
}

static std::optional<PaddedPart> paddedPart(Value value) {
  if (auto collapse = value.getDefiningOp<tensor::CollapseShapeOp>())
    return partOfGroups(collapse);
  auto slice = value.getDefiningOp<tensor::InsertSliceOp>();
  if (!slice || !isZero(slice.getDest()) ||
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

/// Parts of each group of elements, joined along the dimension of a group.
static Value joinStrided(ArrayRef<PaddedPart> parts, RankedTensorType type,
                         Location loc, OpBuilder &builder) {
  int64_t dim = parts[0].dim, stride = parts[0].stride;
  SmallVector<ReassociationIndices> groups;
  SmallVector<int64_t> shape;
  for (int64_t each : llvm::seq<int64_t>(type.getRank())) {
    groups.push_back({static_cast<int64_t>(shape.size())});
    shape.push_back(type.getDimSize(each) / (each == dim ? stride : 1));
    if (each != dim)
      continue;
    groups.back().push_back(shape.size());
    shape.push_back(1);
  }
  auto pieceType = type.clone(ArrayRef<int64_t>(shape));
  SmallVector<Value> pieces(stride);
  for (const PaddedPart &part : parts) {
    if (part.dim != dim || part.stride != stride || pieces[part.offset])
      return {};
    pieces[part.offset] = part.part;
  }
  for (Value &piece : pieces)
    piece = piece ? tensor::ExpandShapeOp::create(builder, loc, pieceType,
                                                  piece, groups)
                        .getResult()
                  : zeros(builder, loc, pieceType);
  shape[dim + 1] = stride;
  Value pairs = tensor::ConcatOp::create(
      builder, loc, type.clone(ArrayRef<int64_t>(shape)), dim + 1, pieces);
  return tensor::CollapseShapeOp::create(builder, loc, type, pairs, groups);
}

/// A sum with a zero has no negative zeros.
static void addZeroTo(Value whole, linalg::GenericOp sum, OpBuilder &builder) {
  sum.getInputsMutable()[0].set(whole);
  sum.getInputsMutable()[1].set(
      zeros(builder, sum.getLoc(), cast<RankedTensorType>(whole.getType())));
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
  if (parts[0].stride > 1) {
    if (Value whole = joinStrided(parts, type, sum.getLoc(), builder))
      addZeroTo(whole, sum, builder);
    return;
  }
  SmallVector<std::pair<int64_t, Value>> pieces;
  for (const PaddedPart &part : parts) {
    if (part.dim != dim || part.stride != 1 || part.offset < end)
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
  addZeroTo(tensor::ConcatOp::create(builder, sum.getLoc(), type, dim, values),
            sum, builder);
}

void tp::joinPaddedParts(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  // Backwards, so that the sum of all parts comes before those of some.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
    if (auto sum = dyn_cast<linalg::GenericOp>(op))
      join(sum, builder);
}
