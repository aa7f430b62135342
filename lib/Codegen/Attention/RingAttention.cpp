//===- RingAttention.cpp - attention whose keys travel --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RingBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CauseAttributes.h"
#include "tp/IR/PortAttributes.h"

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

/// The neighbour's chunk, in the place of the collective `cause`.
tp::PermuteOp RingBuilder::rotated(Value chunk, Operation *cause) {
  SmallVector<int64_t> sources;
  for (int64_t rank = 0; rank < ranks; ++rank)
    sources.push_back((rank + ranks - 1) % ranks);
  tp::AllGatherOp gather = keys.gather;
  auto made = tp::PermuteOp::create(builder, cause->getLoc(), chunk.getType(),
                                    chunk, sources, gather.getAxes());
  for (StringRef why : {tp::attr::reason, tp::attr::cause})
    if (Attribute given = cause->getAttr(why))
      made->setAttr(why, given);
  // Or it would be the forward pass's, whose chunks would be kept for it.
  if (isBackward)
    made->setAttr(tp::attr::ring, builder.getUnitAttr());
  return made;
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

bool RingBuilder::begin() {
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
  q = packed(form.q.tensor, form.q.indices, heads, form.query,
             form.extent(form.query), form.headColumns);
  ownK = packed(keySource, keys.indices, shared, form.key, keys.chunk,
                form.headColumns);
  ownV = packed(valueSource, values.indices, shared, form.key, keys.chunk,
                form.valueColumns);
  position = tp::AxisIndexOp::create(builder, loc, keyGather.getAxes());
  makeTable();
  makeBias();
  if (!bias) {
    global = allSpans();
  } else if (isPadded) {
    ownK = withoutPadding(ownK);
    ownV = withoutPadding(ownV);
  }
  return true;
}

/// Calls `attend` with every chunk, in the type that is multiplied.
void RingBuilder::visit(
    function_ref<void(int64_t step, Value k, Value v)> attend) {
  Value k = ownK, v = ownV;
  for (int64_t step = 0; step < ranks; ++step) {
    // The next chunk is on its way meanwhile.
    Value nextK, nextV;
    if (step + 1 < ranks) {
      nextK = rotated(k, keys.gather);
      nextV = rotated(v, values.gather);
    }
    attend(step, widened(k), widened(v));
    k = nextK;
    v = nextV;
  }
}

/// The state of the queries after all chunks.
Value RingBuilder::attended() {
  auto type = RankedTensorType::get(
      {sizeOf(batch), sizeOf(heads), form.extent(form.query),
       sizeOf(form.valueColumns) + tp::numStateColumns},
      form.sumType);
  Value state;
  visit([&](int64_t step, Value k, Value v) {
    Value owner = ownerOf(step);
    masks.push_back(bias ? biasIn(owner) : spansIn(owner));
    state = tp::AttendOp::create(
        builder, loc, type, q, k, v, masks.back(), state,
        builder.getF64FloatAttr(form.scale),
        builder.getI64IntegerAttr(llvm::divideCeil(pairs(), ranks)));
  });
  return state;
}

//===----------------------------------------------------------------------===//
// The chain of gradients
//===----------------------------------------------------------------------===//

/// The sum, rounded to the type of both.
Value RingBuilder::sum(Value first, Value second) {
  auto type = cast<RankedTensorType>(first.getType());
  AffineMap each = builder.getMultiDimIdentityMap(type.getRank());
  return generic(type.getShape(), type.getElementType(), {first, second},
                 {each, each, each},
                 SmallVector<utils::IteratorType>(type.getRank(), parallel),
                 [&](OpBuilder &inner, ValueRange arguments) -> Value {
                   Value added = arith::AddFOp::create(
                       inner, loc, cast(inner, arguments[0], form.sumType),
                       cast(inner, arguments[1], form.sumType));
                   return cast(inner, added, type.getElementType());
                 });
}

void RingBuilder::build(const BackwardForm &backward,
                        const std::optional<RingGradient> &keyGradient,
                        const std::optional<RingGradient> &valueGradient) {
  Value state = attended();
  Value result = quotient(state);
  Operands given = operands(backward, q, result, logarithms(state));
  int64_t queries = form.extent(form.query);
  isBackward = true;
  // A gradient goes to where its chunk is: from the rank that has it first to
  // the one that has it last, which is the one before its own.
  struct Travelling {
    bool isOfKeys;
    const RingGradient *gradient;
    Value own, others;
  };
  SmallVector<Travelling, 2> travelling;
  if (keyGradient)
    travelling.push_back({true, &*keyGradient, {}, {}});
  if (valueGradient)
    travelling.push_back({false, &*valueGradient, {}, {}});
  Value queryGradient;
  visit([&](int64_t step, Value k, Value v) {
    auto made = tp::AttendBackwardOp::create(
        builder, loc,
        gradientType(heads, queries, form.headColumns, form.sumType),
        gradientType(heads, keys.chunk, form.headColumns, form.sumType),
        gradientType(heads, keys.chunk, form.valueColumns, form.sumType),
        given.q, k, v, masks[step], given.gradient, given.lse, given.mean,
        /*onto=*/queryGradient, builder.getF64FloatAttr(form.scale),
        builder.getI64IntegerAttr(llvm::divideCeil(pairs(), ranks)));
    queryGradient = made.getGq();
    for (Travelling &each : travelling) {
      Value part = alongPath(
          builder, *each.gradient,
          placed(*each.gradient->product,
                 each.isOfKeys ? made.getGk() : made.getGv(), form.key,
                 each.isOfKeys ? form.headColumns : form.valueColumns));
      if (step == 0)
        each.own = part;
      else
        each.others =
            each.others
                ? sum(rotated(each.others, each.gradient->scatter), part)
                : part;
    }
  });
  for (Travelling &each : travelling) {
    tp::ReduceScatterOp scatter = each.gradient->scatter;
    Value total =
        each.others ? sum(each.own, rotated(each.others, scatter)) : each.own;
    scatter.getResult().replaceAllUsesWith(total);
  }
  if (backward.q) {
    Value old = backward.q->product.op->getResult(0);
    old.replaceAllUsesWith(
        placed(*backward.q, queryGradient, form.query, form.headColumns));
  }
  // Only now: its own gradient may be made of the result.
  builder.setInsertionPoint(form.result.getDefiningOp());
  replaceResult(result);
}

bool tp::target::formRing(AttentionForm &form,
                          const std::optional<BackwardForm> &backward) {
  std::optional<RingSource> keys = ringSourceOf(form.k, form),
                            values = ringSourceOf(form.v, form);
  if (!keys || !values || keys->chunk != values->chunk ||
      keys->runs != values->runs ||
      keys->gather.getAxes() != values->gather.getAxes())
    return false;
  std::optional<RingGradient> keyGradient, valueGradient;
  if (backward) {
    auto find = [&](const std::optional<GradientProduct> &product,
                    const RingSource &source,
                    std::optional<RingGradient> &gradient) {
      if (!product)
        return true;
      gradient = ringGradientOf(*product, source, form.key, backward->first());
      return gradient.has_value();
    };
    if (!find(backward->k, *keys, keyGradient) ||
        !find(backward->v, *values, valueGradient))
      return false;
  }
  RingBuilder builder(form, *keys, *values);
  if (!builder.begin())
    return false;
  if (backward)
    builder.build(*backward, keyGradient, valueGradient);
  else
    builder.build();
  return true;
}
