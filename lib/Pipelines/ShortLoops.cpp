//===- ShortLoops.cpp - loops of a few iterations -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShortLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

/// An element of what the loop carries, of an integer or a float type.
static Value carriedElement(scf::ForOp loop, OpBuilder &builder) {
  for (BlockArgument carried : loop.getRegionIterArgs()) {
    auto type = dyn_cast<RankedTensorType>(carried.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() == 0 ||
        !type.getElementType().isIntOrFloat())
      continue;
    Value zero = arith::ConstantIndexOp::create(builder, loop.getLoc(), 0);
    SmallVector<Value> first(type.getRank(), zero);
    return tensor::ExtractOp::create(builder, loop.getLoc(), carried, first);
  }
  return {};
}

/// With the number of the iteration known, what other iterations alone read, as
/// branches of a switch, would be gone.
static void hideIteration(scf::ForOp loop) {
  Value iteration = loop.getInductionVar();
  OpBuilder builder = OpBuilder::atBlockBegin(loop.getBody());
  Value element =
      iteration.getType().isIndex() ? carriedElement(loop, builder) : Value();
  if (!element)
    return;
  if (isa<FloatType>(element.getType()))
    element = arith::FPToSIOp::create(builder, loop.getLoc(),
                                      builder.getI64Type(), element);
  iteration.replaceAllUsesWith(arith::IndexCastOp::create(
      builder, loop.getLoc(), iteration.getType(), element));
}

void tp::shortenLoops(ModuleOp module, int64_t limit) {
  constexpr int64_t kept = 2;
  module.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
    auto first = getConstantIntValue(loop.getLowerBound());
    auto end = getConstantIntValue(loop.getUpperBound());
    auto step = getConstantIntValue(loop.getStep());
    if (!first || !end || !step || *step < 1 || *end <= *first)
      return;
    int64_t ops = 0;
    loop.getBody()->walk([&](Operation *) { ++ops; });
    int64_t iterations = llvm::divideCeil(*end - *first, *step);
    if (iterations <= kept || iterations <= limit / ops)
      return;
    OpBuilder builder(loop);
    loop.setUpperBound(arith::ConstantOp::create(
        builder, loop.getLoc(),
        builder.getIntegerAttr(loop.getUpperBound().getType(),
                               *first + kept * *step)));
    hideIteration(loop);
  });
}
