//===- LocalOpBuilder.cpp - making what one rank computes -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Interfaces/LocalOpBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp;

LocalOpBuilder::LocalOpBuilder(OpBuilder &builder, Operation *op, MeshAttr mesh,
                               const ShardingRule &rule,
                               const Strategy &strategy, ValueRange localSlots)
    : builder(builder), op(op), rule(rule), strategy(strategy), mesh(mesh),
      localSlots(localSlots) {}

IRMapping LocalOpBuilder::mapping() const {
  IRMapping mapping = scalars;
  for (auto [global, local] : llvm::zip_equal(rule.slots, localSlots))
    mapping.map(global, local);
  return mapping;
}

RankedTensorType LocalOpBuilder::resultType(unsigned result) const {
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  Layout layout = rule.resultLayout(result, strategy);
  return RankedTensorType::get(layout.localShape(type.getShape()),
                               type.getElementType());
}

bool LocalOpBuilder::isSplit(unsigned factor) const {
  return !strategy.partsSplitting(factor).empty();
}

int64_t LocalOpBuilder::localSize(unsigned factor) const {
  int64_t size = rule.factors[factor].size;
  for (AxisPart part : strategy.partsSplitting(factor))
    size = llvm::divideCeil(size, part.size);
  return size;
}

Value LocalOpBuilder::offset(unsigned factor) {
  // Nested chunks: each part moves by whole chunks of what the parts before it
  // left, so the last chunk's offset may lie beyond the end (an empty rank).
  Location loc = op->getLoc();
  Value offset = arith::ConstantIndexOp::create(builder, loc, 0);
  int64_t chunk = rule.factors[factor].size;
  for (AxisPart part : strategy.partsSplitting(factor)) {
    chunk = llvm::divideCeil(chunk, part.size);
    Value index = AxisIndexOp::create(
        builder, loc, AxesAttr::get(builder.getContext(), mesh, {part}));
    Value size = arith::ConstantIndexOp::create(builder, loc, chunk);
    Value step = arith::MulIOp::create(builder, loc, index, size);
    offset = arith::AddIOp::create(builder, loc, offset, step);
  }
  return offset;
}

Value LocalOpBuilder::end(unsigned factor) {
  // A chunk may reach beyond the one it is nested in, so every level has an
  // end of its own.
  Location loc = op->getLoc();
  int64_t chunk = rule.factors[factor].size;
  Value start = arith::ConstantIndexOp::create(builder, loc, 0);
  Value end = arith::ConstantIndexOp::create(builder, loc, chunk);
  for (AxisPart part : strategy.partsSplitting(factor)) {
    chunk = llvm::divideCeil(chunk, part.size);
    Value index = AxisIndexOp::create(
        builder, loc, AxesAttr::get(builder.getContext(), mesh, {part}));
    Value size = arith::ConstantIndexOp::create(builder, loc, chunk);
    Value step = arith::MulIOp::create(builder, loc, index, size);
    start = arith::AddIOp::create(builder, loc, start, step);
    Value after = arith::AddIOp::create(builder, loc, start, size);
    end = arith::MinSIOp::create(builder, loc, end, after);
  }
  return end;
}
