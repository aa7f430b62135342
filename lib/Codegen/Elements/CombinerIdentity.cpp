//===- CombinerIdentity.cpp - what leaves an operand as it is
//--------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CombinerIdentity.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

static std::optional<APFloat>
identityOfFloats(Operation *op, const llvm::fltSemantics &format) {
  if (isa<arith::AddFOp>(op))
    return APFloat::getZero(format, /*Negative=*/true);
  if (isa<arith::MulFOp>(op))
    return APFloat::getOne(format);
  if (isa<arith::MaximumFOp>(op))
    return APFloat::getInf(format, /*Negative=*/true);
  if (isa<arith::MinimumFOp>(op))
    return APFloat::getInf(format);
  // Of a number and NaN they take the number.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op))
    return APFloat::getNaN(format);
  return std::nullopt;
}

static std::optional<APInt> identityOfIntegers(Operation *op, unsigned width) {
  if (isa<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(op))
    return APInt::getZero(width);
  if (isa<arith::MulIOp>(op))
    return APInt(width, 1);
  if (isa<arith::MaxSIOp>(op))
    return APInt::getSignedMinValue(width);
  if (isa<arith::MinSIOp>(op))
    return APInt::getSignedMaxValue(width);
  if (isa<arith::MinUIOp, arith::AndIOp>(op))
    return APInt::getAllOnes(width);
  return std::nullopt;
}

TypedAttr tp::target::identityOf(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumOperands() != 2)
    return {};
  Type type = op->getResult(0).getType();
  Builder builder(op->getContext());
  if (auto real = dyn_cast<FloatType>(type)) {
    auto number = identityOfFloats(op, real.getFloatSemantics());
    return number ? builder.getFloatAttr(type, *number) : TypedAttr();
  }
  if (!type.isIntOrIndex())
    return {};
  auto number = identityOfIntegers(
      op, type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
  return number ? builder.getIntegerAttr(type, *number) : TypedAttr();
}
