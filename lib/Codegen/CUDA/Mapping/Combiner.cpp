//===- Combiner.cpp - how partial results combine -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Combiner.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

std::optional<SmallVector<Combiner>>
tp::cuda::combinersOf(const ComputeLoop &computeLoop) {
  linalg::LinalgOp op = computeLoop.reduction;
  Operation *yield = op.getBlock()->getTerminator();
  SmallVector<Combiner> combiners;
  for (unsigned number : computeLoop.resultNumbers) {
    Value accumulator =
        op.getMatchingBlockArgument(op.getDpsInitOperand(number));
    Operation *last = yield->getOperand(number).getDefiningOp();
    unsigned uses = 1;
    // Of masked elements the accumulator stays what it was.
    if (auto select = dyn_cast_or_null<arith::SelectOp>(last)) {
      bool first = select.getTrueValue() == accumulator;
      if (!first && select.getFalseValue() != accumulator)
        return std::nullopt;
      last = (first ? select.getFalseValue() : select.getTrueValue())
                 .getDefiningOp();
      ++uses;
      if (last && !last->getResult(0).hasOneUse())
        return std::nullopt;
    }
    if (!isa_and_present<arith::AddFOp, arith::MulFOp, arith::MaximumFOp,
                         arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp,
                         arith::AddIOp, arith::MulIOp, arith::MaxSIOp,
                         arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
                         arith::AndIOp, arith::OrIOp, arith::XOrIOp>(last) ||
        llvm::count(last->getOperands(), accumulator) != 1 ||
        unsigned(llvm::range_size(accumulator.getUses())) != uses ||
        !last->getResult(0).hasOneUse())
      return std::nullopt;
    combiners.push_back({last});
  }
  return combiners;
}

static APFloat neutralFloat(Operation *op, const llvm::fltSemantics &format) {
  if (isa<arith::MulFOp>(op))
    return APFloat::getOne(format);
  if (isa<arith::MaximumFOp>(op))
    return APFloat::getInf(format, /*Negative=*/true);
  if (isa<arith::MinimumFOp>(op))
    return APFloat::getInf(format);
  // Of a number and NaN they take the number.
  if (isa<arith::MaxNumFOp, arith::MinNumFOp>(op))
    return APFloat::getNaN(format);
  return APFloat::getZero(format, /*Negative=*/true);
}

static APInt neutralInteger(Operation *op, unsigned width) {
  if (isa<arith::MulIOp>(op))
    return APInt(width, 1);
  if (isa<arith::MaxSIOp>(op))
    return APInt::getSignedMinValue(width);
  if (isa<arith::MinSIOp>(op))
    return APInt::getSignedMaxValue(width);
  if (isa<arith::MinUIOp, arith::AndIOp>(op))
    return APInt::getAllOnes(width);
  return APInt::getZero(width);
}

Value tp::cuda::neutralElement(OpBuilder &builder, Location loc,
                               const Combiner &combiner) {
  Type type = combiner.op->getResult(0).getType();
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        builder, loc,
        builder.getFloatAttr(
            type, neutralFloat(combiner.op, real.getFloatSemantics())));
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(type, neutralInteger(combiner.op, width)));
}

Value tp::cuda::combine(OpBuilder &builder, Location loc,
                        const Combiner &combiner, Value a, Value b) {
  OperationState state(loc, combiner.op->getName(), ValueRange{a, b},
                       combiner.op->getResultTypes(), combiner.op->getAttrs());
  return builder.create(state)->getResult(0);
}

Type tp::cuda::packedType(Type type) {
  if (type.isIndex())
    return IntegerType::get(type.getContext(), 64);
  return type.isInteger(1) ? IntegerType::get(type.getContext(), 8) : type;
}

Value tp::cuda::packed(OpBuilder &builder, Location loc, Value value) {
  Type type = value.getType(), to = packedType(type);
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, to, value);
  if (type != to)
    return arith::ExtUIOp::create(builder, loc, to, value);
  return value;
}

Value tp::cuda::unpacked(OpBuilder &builder, Location loc, Value value,
                         Type type) {
  if (type.isIndex())
    return arith::IndexCastOp::create(builder, loc, type, value);
  if (type != value.getType())
    return arith::TruncIOp::create(builder, loc, type, value);
  return value;
}
