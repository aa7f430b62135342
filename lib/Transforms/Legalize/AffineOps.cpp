//===- AffineOps.cpp - ops of affine as arithmetic ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "Legalize.h"
#include "mlir/Dialect/Affine/Transforms/Transforms.h"
#include "mlir/IR/PatternMatch.h"
#include "tp/IR/AffineRange.h"

using namespace mlir;
using namespace tp;

static AffineBounds boundsOfOperand(Value operand) {
  if (auto index = operand.getDefiningOp<linalg::IndexOp>())
    if (auto op = dyn_cast<linalg::LinalgOp>(index->getParentOp())) {
      int64_t extent = op.getStaticLoopRanges()[index.getDim()];
      if (!ShapedType::isDynamic(extent))
        return {0, extent - 1};
    }
  return {-largestBound, largestBound};
}

/// Every constant divisor is one that division is defined for.
static LogicalResult checkDivisors(Operation *op, AffineMap map) {
  bool valid = true;
  map.walkExprs([&](AffineExpr part) {
    bool isMod = part.getKind() == AffineExprKind::Mod;
    if (!isMod && part.getKind() != AffineExprKind::FloorDiv &&
        part.getKind() != AffineExprKind::CeilDiv)
      return;
    auto by =
        dyn_cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(part).getRHS());
    valid &= !by || by.getValue() > 0;
  });
  if (valid)
    return success();
  return op->emitError() << "'" << op->getName()
                         << "' divides by a constant below 1, expected one "
                            "above 0 in "
                         << AffineMapAttr::get(map);
}

static SmallVector<Value> resultsOf(OpBuilder &builder, Operation *op,
                                    AffineMap map) {
  ValueRange dims = op->getOperands().take_front(map.getNumDims());
  ValueRange symbols = op->getOperands().drop_front(map.getNumDims());
  auto operandOf = [&](AffineExpr leaf) {
    if (auto dim = dyn_cast<AffineDimExpr>(leaf))
      return dims[dim.getPosition()];
    return symbols[cast<AffineSymbolExpr>(leaf).getPosition()];
  };
  auto bounds = [&](AffineExpr leaf) {
    return boundsOfOperand(operandOf(leaf));
  };
  SmallVector<Value> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(emitAffine(builder, op->getLoc(), builder.getIndexType(),
                                 expr, bounds, operandOf));
  return results;
}

template <typename Choice>
static Value choose(OpBuilder &builder, Location loc, ArrayRef<Value> values) {
  Value chosen = values.front();
  for (Value value : values.drop_front())
    chosen = Choice::create(builder, loc, chosen, value);
  return chosen;
}

static LogicalResult expandIndices(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    if (isa<affine::AffineDelinearizeIndexOp, affine::AffineLinearizeIndexOp>(
            op))
      found.push_back(op);
  });
  for (Operation *op : found) {
    rewriter.setInsertionPoint(op);
    auto split = dyn_cast<affine::AffineDelinearizeIndexOp>(op);
    LogicalResult done =
        split ? affine::lowerAffineDelinearizeIndexOp(rewriter, split)
              : affine::lowerAffineLinearizeIndexOp(
                    rewriter, cast<affine::AffineLinearizeIndexOp>(op));
    if (failed(done))
      return op->emitError() << "'" << op->getName()
                             << "' is not handled in this form, expected "
                                "affine.apply";
  }
  return success();
}

LogicalResult legalize::writeAffineAsArith(func::FuncOp function) {
  if (failed(expandIndices(function)))
    return failure();
  SmallVector<Operation *> found;
  function.walk([&](Operation *op) {
    if (isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp>(
            op))
      found.push_back(op);
  });
  OpBuilder builder(function.getContext());
  for (Operation *op : found) {
    auto apply = dyn_cast<affine::AffineApplyOp>(op);
    auto min = dyn_cast<affine::AffineMinOp>(op);
    AffineMap map = apply ? apply.getAffineMap()
                    : min ? min.getAffineMap()
                          : cast<affine::AffineMaxOp>(op).getAffineMap();
    if (failed(checkDivisors(op, map)))
      return failure();
    builder.setInsertionPoint(op);
    SmallVector<Value> results = resultsOf(builder, op, map);
    Location loc = op->getLoc();
    Value result = min ? choose<arith::MinSIOp>(builder, loc, results)
                       : choose<arith::MaxSIOp>(builder, loc, results);
    op->getResult(0).replaceAllUsesWith(result);
    op->erase();
  }
  return success();
}
