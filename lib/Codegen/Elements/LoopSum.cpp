//===- LoopSum.cpp - an integer as a loop's index and a scalar ------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopSum.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp::target;

static unsigned widthOf(Value integer) {
  Type type = integer.getType();
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// How many indices from 0 on an integer of `width` bits can be.
static int64_t mostIndices(unsigned width) {
  return width >= 64 ? std::numeric_limits<int64_t>::max()
                     : int64_t(1) << (width - 1);
}

std::optional<LoopSum>
tp::target::sumOfOp(OpBuilder &builder, Location loc, Operation *op,
                    ArrayRef<LoopSum> operands,
                    llvm::function_ref<int64_t(unsigned)> extentOf) {
  auto make = [&](ArrayRef<Value> scalars) -> Value {
    IRMapping mapping;
    mapping.map(op->getOperands(), scalars);
    return builder.clone(*op, mapping)->getResult(0);
  };
  SmallVector<Value> scalars;
  unsigned numLoops = 0;
  for (const LoopSum &operand : operands) {
    scalars.push_back(operand.scalar);
    numLoops += operand.loop.has_value();
  }
  if (numLoops == 0)
    return LoopSum{std::nullopt, make(scalars)};
  // Sums wrap around, and so does what they are compared with for equality. An
  // index must not, and a wider type would show that a sum has.
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op)) {
    unsigned from = widthOf(op->getOperand(0)), to = widthOf(op->getResult(0));
    if (extentOf(*operands[0].loop) > mostIndices(to) ||
        (operands[0].scalar && to > from))
      return std::nullopt;
    return LoopSum{operands[0].loop,
                   operands[0].scalar ? make(scalars) : Value()};
  }
  bool isSum = isa<arith::AddIOp>(op);
  if (numLoops > 1 || (!isSum && !isa<arith::SubIOp>(op)) ||
      (!isSum && operands[1].loop))
    return std::nullopt;
  const LoopSum &withLoop = operands[operands[0].loop ? 0 : 1];
  const LoopSum &other = operands[operands[0].loop ? 1 : 0];
  if (withLoop.scalar)
    return LoopSum{withLoop.loop, make(scalars)};
  if (isSum)
    return LoopSum{withLoop.loop, other.scalar};
  Value zero = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(other.scalar.getType()));
  return LoopSum{withLoop.loop,
                 arith::SubIOp::create(builder, loc, zero, other.scalar)};
}

Value tp::target::indexWhereEqual(OpBuilder &builder, Location loc,
                                  const LoopSum &sum, Value number) {
  if (!sum.scalar)
    return number;
  return arith::SubIOp::create(builder, loc, number, sum.scalar);
}
