//===- ChunkBuilder.cpp - ops of attention over a chunk of keys -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CodegenAttributes.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

static constexpr utils::IteratorType parallel = utils::IteratorType::parallel;
static constexpr utils::IteratorType reduction = utils::IteratorType::reduction;

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void ChunkBuilder::divideLoops(ArrayRef<const Indices *> moving) {
  uint64_t added = 0, moved = 0;
  for (const BiasTerm &term : form.bias)
    added |= term.value->loops;
  for (const Indices *indices : moving)
    for (AffineExpr expr : *indices)
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

int64_t ChunkBuilder::sizeOf(const Loops &loops) const {
  int64_t size = 1;
  for (unsigned loop : loops)
    size *= form.extent(loop);
  return size;
}

/// The index along a dimension that `loops` are, over the loops of `order`.
AffineExpr ChunkBuilder::indexOf(const Loops &loops, const Loops &order) const {
  AffineExpr index = getAffineConstantExpr(0, context);
  for (unsigned loop : loops)
    index = index * form.extent(loop) +
            getAffineDimExpr(llvm::find(order, loop) - order.begin(), context);
  return index;
}

Value ChunkBuilder::generic(ArrayRef<int64_t> shape, Type type,
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

/// `tensor` without what is behind the last element at `indices`, which have
/// `rows` of `row`: the loops of an op run over whole dimensions.
Value ChunkBuilder::cut(Value tensor, const Indices &indices, unsigned row,
                        int64_t rows) {
  SmallVector<OpFoldResult> sizes;
  bool whole = true;
  for (auto [expr, size] :
       llvm::zip_equal(indices, tp::target::shapeOf(tensor))) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    unsigned loop = dim ? dim.getPosition() : 0;
    int64_t read = !dim ? size : loop == row ? rows : form.extent(loop);
    whole &= read == size;
    sizes.push_back(builder.getIndexAttr(read));
  }
  if (whole)
    return tensor;
  SmallVector<OpFoldResult> offsets(sizes.size(), builder.getIndexAttr(0)),
      strides(sizes.size(), builder.getIndexAttr(1));
  return tensor::ExtractSliceOp::create(builder, loc, tensor, offsets, sizes,
                                        strides);
}

/// The elements of `tensor` at `indices`, as batch x heads x rows x columns.
Value ChunkBuilder::packed(Value tensor, const Indices &indices,
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
  Value made = generic(
      shape, getElementTypeOrSelf(tensor), cut(tensor, indices, row, rows),
      {AffineMap::get(shape.size(), 0, index, context),
       builder.getMultiDimIdentityMap(shape.size())},
      SmallVector<utils::IteratorType>(shape.size(), parallel),
      [](OpBuilder &, ValueRange arguments) { return arguments[0]; });
  if (shape.size() == 4)
    return made;
  return tensor::CollapseShapeOp::create(builder, loc, made, dims);
}

//===----------------------------------------------------------------------===//
// What queries see
//===----------------------------------------------------------------------===//

/// Of every query, or once for all, the first key that it sees and the one
/// behind the last.
Value ChunkBuilder::allSpans() {
  int64_t count = form.extent(form.key);
  if (form.hasSpans) {
    makeSpans();
    return spans;
  }
  if (!form.lower && !form.upper)
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({1, 2}, integer),
                               ArrayRef<int64_t>{0, count}));
  return generic(
      {form.extent(form.query), 2}, integer, {},
      builder.getMultiDimIdentityMap(2), {parallel, parallel},
      [&](OpBuilder &inner, ValueRange) -> Value {
        Value query = asInteger(inner, indexAt(inner, 0));
        auto bound = [&](std::optional<int64_t> distance,
                         int64_t otherwise) -> Value {
          if (!distance)
            return constant(inner, otherwise);
          return arith::AddIOp::create(inner, loc, query,
                                       constant(inner, *distance));
        };
        Value isFirst = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::eq, indexAt(inner, 1),
            arith::ConstantIndexOp::create(inner, loc, 0));
        std::optional<int64_t> behind = form.upper;
        if (behind)
          ++*behind;
        return arith::SelectOp::create(
            inner, loc, isFirst, bound(form.lower, 0), bound(behind, count));
      },
      /*isShared=*/true);
}

/// How many keys the queries of a head see.
int64_t ChunkBuilder::pairs() const {
  int64_t queries = form.extent(form.query), count = form.extent(form.key);
  int64_t seen = form.mostSeen;
  for (int64_t query = 0; query < queries && !form.hasSpans; ++query) {
    int64_t first = form.lower ? std::max<int64_t>(0, query + *form.lower) : 0;
    int64_t end = form.upper ? std::min(count, query + *form.upper + 1) : count;
    seen += std::max<int64_t>(0, end - first);
  }
  return seen;
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// `count` columns of a state.
Value ChunkBuilder::columnsOf(Value state, int64_t first, int64_t count) {
  SmallVector<OpFoldResult> offsets(4, builder.getIndexAttr(0)),
      strides(4, builder.getIndexAttr(1)), sizes;
  for (int64_t size : tp::target::shapeOf(state))
    sizes.push_back(builder.getIndexAttr(size));
  offsets[3] = builder.getIndexAttr(first);
  sizes[3] = builder.getIndexAttr(count);
  return tensor::ExtractSliceOp::create(builder, loc, state, offsets, sizes,
                                        strides);
}

/// The result from the state after the last chunk.
Value ChunkBuilder::quotient(Value state) {
  ArrayRef<int64_t> shape = tp::target::shapeOf(state);
  int64_t size = shape[3] - tp::numStateColumns;
  Value sums = columnsOf(state, 0, size),
        totals = columnsOf(state, size + 1, 1);
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
