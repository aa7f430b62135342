//===- ParameterView.cpp - what is read of a parameter --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parameters/ParameterView.h"
#include "ParameterUse.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace tp;

Value tp::viewSource(Operation *op) {
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, tensor::CastOp,
          ConstrainOp>(op))
    return op->getOperand(0);
  if (auto transpose = dyn_cast<linalg::TransposeOp>(op))
    return transpose.getInput();
  return {};
}

OpOperand *tp::copiedInput(linalg::LinalgOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumDpsInits() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !op.getBlock()->mightHaveTerminator())
    return nullptr;
  OpOperand *input = op.getDpsInputOperand(0);
  if (!isa<RankedTensorType>(input->get().getType()) ||
      !op.getMatchingIndexingMap(input).isProjectedPermutation(
          /*allowZeroInResults=*/true))
    return nullptr;
  Value yielded = op.getBlock()->getTerminator()->getOperand(0);
  while (Operation *cast = yielded.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(cast))
      return nullptr;
    yielded = cast->getOperand(0);
  }
  return yielded == op.getMatchingBlockArgument(input) ? input : nullptr;
}

/// `view` seen through a slice that has one of many along a dimension, or some
/// of them, and all along the others. A row of a matrix is no weight of a
/// layer.
static std::optional<ParameterView> followSlice(const ParameterView &view,
                                                tensor::ExtractSliceOp slice) {
  if (slice.getSourceType().getRank() < 3)
    return std::nullopt;
  ParameterView next{slice.getResult(), {}, view.stackedDim, view.partOf};
  llvm::SmallBitVector dropped = slice.getDroppedDims();
  for (int64_t dim = 0; dim < slice.getSourceType().getRank(); ++dim) {
    int64_t size = slice.getStaticSizes()[dim], of = view.dims[dim];
    bool isOne = size == 1,
         isWhole = size == slice.getSourceType().getDimSize(dim);
    if (!isWhole) {
      // A stack is one dimension, which reshapes may have split.
      std::optional<unsigned> &cut = isOne ? next.stackedDim : next.partOf;
      if (of < 0 || next.stackedDim.value_or(of) != of ||
          next.partOf.value_or(of) != of)
        return std::nullopt;
      cut = of;
    }
    if (!dropped[dim])
      next.dims.push_back(of);
  }
  return next;
}

std::optional<ParameterView> tp::follow(const ParameterView &view,
                                        Operation *op) {
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return followSlice(view, slice);
  ParameterView next{{}, {}, view.stackedDim, view.partOf};
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op)) {
    next.value = expand.getResult();
    next.dims.resize(expand.getResultType().getRank(), -1);
    // What a reshape adds is none of the parameter's.
    for (auto [i, group] : llvm::enumerate(expand.getReassociationIndices()))
      for (int64_t dim : group)
        if (expand.getResultType().getDimSize(dim) != 1 || group.size() == 1)
          next.dims[dim] = view.dims[i];
    return next;
  }
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op)) {
    next.value = collapse.getResult();
    for (ArrayRef<int64_t> group : collapse.getReassociationIndices()) {
      uint64_t bits = 0;
      bool isOther = false;
      for (int64_t source : group) {
        if (collapse.getSrcType().getDimSize(source) == 1)
          continue;
        bits |= bitsOfDims(view.dims[source]);
        isOther |= view.dims[source] == -1;
      }
      if (isOther && bits)
        return std::nullopt;
      next.dims.push_back(mergedDims(bits));
    }
    return next;
  }
  if (isa<tensor::CastOp, ConstrainOp>(op)) {
    next.value = op->getResult(0);
    next.dims = view.dims;
    return next;
  }
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  OpOperand *input = linalgOp ? copiedInput(linalgOp) : nullptr;
  if (!input || input->get() != view.value)
    return std::nullopt;
  AffineMap from = linalgOp.getMatchingIndexingMap(input);
  AffineMap to = linalgOp.getMatchingIndexingMap(linalgOp.getDpsInitOperand(0));
  next.value = op->getResult(0);
  for (AffineExpr loop : to.getResults()) {
    std::optional<unsigned> dim = from.getResultPosition(loop);
    next.dims.push_back(dim ? view.dims[*dim] : -1);
  }
  return next;
}
