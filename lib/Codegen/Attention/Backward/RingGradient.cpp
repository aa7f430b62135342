//===- RingGradient.cpp - where gradients of chunks go --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingGradient.h"
#include "Storage/Calls.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp::target;

//===----------------------------------------------------------------------===//
// Ops on each key
//===----------------------------------------------------------------------===//

/// The number that the op's sums start from.
static TypedAttr constantStart(linalg::GenericOp op) {
  std::optional<Splat> start = splatOf(op.getDpsInitOperand(0)->get());
  return start ? start->constant : TypedAttr();
}

/// The dimension of the result that has the keys, where `operand` has them
/// along `dim`; none unless the op computes each key from the same one.
static std::optional<unsigned> keysThrough(linalg::GenericOp op,
                                           OpOperand &operand, unsigned dim) {
  if (op->getNumResults() != 1 || !op.isDpsInput(&operand))
    return std::nullopt;
  auto key = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(&operand).getResult(dim));
  if (!key || op.getIteratorTypesArray()[key.getPosition()] !=
                  utils::IteratorType::parallel)
    return std::nullopt;
  unsigned loop = key.getPosition();
  std::optional<unsigned> found;
  for (OpOperand &each : op->getOpOperands()) {
    bool isResult = op.isDpsInit(&each);
    for (auto [d, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(&each).getResults())) {
      if (!expr.isFunctionOfDim(loop) || (&each == &operand && d == dim))
        continue;
      if (!isResult || found || expr != key)
        return std::nullopt;
      found = d;
    }
  }
  bool numbersKeys = llvm::any_of(
      op.getBlock()->getOps<linalg::IndexOp>(),
      [&](linalg::IndexOp index) { return index.getDim() == loop; });
  OpOperand *start = op.getDpsInitOperand(0);
  bool starts = !op.payloadUsesValueFromOperand(start) || constantStart(op);
  return starts && !numbersKeys ? found : std::nullopt;
}

/// The same of a view: a group of dimensions of which the others are 1.
static std::optional<unsigned>
keysThrough(ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> many,
            unsigned dim, bool collapses) {
  for (auto [group, dims] : llvm::enumerate(groups)) {
    bool has =
        collapses ? llvm::is_contained(dims, int64_t(dim)) : group == dim;
    if (!has)
      continue;
    SmallVector<unsigned> large;
    for (int64_t each : dims)
      if (many[each] != 1)
        large.push_back(each);
    // One key alone is not told from the others.
    if (large.size() != 1 || (collapses && large.front() != dim))
      return std::nullopt;
    return collapses ? group : large.front();
  }
  return std::nullopt;
}

static std::optional<unsigned> keysThrough(OpOperand &operand, unsigned dim) {
  Operation *op = operand.getOwner();
  if (auto loops = dyn_cast<linalg::GenericOp>(op))
    return keysThrough(loops, operand, dim);
  if (auto view = dyn_cast<tensor::CollapseShapeOp>(op))
    return keysThrough(view.getReassociationIndices(),
                       view.getSrcType().getShape(), dim, /*collapses=*/true);
  if (auto view = dyn_cast<tensor::ExpandShapeOp>(op))
    return keysThrough(view.getReassociationIndices(),
                       view.getResultType().getShape(), dim,
                       /*collapses=*/false);
  return std::nullopt;
}

/// Whether all that `op` reads, but `value` and a start of 0, is there before
/// `first`.
static bool readsEarlier(Operation *op, Value value, Operation *first) {
  llvm::SetVector<Value> read;
  for (OpOperand &operand : op->getOpOperands()) {
    auto loops = dyn_cast<linalg::LinalgOp>(op);
    if (!loops || !loops.isDpsInit(&operand))
      read.insert(operand.get());
  }
  getUsedValuesDefinedAbove(op->getRegions(), read);
  return llvm::all_of(read, [&](Value each) {
    Operation *maker = each.getDefiningOp();
    return each == value || !maker || maker->isBeforeInBlock(first);
  });
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

namespace {
/// A part of the keys, or padding.
struct ScatteredPart {
  std::optional<int64_t> offset;
  int64_t size;
};
} // namespace

/// The keys of `value` along `dim` that `piece` has; padding if it is constant.
static std::optional<ScatteredPart> partOf(Value piece, Value value,
                                           unsigned dim) {
  int64_t size = tp::target::shapeOf(piece)[dim];
  if (piece == value)
    return ScatteredPart{0, size};
  auto slice = piece.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSource() != value) {
    bool isPadding =
        matchPattern(piece, m_Constant()) || splatOf(piece).has_value();
    return isPadding ? std::optional(ScatteredPart{std::nullopt, size})
                     : std::nullopt;
  }
  if (slice.getType().getRank() != slice.getSourceType().getRank() ||
      ShapedType::isDynamicShape(slice.getStaticOffsets()) ||
      !llvm::all_of(slice.getStaticStrides(),
                    [](int64_t stride) { return stride == 1; }))
    return std::nullopt;
  for (auto [d, length] : llvm::enumerate(slice.getType().getShape()))
    if (d != dim && length != slice.getSourceType().getDimSize(d))
      return std::nullopt;
  return ScatteredPart{slice.getStaticOffsets()[dim], size};
}

/// The reduce_scatter that alone reads `value`, with its keys along `dim` in
/// the chunks of `source`.
static tp::ReduceScatterOp scatterOf(Value value, unsigned dim,
                                     const RingSource &source) {
  Operation *reader = *value.user_begin();
  if (isa<tensor::ExtractSliceOp>(reader) && reader->hasOneUse())
    reader = *reader->user_begin();
  SmallVector<ScatteredPart> parts;
  if (auto concat = dyn_cast<tensor::ConcatOp>(reader)) {
    if (concat.getDim() != dim || !concat->hasOneUse())
      return nullptr;
    for (Value piece : concat.getInputs()) {
      std::optional<ScatteredPart> part = partOf(piece, value, dim);
      if (!part || (piece != value && part->offset && !piece.hasOneUse()))
        return nullptr;
      parts.push_back(*part);
    }
    auto isPiece = [&](Operation *user) {
      return user == concat ||
             llvm::is_contained(user->getUsers(), concat.getOperation());
    };
    if (!llvm::all_of(value.getUsers(), isPiece))
      return nullptr;
    reader = *concat->user_begin();
  } else if (value.hasOneUse()) {
    parts.push_back({0, tp::target::shapeOf(value)[dim]});
  }
  auto scatter = dyn_cast<tp::ReduceScatterOp>(reader);
  tp::AllGatherOp gather = source.gather;
  if (!scatter || parts.empty() || scatter.getDim() != dim ||
      scatter.getReduction().getValue() != tp::ReductionKind::Sum ||
      scatter.getAxes() != gather.getAxes() ||
      tp::target::shapeOf(scatter.getResult())[dim] != source.chunk)
    return nullptr;
  std::vector<SmallVector<ChunkRun, 1>> runs(source.runs.size());
  int64_t at = 0;
  for (const ScatteredPart &part : parts)
    for (int64_t taken = 0; taken < part.size;) {
      int64_t local = at % source.chunk;
      int64_t size = std::min(part.size - taken, source.chunk - local);
      if (part.offset)
        runs[at / source.chunk].push_back({local, *part.offset + taken, size});
      at += size;
      taken += size;
    }
  for (SmallVectorImpl<ChunkRun> &each : runs)
    if (!settle(each))
      return nullptr;
  return runs == source.runs ? scatter : nullptr;
}

std::optional<RingGradient>
tp::target::ringGradientOf(const GradientProduct &product,
                           const RingSource &source, unsigned key,
                           Operation *first) {
  linalg::LinalgOp op = product.product.op;
  std::optional<unsigned> dim;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [d, expr] : llvm::enumerate(map.getResults())) {
    SmallVector<unsigned> loops;
    for (auto [number, owner] : llvm::enumerate(product.loops.loops.owner))
      if (expr.isFunctionOfDim(owner))
        if (std::optional<unsigned> loop = product.loops.loop(number))
          loops.push_back(*loop);
    if (loops == SmallVector<unsigned>{key})
      dim = d;
  }
  if (!dim)
    return std::nullopt;
  RingGradient found{&product, {{op, *dim}}, nullptr};
  while (true) {
    auto [maker, keys] = found.path.back();
    Value value = maker->getResult(0);
    if (value.use_empty())
      return std::nullopt;
    if (tp::ReduceScatterOp scatter = scatterOf(value, keys, source)) {
      found.scatter = scatter;
      return found;
    }
    if (!value.hasOneUse())
      return std::nullopt;
    OpOperand &use = *value.use_begin();
    std::optional<unsigned> next = keysThrough(use, keys);
    if (!next || !readsEarlier(use.getOwner(), value, first))
      return std::nullopt;
    found.path.push_back({use.getOwner(), *next});
  }
}

Value tp::target::alongPath(OpBuilder &builder, const RingGradient &gradient,
                            Value chunk) {
  auto [product, keyDim] = gradient.path.front();
  int64_t keys = tp::target::shapeOf(chunk)[keyDim];
  Value whole = product->getResult(0);
  for (auto [op, dim] : llvm::drop_begin(gradient.path)) {
    auto old = cast<RankedTensorType>(op->getResult(0).getType());
    SmallVector<int64_t> shape(old.getShape());
    shape[dim] = keys;
    auto type = RankedTensorType::get(shape, old.getElementType());
    Location loc = op->getLoc();
    if (auto view = dyn_cast<tensor::CollapseShapeOp>(op)) {
      chunk = tensor::CollapseShapeOp::create(builder, loc, type, chunk,
                                              view.getReassociationIndices());
    } else if (auto view = dyn_cast<tensor::ExpandShapeOp>(op)) {
      chunk = tensor::ExpandShapeOp::create(builder, loc, type, chunk,
                                            view.getReassociationIndices());
    } else {
      auto loops = cast<linalg::GenericOp>(op);
      Value start =
          tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
      if (loops.payloadUsesValueFromOperand(loops.getDpsInitOperand(0))) {
        Value number =
            arith::ConstantOp::create(builder, loc, constantStart(loops));
        start =
            linalg::FillOp::create(builder, loc, number, start).getResult(0);
      }
      SmallVector<Value> operands;
      for (OpOperand *input : loops.getDpsInputOperands())
        operands.push_back(input->get() == whole ? chunk : input->get());
      operands.push_back(start);
      chunk = clone(builder, op, type, operands)->getResult(0);
    }
    whole = op->getResult(0);
  }
  return chunk;
}
