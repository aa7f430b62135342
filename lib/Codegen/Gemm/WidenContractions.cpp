//===- WidenContractions.cpp - contractions of unlike types in f32 --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction of widened operands is the contraction of operands widened
// before: products of f16 or bf16 are exact in f32 either way. GEMMs take two
// operands of f16, or of bf16, as they are, and on some targets one of them and
// one of f32; other operands of two types, and those of f8, are widened before.
//
//===----------------------------------------------------------------------===//

#include "CodegenPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "tp/IR/FloatCasts.h"

using namespace mlir;
using namespace tp::target;

namespace {
struct WidenContraction : OpInterfaceRewritePattern<linalg::LinalgOp> {
  WidenContraction(MLIRContext *context, const TargetTraits &traits)
      : OpInterfaceRewritePattern(context), traits(traits) {}

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<Contraction> contraction = contractionOf(op);
    if (!contraction || contraction->terms ||
        hasFactorsOfGemm(*contraction, traits))
      return failure();
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    OpOperand *operands[2] = {contraction->lhs, contraction->rhs};
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (OpOperand *operand : operands) {
      inputs.push_back(tp::castElements(rewriter, op.getLoc(), operand->get(),
                                        result.getElementType()));
      maps.push_back(op.getMatchingIndexingMap(operand));
    }
    OpOperand *init = op.getDpsInitOperand(0);
    maps.push_back(op.getMatchingIndexingMap(init));
    auto wide = linalg::GenericOp::create(
        rewriter, op.getLoc(), result, inputs, init->get(), maps,
        op.getIteratorTypesArray(),
        [&](OpBuilder &inner, Location, ValueRange arguments) {
          IRMapping mapping;
          mapping.map(op.getMatchingBlockArgument(init), arguments[2]);
          for (auto [operand, argument] : llvm::zip(operands, arguments))
            mapping.map(op.getMatchingBlockArgument(operand), argument);
          // Extensions go, and what masks iterations stays.
          for (Operation &old : *op.getBlock())
            if (isa<arith::ExtFOp>(old))
              mapping.map(old.getResult(0), mapping.lookup(old.getOperand(0)));
            else
              inner.clone(old, mapping);
        });
    rewriter.replaceOp(op, wide);
    return success();
  }

  TargetTraits traits;
};
} // namespace

void tp::target::populateWidenContractions(RewritePatternSet &patterns,
                                           const TargetTraits &traits) {
  patterns.add<WidenContraction>(patterns.getContext(), traits);
}
