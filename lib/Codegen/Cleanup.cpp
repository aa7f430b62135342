//===- Cleanup.cpp - a per-rank function as the code generator wants it ---===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Little is needed: the code generator reads through views and computes single
// uses in place, so neither reshapes nor elementwise ops have to be fused here.
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace tp::target;

/// An assertion of the function itself becomes one in the body of an op that
/// makes one element: what runs are kernels, and bodies can check.
static void moveChecksIntoBodies(func::FuncOp function) {
  OpBuilder builder(function.getContext());
  for (auto check :
       llvm::make_early_inc_range(function.front().getOps<cf::AssertOp>())) {
    builder.setInsertionPoint(check);
    auto type = RankedTensorType::get({}, builder.getI1Type());
    Value empty = tensor::EmptyOp::create(builder, check.getLoc(),
                                          type.getShape(), builder.getI1Type());
    auto map = AffineMap::get(builder.getContext());
    linalg::GenericOp::create(builder, check.getLoc(), type, ValueRange(),
                              empty, map, ArrayRef<utils::IteratorType>(),
                              [&](OpBuilder &nested, Location loc, ValueRange) {
                                nested.clone(*check);
                                linalg::YieldOp::create(nested, loc,
                                                        check.getArg());
                              });
    check.erase();
  }
}

namespace {
/// Truncates a constant here. Upstream's fold leaves one that is not exact, and
/// then a scaling by it (exporters write scalars as f64) would be no scaling by
/// a constant.
struct FoldTruncatedConstant : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::TruncFOp op,
                                PatternRewriter &rewriter) const override {
    APFloat number(0.0);
    auto type = dyn_cast<FloatType>(op.getType());
    // Of f8 not every format rounds and overflows as IEEE's do.
    if (!type || type.getWidth() < 16 || op.getRoundingmode() ||
        !matchPattern(op.getIn(), m_ConstantFloat(&number)))
      return failure();
    bool losesInfo = false;
    number.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &losesInfo);
    // Outside of the body, whose form then shows.
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(
        &op->getParentOfType<func::FuncOp>().front());
    Value constant =
        arith::ConstantFloatOp::create(rewriter, op.getLoc(), type, number);
    rewriter.replaceOp(op, constant);
    return success();
  }
};
} // namespace

void tp::target::cleanUp(func::FuncOp function, const TargetTraits &traits) {
  MLIRContext *context = function.getContext();
  RewritePatternSet patterns(context);
  // Folding comes with the driver; these make constants and dims meet it.
  tensor::CastOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExtractOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExtractSliceOp::getCanonicalizationPatterns(patterns, context);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns, context);
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns, context);
  arith::SelectOp::getCanonicalizationPatterns(patterns, context);
  patterns.add<FoldTruncatedConstant>(context);
  populateWidenContractions(patterns, traits);
  GreedyRewriteConfig config;
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  (void)applyPatternsGreedily(function, std::move(patterns), config);
  IRRewriter rewriter(context);
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  moveChecksIntoBodies(function);
}
