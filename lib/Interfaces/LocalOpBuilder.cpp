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

bool LocalOpBuilder::isUneven(unsigned factor) const {
  int64_t ranks = 1;
  for (AxisPart part : strategy.partsSplitting(factor))
    ranks *= part.size;
  return llvm::any_of(segmentsOf(factor),
                      [&](int64_t size) { return size % ranks != 0; });
}

std::vector<int64_t> LocalOpBuilder::segmentsOf(unsigned factor) const {
  const std::vector<int64_t> &segments = strategy.segmentsOf(factor);
  return segments.empty() ? std::vector<int64_t>{rule.factors[factor].size}
                          : segments;
}

/// The rank's part of a segment of `size` indices.
int64_t LocalOpBuilder::chunkOf(unsigned factor, int64_t size) const {
  for (AxisPart part : strategy.partsSplitting(factor))
    size = llvm::divideCeil(size, part.size);
  return size;
}

int64_t LocalOpBuilder::localSize(unsigned factor) const {
  int64_t local = 0;
  for (int64_t size : segmentsOf(factor))
    local += chunkOf(factor, size);
  return local;
}

FactorWindow LocalOpBuilder::localWindow(const DimFactors &dim) const {
  unsigned factor = dim.front();
  if (!dim.window)
    return {0, localSize(factor)};
  if (!isSplit(factor))
    return *dim.window;
  FactorWindow window;
  int64_t start = 0;
  for (int64_t size : segmentsOf(factor)) {
    if (start < dim.window->offset)
      window.offset += chunkOf(factor, size);
    else if (start < dim.window->offset + dim.window->size)
      window.size += chunkOf(factor, size);
    start += size;
  }
  return window;
}

LocalOpBuilder::Segment LocalOpBuilder::segmentOf(unsigned factor,
                                                  int64_t start, int64_t size) {
  // Nested chunks: each part moves by whole chunks of what the parts before it
  // left, so the last chunk's offset may lie beyond the end (an empty rank),
  // and a chunk may reach beyond the one it is nested in, so every level has an
  // end of its own.
  Location loc = op->getLoc();
  Segment segment;
  segment.offset = arith::ConstantIndexOp::create(builder, loc, start);
  segment.end = arith::ConstantIndexOp::create(builder, loc, start + size);
  for (AxisPart part : strategy.partsSplitting(factor)) {
    size = llvm::divideCeil(size, part.size);
    Value index = AxisIndexOp::create(
        builder, loc, AxesAttr::get(builder.getContext(), mesh, {part}));
    Value chunk = arith::ConstantIndexOp::create(builder, loc, size);
    Value step = arith::MulIOp::create(builder, loc, index, chunk);
    segment.offset = arith::AddIOp::create(builder, loc, segment.offset, step);
    Value after = arith::AddIOp::create(builder, loc, segment.offset, chunk);
    segment.end = arith::MinSIOp::create(builder, loc, segment.end, after);
  }
  return segment;
}

LocalOpBuilder::OwnIndex LocalOpBuilder::ownIndex(unsigned factor,
                                                  Value global) {
  Location loc = op->getLoc();
  OwnIndex found;
  for (const Segment &segment : prepared.at(factor)) {
    Value isAfter = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, global, segment.offset);
    Value isBefore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, global, segment.end);
    Value isHere = arith::AndIOp::create(builder, loc, isAfter, isBefore);
    Value own = arith::SubIOp::create(builder, loc, global, segment.offset);
    if (!found.holds) {
      found = {isHere, own};
      continue;
    }
    Value start =
        arith::ConstantIndexOp::create(builder, loc, segment.localStart);
    own = arith::AddIOp::create(builder, loc, own, start);
    found.own = arith::SelectOp::create(builder, loc, isHere, own, found.own);
    found.holds = arith::OrIOp::create(builder, loc, found.holds, isHere);
  }
  return found;
}

void LocalOpBuilder::prepareIndices(unsigned factor) {
  SmallVector<Segment, 1> &segments = prepared[factor];
  if (!segments.empty())
    return;
  int64_t start = 0, localStart = 0;
  for (int64_t size : segmentsOf(factor)) {
    Segment segment = segmentOf(factor, start, size);
    segment.localStart = localStart;
    segments.push_back(segment);
    start += size;
    localStart += chunkOf(factor, size);
  }
}

Value LocalOpBuilder::globalIndex(unsigned factor, Value index) {
  Location loc = op->getLoc();
  Value global;
  for (const Segment &segment : prepared.at(factor)) {
    Value start =
        arith::ConstantIndexOp::create(builder, loc, segment.localStart);
    Value within = segment.localStart
                       ? arith::SubIOp::create(builder, loc, index, start)
                       : index;
    Value here = arith::AddIOp::create(builder, loc, within, segment.offset);
    if (!global) {
      global = here;
      continue;
    }
    Value isHere = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, index, start);
    global = arith::SelectOp::create(builder, loc, isHere, here, global);
  }
  return global;
}

Value LocalOpBuilder::isValid(unsigned factor, Value index) {
  Location loc = op->getLoc();
  ArrayRef<Segment> segments = prepared.at(factor);
  Value end = segments.front().end;
  for (const Segment &segment : segments.drop_front()) {
    Value start =
        arith::ConstantIndexOp::create(builder, loc, segment.localStart);
    Value isHere = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, index, start);
    end = arith::SelectOp::create(builder, loc, isHere, segment.end, end);
  }
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                               globalIndex(factor, index), end);
}
