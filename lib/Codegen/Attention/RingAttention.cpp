//===- RingAttention.cpp - attention whose keys travel --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/CodegenAttributes.h"

using namespace mlir;
using namespace tp::target;

static constexpr utils::IteratorType parallel = utils::IteratorType::parallel;

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

/// A chunk in the type that is multiplied: it travels in a narrower one.
Value RingBuilder::widened(Value chunk) {
  if (getElementTypeOrSelf(chunk) == form.elementType)
    return chunk;
  AffineMap map = builder.getMultiDimIdentityMap(4);
  return generic(tp::target::shapeOf(chunk), form.elementType, chunk,
                 {map, map}, SmallVector<utils::IteratorType>(4, parallel),
                 [&](OpBuilder &inner, ValueRange arguments) {
                   return cast(inner, arguments[0], form.elementType);
                 });
}

Value RingBuilder::rotated(Value chunk, const RingSource &source) {
  SmallVector<int64_t> sources;
  for (int64_t rank = 0; rank < ranks; ++rank)
    sources.push_back((rank + ranks - 1) % ranks);
  tp::AllGatherOp gather = source.gather;
  auto made = tp::PermuteOp::create(builder, gather.getLoc(), chunk.getType(),
                                    chunk, sources, gather.getAxes());
  for (StringRef why : {tp::attr::reason, tp::attr::cause})
    if (Attribute given = gather->getAttr(why))
      made->setAttr(why, given);
  return made;
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

bool RingBuilder::build() {
  divideLoops({&keys.indices, &values.indices});
  auto sizeAt = [](Value value) {
    return ShapedType::getNumElements(tp::target::shapeOf(value));
  };
  tp::AllGatherOp keyGather = keys.gather, valueGather = values.gather;
  Value keySource = keyGather.getSource(),
        valueSource = valueGather.getSource();
  int64_t rows = sizeOf(batch) * sizeOf(shared) * keys.chunk;
  if (rows * sizeOf(form.headColumns) > sizeAt(keySource) ||
      rows * sizeOf(form.valueColumns) > sizeAt(valueSource))
    return false;
  Value q = packed(form.q.tensor, form.q.indices, heads, form.query,
                   form.extent(form.query), form.headColumns);
  Value k = packed(keySource, keys.indices, shared, form.key, keys.chunk,
                   form.headColumns);
  Value v = packed(valueSource, values.indices, shared, form.key, keys.chunk,
                   form.valueColumns);
  position = tp::AxisIndexOp::create(builder, loc, keyGather.getAxes());
  makeTable();
  makeBias();
  if (!bias) {
    global = allSpans();
  } else if (isPadded) {
    k = withoutPadding(k);
    v = withoutPadding(v);
  }
  auto type = RankedTensorType::get(
      {sizeOf(batch), sizeOf(heads), form.extent(form.query),
       sizeOf(form.valueColumns) + tp::numStateColumns},
      form.sumType);
  Value state;
  for (int64_t step = 0; step < ranks; ++step) {
    // The next chunk is on its way meanwhile.
    Value nextK, nextV;
    if (step + 1 < ranks) {
      nextK = rotated(k, keys);
      nextV = rotated(v, values);
    }
    Value owner = ownerOf(step);
    state = tp::AttendOp::create(
        builder, loc, type, q, widened(k), widened(v),
        bias ? biasIn(owner) : spansIn(owner), state,
        builder.getF64FloatAttr(form.scale),
        builder.getI64IntegerAttr(llvm::divideCeil(pairs(), ranks)));
    k = nextK;
    v = nextV;
  }
  replaceResult(quotient(state));
  return true;
}

bool tp::target::formRing(AttentionForm &form) {
  std::optional<RingSource> keys = ringSourceOf(form.k, form),
                            values = ringSourceOf(form.v, form);
  if (!keys || !values || keys->chunk != values->chunk ||
      keys->runs != values->runs ||
      keys->gather.getAxes() != values->gather.getAxes())
    return false;
  return RingBuilder(form, *keys, *values).build();
}
