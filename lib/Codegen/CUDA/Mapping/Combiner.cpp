//===- Combiner.cpp - how partial results combine -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Combiner.h"
#include "Elements/CombinerIdentity.h"
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
    if (!last || !target::identityOf(last) ||
        llvm::count(last->getOperands(), accumulator) != 1 ||
        unsigned(llvm::range_size(accumulator.getUses())) != uses ||
        !last->getResult(0).hasOneUse())
      return std::nullopt;
    combiners.push_back({last});
  }
  return combiners;
}

Value tp::cuda::identityOf(OpBuilder &builder, Location loc,
                           const Combiner &combiner) {
  return arith::ConstantOp::create(builder, loc,
                                   target::identityOf(combiner.op));
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
