//===- WidenContractions.cpp - f16 and bf16 contractions in f32 -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A contraction of widened operands is the contraction of operands widened
// before: products of f16 or bf16 are exact in f32 either way.
//
//===----------------------------------------------------------------------===//

#include "CPUPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tp::cpu;

/// The block argument behind a value, through one widening; null if there is
/// something else.
static BlockArgument widenedArgument(Value value, bool &widens) {
  if (auto extension = value.getDefiningOp<arith::ExtFOp>()) {
    widens = true;
    value = extension.getIn();
  }
  return dyn_cast<BlockArgument>(value);
}

static Value widen(OpBuilder &builder, Location loc, Value value, Type type) {
  auto narrow = cast<RankedTensorType>(value.getType());
  if (narrow.getElementType() == type)
    return value;
  Value empty = tensor::EmptyOp::create(builder, loc, narrow.getShape(), type);
  AffineMap identity =
      AffineMap::getMultiDimIdentityMap(narrow.getRank(), builder.getContext());
  SmallVector<utils::IteratorType> loops(narrow.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), value, empty,
             ArrayRef<AffineMap>{identity, identity}, loops,
             [](OpBuilder &inner, Location loc, ValueRange arguments) {
               Value wide = arith::ExtFOp::create(
                   inner, loc, arguments[1].getType(), arguments[0]);
               linalg::YieldOp::create(inner, loc, wide);
             })
      ->getResult(0);
}

namespace {
struct WidenContraction : OpInterfaceRewritePattern<linalg::LinalgOp> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(linalg::LinalgOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.hasPureTensorSemantics() || op->getNumResults() != 1 ||
        op.getNumReductionLoops() == 0 || op.getNumDpsInputs() != 2)
      return failure();
    auto result = cast<RankedTensorType>(op->getResult(0).getType());
    Type type = result.getElementType();
    Block *body = op.getBlock();
    auto add =
        body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
    if (!add || !(type.isF32() || type.isF64()))
      return failure();
    OpOperand *init = op.getDpsInitOperand(0);
    Value accumulator = op.getMatchingBlockArgument(init);
    if (add.getLhs() != accumulator && add.getRhs() != accumulator)
      return failure();
    auto mul = (add.getLhs() == accumulator ? add.getRhs() : add.getLhs())
                   .getDefiningOp<arith::MulFOp>();
    bool widens = false;
    if (!mul || mul->getBlock() != body)
      return failure();
    BlockArgument lhs = widenedArgument(mul.getLhs(), widens);
    BlockArgument rhs = widenedArgument(mul.getRhs(), widens);
    if (!widens || !lhs || !rhs || lhs.getOwner() != body ||
        rhs.getOwner() != body || lhs == accumulator || rhs == accumulator)
      return failure();
    OpOperand *operands[2] = {operandOfArgument(op, lhs),
                              operandOfArgument(op, rhs)};
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    for (OpOperand *operand : operands) {
      if (!isa<RankedTensorType>(operand->get().getType()))
        return failure();
      inputs.push_back(widen(rewriter, op.getLoc(), operand->get(), type));
      maps.push_back(op.getMatchingIndexingMap(operand));
    }
    maps.push_back(op.getMatchingIndexingMap(init));
    auto wide = linalg::GenericOp::create(
        rewriter, op.getLoc(), result, inputs, init->get(), maps,
        op.getIteratorTypesArray(),
        [](OpBuilder &inner, Location loc, ValueRange arguments) {
          Value product =
              arith::MulFOp::create(inner, loc, arguments[0], arguments[1]);
          Value sum = arith::AddFOp::create(inner, loc, arguments[2], product);
          linalg::YieldOp::create(inner, loc, sum);
        });
    rewriter.replaceOp(op, wide);
    return success();
  }
};
} // namespace

void tp::cpu::populateWidenContractions(RewritePatternSet &patterns) {
  patterns.add<WidenContraction>(patterns.getContext());
}
