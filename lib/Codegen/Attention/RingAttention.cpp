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
static constexpr utils::IteratorType reduction = utils::IteratorType::reduction;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void RingBuilder::divideLoops() {
  uint64_t added = 0, moved = 0;
  for (const BiasTerm &term : form.bias)
    added |= term.value->loops;
  for (const RingSource *source : {&keys, &values})
    for (AffineExpr expr : source->indices)
      for (unsigned loop : form.batch)
        if (expr.isFunctionOfDim(loop))
          moved |= uint64_t(1) << loop;
  bool differsByHead = llvm::any_of(form.batch, [&](unsigned loop) {
    return (added >> loop & 1) && !(moved >> loop & 1);
  });
  for (unsigned loop : form.batch) {
    bool isAdded = !differsByHead && (added >> loop & 1);
    (!(moved >> loop & 1) ? group : isAdded ? batch : shared).push_back(loop);
  }
  heads = shared;
  llvm::append_range(heads, group);
}

int64_t RingBuilder::sizeOf(const Loops &loops) const {
  int64_t size = 1;
  for (unsigned loop : loops)
    size *= form.extent(loop);
  return size;
}

/// The index along a dimension that `loops` are, over the loops of `order`.
AffineExpr RingBuilder::indexOf(const Loops &loops, const Loops &order) const {
  AffineExpr index = getAffineConstantExpr(0, context);
  for (unsigned loop : loops)
    index = index * form.extent(loop) +
            getAffineDimExpr(llvm::find(order, loop) - order.begin(), context);
  return index;
}

Value RingBuilder::generic(ArrayRef<int64_t> shape, Type type,
                           ValueRange inputs, ArrayRef<AffineMap> maps,
                           ArrayRef<utils::IteratorType> iterators,
                           function_ref<Value(OpBuilder &, ValueRange)> body,
                           bool isShared) {
  Value init = tensor::EmptyOp::create(builder, loc, shape, type);
  if (llvm::is_contained(iterators, reduction)) {
    Value zero =
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    init = linalg::FillOp::create(builder, loc, zero, init).getResult(0);
  }
  auto made = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        linalg::YieldOp::create(inner, loc, body(inner, arguments));
      });
  // Layers have the same.
  if (isShared)
    made->setAttr(tp::attr::attention,
                  builder.getDictionaryAttr(builder.getNamedAttr(
                      "role", builder.getStringAttr("bias"))));
  return made->getResult(0);
}

/// The elements of `tensor` at `indices`, as batch x heads x rows x columns.
Value RingBuilder::packed(Value tensor, const Indices &indices,
                          const Loops &heads, unsigned row, int64_t rows,
                          const Loops &columns) {
  SmallVector<int64_t> shape;
  Indices places(form.graph.numLoops(), getAffineConstantExpr(0, context));
  SmallVector<ReassociationIndices> dims(4);
  auto add = [&](ArrayRef<unsigned> loops, unsigned dim) {
    for (unsigned loop : loops) {
      places[loop] = getAffineDimExpr(shape.size(), context);
      dims[dim].push_back(shape.size());
      shape.push_back(loop == row ? rows : form.extent(loop));
    }
    if (loops.empty()) {
      dims[dim].push_back(shape.size());
      shape.push_back(1);
    }
  };
  add(batch, 0);
  add(heads, 1);
  add(row, 2);
  add(columns, 3);
  Indices index;
  for (AffineExpr expr : indices)
    index.push_back(expr.replaceDims(places));
  Value made =
      generic(shape, getElementTypeOrSelf(tensor), tensor,
              {AffineMap::get(shape.size(), 0, index, context),
               builder.getMultiDimIdentityMap(shape.size())},
              SmallVector<utils::IteratorType>(shape.size(), parallel),
              [](OpBuilder &, ValueRange arguments) { return arguments[0]; });
  if (shape.size() == 4)
    return made;
  return tensor::CollapseShapeOp::create(builder, loc, made, dims);
}

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

/// The result from the state after the last chunk.
Value RingBuilder::quotient(Value state) {
  ArrayRef<int64_t> shape = tp::target::shapeOf(state);
  auto columns = [&](int64_t first, int64_t count) -> Value {
    SmallVector<OpFoldResult> offsets(4, builder.getIndexAttr(0)),
        strides(4, builder.getIndexAttr(1)), sizes;
    for (int64_t size : shape)
      sizes.push_back(builder.getIndexAttr(size));
    offsets[3] = builder.getIndexAttr(first);
    sizes[3] = builder.getIndexAttr(count);
    return tensor::ExtractSliceOp::create(builder, loc, state, offsets, sizes,
                                          strides);
  };
  int64_t size = shape[3] - tp::numStateColumns;
  Value sums = columns(0, size), totals = columns(size + 1, 1);
  Loops order;
  SmallVector<int64_t> extents;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop)
    if (form.extent(loop) > 1) {
      order.push_back(loop);
      extents.push_back(form.extent(loop));
    }
  SmallVector<AffineExpr> index = {indexOf(batch, order), indexOf(heads, order),
                                   indexOf({form.query}, order),
                                   indexOf(form.valueColumns, order)};
  AffineMap sumMap = AffineMap::get(order.size(), 0, index, context);
  index.back() = getAffineConstantExpr(0, context);
  AffineMap totalMap = AffineMap::get(order.size(), 0, index, context);
  return generic(
      extents, form.elementType, {sums, totals},
      {sumMap, totalMap, builder.getMultiDimIdentityMap(order.size())},
      SmallVector<utils::IteratorType>(order.size(), parallel),
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value made =
            arith::DivFOp::create(inner, loc, arguments[0], arguments[1]);
        if (form.emptyRows == EmptyRows::Zero) {
          Value zero = real(inner, 0.0);
          Value isEmpty = arith::CmpFOp::create(
              inner, loc, arith::CmpFPredicate::OEQ, arguments[1], zero);
          made = arith::SelectOp::create(inner, loc, isEmpty, zero, made);
        }
        return cast(inner, made, form.elementType);
      });
}

bool RingBuilder::build() {
  divideLoops();
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
    state = tp::AttendOp::create(builder, loc, type, q, widened(k), widened(v),
                                 bias ? biasIn(owner) : spansIn(owner), state,
                                 builder.getF64FloatAttr(form.scale),
                                 builder.getI64IntegerAttr(pairs()));
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
