//===- WeightFinder.cpp - weights that plans forget -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WeightFinder.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

/// Ops between a collective or a weight and the product.
static constexpr unsigned mostSteps = 12;

/// Ops of one operand that keep all its elements: casts and other orders.
static bool isView(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return true;
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  return linalgOp && linalgOp.getNumDpsInputs() == 1 &&
         linalgOp.getNumReductionLoops() == 0;
}

//===----------------------------------------------------------------------===//
// Back to the weight
//===----------------------------------------------------------------------===//

/// A dimension of a tensor, and the one that it is in what the tensor is a view
/// or a part of; nothing where that is no one dimension.
static std::optional<std::pair<Value, int64_t>> sourceOf(Value value,
                                                         int64_t dim) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (auto [place, group] :
         llvm::enumerate(expand.getReassociationIndices()))
      if (llvm::is_contained(group, dim))
        return std::pair(expand.getSrc(), int64_t(place));
    return std::nullopt;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    for (int64_t part : collapse.getReassociationIndices()[dim])
      if (collapse.getSrcType().getDimSize(part) != 1)
        return std::pair(collapse.getSrc(), part);
    return std::nullopt;
  }
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    for (int64_t place = 0, kept = 0; place < int64_t(dropped.size()); ++place)
      if (!dropped.test(place) && kept++ == dim)
        return std::pair(slice.getSource(), place);
    return std::nullopt;
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !isView(op))
    return std::nullopt;
  AffineExpr loop =
      linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0))
          .getResult(dim);
  OpOperand *input = linalgOp.getDpsInputOperand(0);
  for (auto [place, expr] :
       llvm::enumerate(linalgOp.getMatchingIndexingMap(input).getResults()))
    if (expr == loop)
      return std::pair(input->get(), int64_t(place));
  return std::nullopt;
}

/// Adds the parameter behind `value`, if ranks hold it whole and no entry names
/// it.
void WeightFinder::add(Value value, int64_t dim, ForgottenWeight::Split split) {
  for (unsigned step = 0; step < mostSteps && !isa<BlockArgument>(value);
       ++step) {
    auto source = sourceOf(value, dim);
    if (!source)
      return;
    std::tie(value, dim) = *source;
  }
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != &function.front())
    return;
  unsigned number = argument.getArgNumber();
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  auto kind = function.getArgAttrOfType<StringAttr>(number, attr::kind);
  auto name = function.getArgAttrOfType<StringAttr>(number, attr::name);
  auto whole = function.getArgAttrOfType<TypeAttr>(number, attr::globalType);
  if (!type || type.getRank() < 2 || !kind || kind.getValue() != "parameter" ||
      !name || !whole || whole.getValue() != type ||
      bound.containsParameter(number, name.getValue()))
    return;
  found.insert(
      {name.getValue(), {split, unsigned(dim), unsigned(type.getRank())}});
}

//===----------------------------------------------------------------------===//
// On to the product
//===----------------------------------------------------------------------===//

void WeightFinder::followInto(OpOperand &use, int64_t dim, unsigned steps,
                              OnLoop onLoop) {
  Operation *op = use.getOwner();
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    for (auto [place, group] :
         llvm::enumerate(collapse.getReassociationIndices()))
      if (llvm::is_contained(group, dim))
        follow(collapse.getResult(), place, steps, onLoop);
    return;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    for (int64_t part : expand.getReassociationIndices()[dim])
      if (expand.getResultType().getDimSize(part) != 1)
        return follow(expand.getResult(), part, steps, onLoop);
    return;
  }
  // A layer of a stack has all of its other dimensions.
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    if (dropped.test(dim) ||
        slice.getStaticSizes()[dim] != slice.getSourceType().getDimSize(dim))
      return;
    int64_t place = dim;
    for (int64_t before = 0; before < dim; ++before)
      place -= dropped.test(before);
    return follow(slice.getResult(), place, steps, onLoop);
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || op->getNumResults() != 1 || !linalgOp.isDpsInput(&use))
    return;
  auto loop = dyn_cast<AffineDimExpr>(
      linalgOp.getMatchingIndexingMap(&use).getResult(dim));
  if (!loop || !onLoop(use, loop.getPosition()))
    return;
  AffineMap written =
      linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
  for (auto [place, expr] : llvm::enumerate(written.getResults()))
    if (expr == loop)
      follow(op->getResult(0), place, steps, onLoop);
}

void WeightFinder::follow(Value value, int64_t dim, unsigned steps,
                          OnLoop onLoop) {
  if (steps < mostSteps)
    for (OpOperand &use : value.getUses())
      followInto(use, dim, steps + 1, onLoop);
}

static bool isSum(Operation *op, unsigned loop) {
  return cast<linalg::LinalgOp>(op).getIteratorTypesArray()[loop] ==
         utils::IteratorType::reduction;
}

/// The other operands of a product that the loop is a dimension of, with it.
static SmallVector<std::pair<OpOperand *, int64_t>>
factorsBeside(OpOperand &use, unsigned loop) {
  SmallVector<std::pair<OpOperand *, int64_t>> others;
  auto op = cast<linalg::LinalgOp>(use.getOwner());
  for (OpOperand *other : op.getDpsInputOperands())
    if (other != &use)
      for (auto [place, expr] :
           llvm::enumerate(op.getMatchingIndexingMap(other).getResults()))
        if (expr == getAffineDimExpr(loop, op->getContext()))
          others.push_back({other, place});
  return others;
}

/// Whether the product reads a matrix: a vector of each layer, as a norm's
/// scale, is no weight, though the stack of them has two dimensions.
static bool isMatrix(OpOperand &factor) {
  return cast<RankedTensorType>(factor.get().getType()).getRank() >= 2;
}

void WeightFinder::followCollected(Operation *op, int64_t dim) {
  if (isOfBackwardPass(op->getLoc()))
    return;
  follow(op->getResult(0), dim, 0, [&](OpOperand &use, unsigned loop) {
    if (!isSum(use.getOwner(), loop))
      return true;
    for (auto [other, place] : factorsBeside(use, loop))
      if (isMatrix(*other))
        add(other->get(), place, ForgottenWeight::Split::Input);
    return false;
  });
}

/// Whether the number depends on which rank it is.
static bool isOfRank(Value number) {
  llvm::SetVector<Operation *> behind;
  BackwardSliceOptions options;
  options.inclusive = true;
  return succeeded(getBackwardSlice(number, &behind, options)) &&
         llvm::any_of(behind, llvm::IsaPred<AxisIndexOp>);
}

/// Parts of a weight that the rank reads, each up to the first product.
void WeightFinder::followParts(Value value, unsigned steps) {
  for (Operation *user : value.getUsers()) {
    if (isView(user) && steps < mostSteps)
      followParts(user->getResult(0), steps + 1);
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || isOfBackwardPass(slice->getLoc()))
      continue;
    llvm::SmallBitVector dropped = slice.getDroppedDims();
    bool isPart = false;
    int64_t kept = 0;
    for (auto [place, offset] : llvm::enumerate(slice.getMixedOffsets())) {
      if (dropped.test(place))
        continue;
      int64_t dim = kept++;
      auto number = dyn_cast<Value>(offset);
      if (!number || !isOfRank(number))
        continue;
      isPart = true;
      follow(slice.getResult(), dim, 0, [&](OpOperand &use, unsigned loop) {
        auto product = cast<linalg::LinalgOp>(use.getOwner());
        if (product.getNumReductionLoops() == 0)
          return isView(product);
        if (!isMatrix(use))
          return false;
        bool isShared = !factorsBeside(use, loop).empty();
        if (isSum(product, loop) && isShared)
          add(slice.getSource(), place, ForgottenWeight::Split::Sum);
        else if (!isSum(product, loop) && !isShared &&
                 product.getNumDpsInputs() > 1)
          add(slice.getSource(), place, ForgottenWeight::Split::Result);
        return false;
      });
    }
    // A layer of a stack of them.
    if (!isPart && steps < mostSteps)
      followParts(slice.getResult(), steps + 1);
  }
}

void WeightFinder::find() {
  for (Operation &op : function.front()) {
    if (auto gather = dyn_cast<AllGatherOp>(op))
      followCollected(gather, gather.getDim());
    else if (auto allToAll = dyn_cast<AllToAllOp>(op))
      followCollected(allToAll, allToAll.getConcatDim());
  }
  for (BlockArgument argument : function.getArguments())
    if (auto type = dyn_cast<RankedTensorType>(argument.getType());
        type && type.getRank() >= 2)
      followParts(argument, 0);
}
