//===- WidenSums.cpp - sums of f16 and bf16 in f32 ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write the sum of a bf16 tensor as bf16 additions. Frameworks add in
// f32 and round once: a bf16 sum of many numbers stops growing after a few
// hundred. Products that are summed are taken in f32 too, where they are exact.
//
//===----------------------------------------------------------------------===//

#include "Prepare.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "tp/IR/FloatCasts.h"

using namespace mlir;
using namespace tp;

/// The addition or multiplication that result `number` accumulates by, if that
/// is all the body does with the accumulator and its type is narrower than f32.
static Operation *narrowCombiner(linalg::GenericOp op, unsigned number) {
  Type type = getElementTypeOrSelf(op.getResult(number).getType());
  if (!isa<FloatType>(type) || type.getIntOrFloatBitWidth() >= 32)
    return nullptr;
  BlockArgument accumulator = op.getRegionOutputArgs()[number];
  Operation *combiner =
      op.getBlock()->getTerminator()->getOperand(number).getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::MulFOp>(combiner) ||
      combiner->getBlock() != op.getBlock() || !accumulator.hasOneUse() ||
      *accumulator.user_begin() != combiner ||
      !combiner->getResult(0).hasOneUse())
    return nullptr;
  return combiner;
}

/// `value` in f32 inside a body; a product that only the sum reads is taken
/// there.
static Value widened(OpBuilder &builder, Value value, IRMapping &mapping) {
  Location loc = value.getLoc();
  auto extend = [&](Value narrow) -> Value {
    return arith::ExtFOp::create(builder, loc, builder.getF32Type(),
                                 mapping.lookupOrDefault(narrow));
  };
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!product || !value.hasOneUse())
    return extend(value);
  return arith::MulFOp::create(builder, product.getLoc(),
                               extend(product.getLhs()),
                               extend(product.getRhs()));
}

/// An init in f32: a fill stays one.
static Value widenedInit(OpBuilder &builder, Location loc, Value init) {
  FloatAttr constant;
  if (auto fill = init.getDefiningOp<linalg::FillOp>();
      fill && matchPattern(fill.getInputs()[0], m_Constant(&constant))) {
    Value empty = tensor::EmptyOp::create(
        builder, loc, cast<RankedTensorType>(init.getType()).getShape(),
        builder.getF32Type());
    Value scalar = arith::ConstantOp::create(
        builder, loc, builder.getF32FloatAttr(constant.getValueAsDouble()));
    return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
  }
  return castElements(builder, loc, init, builder.getF32Type());
}

static void widenSums(linalg::GenericOp op, IRRewriter &rewriter) {
  if (op.getNumReductionLoops() == 0)
    return;
  // The combiner of every result that is widened.
  SmallVector<Operation *> combiners;
  for (unsigned number = 0; number < op.getNumResults(); ++number)
    combiners.push_back(narrowCombiner(op, number));
  if (!llvm::any_of(combiners, [](Operation *found) { return found; }))
    return;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(op);
  SmallVector<Value> inits(op.getOutputs());
  for (auto [init, combiner] : llvm::zip_equal(inits, combiners))
    if (combiner)
      init = widenedInit(rewriter, loc, init);
  Block *body = op.getBlock();
  auto wide = linalg::GenericOp::create(
      rewriter, loc, TypeRange(ValueRange(inits)), op.getInputs(), inits,
      op.getIndexingMapsArray(), op.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        IRMapping mapping;
        for (auto [old, argument] :
             llvm::zip(body->getArguments(), arguments)) {
          argument.setLoc(old.getLoc());
          mapping.map(old, argument);
        }
        for (Operation &old : *body) {
          auto it = llvm::find(combiners, &old);
          if (it == combiners.end()) {
            inner.clone(old, mapping);
            continue;
          }
          BlockArgument accumulator =
              op.getRegionOutputArgs()[it - combiners.begin()];
          bool isFirst = old.getOperand(0) == accumulator;
          Value term = widened(inner, old.getOperand(isFirst ? 1 : 0), mapping);
          Value sum = mapping.lookup(accumulator);
          SmallVector<Value> operands = {isFirst ? sum : term,
                                         isFirst ? term : sum};
          Operation *combined =
              isa<arith::AddFOp>(old)
                  ? arith::AddFOp::create(inner, old.getLoc(), operands[0],
                                          operands[1])
                  : arith::MulFOp::create(inner, old.getLoc(), operands[0],
                                          operands[1]);
          mapping.map(old.getResult(0), combined->getResult(0));
        }
      });
  // The narrow products that are not read any more.
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::reverse(*wide.getBlock())))
    if (isOpTriviallyDead(&inner))
      rewriter.eraseOp(&inner);
  SmallVector<Value> results(wide.getResults());
  for (auto [number, combiner] : llvm::enumerate(combiners))
    if (combiner)
      results[number] =
          castElements(rewriter, loc, results[number],
                       getElementTypeOrSelf(op.getResult(number).getType()));
  rewriter.replaceOp(op, results);
}

void tp::widenSums(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      ::widenSums(generic, rewriter);
}
