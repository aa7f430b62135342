//===- AttentionStepBuilder.cpp - ops of an attention's steps -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionStepBuilder.h"
#include "Elements/ElementOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CodegenAttributes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

DictionaryAttr AttentionStepBuilder::tag(StringRef role,
                                         ArrayRef<NamedAttribute> more) {
  SmallVector<NamedAttribute> entries(more);
  entries.push_back(number(tp::attr::attentionNumber, id));
  entries.push_back(builder.getNamedAttr("role", builder.getStringAttr(role)));
  return builder.getDictionaryAttr(entries);
}

Value AttentionStepBuilder::cast(OpBuilder &inner, Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  // f16 and bf16 have no cast to each other.
  if (from == to) {
    value = arith::ExtFOp::create(inner, loc, form.sumType, value);
    return cast(inner, value, type);
  }
  if (from < to)
    return arith::ExtFOp::create(inner, loc, type, value);
  return arith::TruncFOp::create(inner, loc, type, value);
}

SmallVector<int64_t> AttentionStepBuilder::shapeOf(StepRange queries,
                                                   StepRange keys) const {
  SmallVector<int64_t> shape;
  for (unsigned loop : form.batch)
    shape.push_back(form.extent(loop));
  shape.push_back(queries.count);
  shape.push_back(keys.count);
  return shape;
}

/// The part of a tensor that some queries and keys read, and its indices over
/// `loops`.
Value AttentionStepBuilder::readAt(const ElementPlace &place,
                                   ArrayRef<unsigned> loops, StepRange queries,
                                   StepRange keys, AffineMap &map) {
  ArrayRef<int64_t> shape = tp::target::shapeOf(place.tensor);
  SmallVector<OpFoldResult> offsets, sizes, strides;
  Indices index,
      places(form.graph.numLoops(), getAffineConstantExpr(0, context));
  for (auto [position, loop] : llvm::enumerate(loops))
    places[loop] = getAffineDimExpr(position, context);
  bool whole = true;
  for (auto [expr, size] : llvm::zip_equal(place.indices, shape)) {
    StepRange part{0, size};
    AffineExpr read = expr;
    std::optional<LinearForm> linear =
        linearForm(expr, form.graph.numLoops(), 0);
    // A loop and an offset: the slice begins there.
    if (linear && llvm::count(linear->dimStrides, 0) + 1 ==
                      int64_t(form.graph.numLoops())) {
      unsigned loop =
          llvm::find(linear->dimStrides, 1) - linear->dimStrides.begin();
      if (loop < form.graph.numLoops()) {
        part = loop == form.query ? queries
               : loop == form.key ? keys
                                  : StepRange{0, form.extent(loop)};
        part.first += linear->constant;
        read = getAffineDimExpr(loop, context);
      }
    }
    whole &= part.first == 0 && part.count == size;
    offsets.push_back(builder.getIndexAttr(part.first));
    sizes.push_back(builder.getIndexAttr(part.count));
    strides.push_back(builder.getIndexAttr(1));
    index.push_back(read.replaceDims(places));
  }
  map = AffineMap::get(loops.size(), 0, index, context);
  if (whole)
    return place.tensor;
  return tensor::ExtractSliceOp::create(builder, loc, place.tensor, offsets,
                                        sizes, strides);
}

//===----------------------------------------------------------------------===//
// What is added to scores
//===----------------------------------------------------------------------===//

void AttentionStepBuilder::makeBias() {
  if (form.bias.empty())
    return;
  uint64_t used = 0;
  SmallVector<const Element *> values;
  for (const BiasTerm &term : form.bias) {
    used |= term.value->loops;
    values.push_back(term.value);
  }
  // An argument is added as it is.
  const BiasTerm &first = form.bias.front();
  if (form.bias.size() == 1 && !first.isMask && first.factor == 1.0) {
    const Element *value = withoutCasts(first.value);
    if (value->kind == Element::Kind::Leaf &&
        isa<BlockArgument>(value->value) &&
        llvm::all_of(value->indices, [](AffineExpr expr) {
          return isa<AffineDimExpr, AffineConstantExpr>(expr);
        })) {
      bias = ElementPlace{value->value, value->indices};
      return;
    }
  }
  SmallVector<unsigned> loops;
  for (unsigned loop : form.batch)
    if (used >> loop & 1)
      loops.push_back(loop);
  for (unsigned loop : {form.query, form.key})
    if (used >> loop & 1)
      loops.push_back(loop);
  auto sum = [&](OpBuilder &inner, ValueRange scalars) {
    Value total;
    for (auto [term, scalar] : llvm::zip_equal(form.bias, scalars)) {
      Value addend;
      if (term.isMask) {
        Value zero = real(inner, 0.0), masked = real(inner, term.factor);
        addend = arith::SelectOp::create(inner, loc, scalar,
                                         term.visible ? zero : masked,
                                         term.visible ? masked : zero);
      } else {
        addend = cast(inner, scalar, form.sumType);
        if (term.factor != 1.0)
          addend = arith::MulFOp::create(inner, loc, addend,
                                         real(inner, term.factor));
      }
      total = total ? arith::AddFOp::create(inner, loc, total, addend) : addend;
    }
    return total;
  };
  linalg::GenericOp made =
      materialise(builder, loc, form.graph, values, loops, form.sumType, sum);
  // Layers may add the same.
  made->setAttr(tp::attr::attention,
                builder.getDictionaryAttr(builder.getNamedAttr(
                    "role", builder.getStringAttr("bias"))));
  bias = ElementPlace{made->getResult(0), {}};
  for (unsigned loop : loops)
    bias->indices.push_back(form.graph.loop(loop));
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

Value AttentionStepBuilder::product(Value a, AffineMap aMap, Value b,
                                    AffineMap bMap, ArrayRef<int64_t> shape,
                                    AffineMap outMap, unsigned numReductions,
                                    StringRef role, Location where,
                                    ArrayRef<NamedAttribute> more) {
  Value empty = tensor::EmptyOp::create(builder, where, shape, form.sumType);
  Value zero = real(builder, 0.0);
  Value init = linalg::FillOp::create(builder, where, zero, empty).getResult(0);
  SmallVector<utils::IteratorType> iterators(
      outMap.getNumDims() - numReductions, utils::IteratorType::parallel);
  iterators.append(numReductions, utils::IteratorType::reduction);
  auto op = linalg::GenericOp::create(
      builder, where, init.getType(), ValueRange{a, b}, init,
      ArrayRef<AffineMap>{aMap, bMap, outMap}, iterators,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        Value product = arith::MulFOp::create(
            inner, loc, cast(inner, arguments[0], form.sumType),
            cast(inner, arguments[1], form.sumType));
        Value sum = arith::AddFOp::create(inner, loc, arguments[2], product);
        linalg::YieldOp::create(inner, loc, sum);
      });
  op->setAttr(tp::attr::attention, tag(role, more));
  return op->getResult(0);
}

Value AttentionStepBuilder::scores(StepRange queries, StepRange keys) {
  SmallVector<unsigned> loops(form.batch);
  loops.append({form.query, form.key});
  llvm::append_range(loops, form.headColumns);
  AffineMap qMap, kMap;
  Value q = readAt(form.q, loops, queries, keys, qMap);
  Value k = readAt(form.k, loops, queries, keys, kMap);
  SmallVector<int64_t> shape = shapeOf(queries, keys);
  AffineMap outMap = AffineMap::getMultiDimIdentityMap(loops.size(), context)
                         .getMajorSubMap(shape.size());
  SmallVector<NamedAttribute> more = {
      number("query", queries.first),
      number("key", keys.first),
      number("queries", form.extent(form.query)),
      number("keys", form.extent(form.key)),
      number("batch", form.batch.size()),
      builder.getNamedAttr("scale", builder.getF64FloatAttr(form.scale))};
  if (form.lower)
    more.push_back(number("lower", *form.lower));
  if (form.upper)
    more.push_back(number("upper", *form.upper));
  if (form.hasSpans)
    more.push_back(number("seen", form.mostSeen));
  if (form.emptyRows != EmptyRows::None)
    more.push_back(builder.getNamedAttr(
        "empty_rows", builder.getStringAttr(
                          form.emptyRows == EmptyRows::Zero ? "zero" : "nan")));
  return product(q, qMap, k, kMap, shape, outMap, form.headColumns.size(),
                 "scores", form.scores->getLoc(), more);
}

Value AttentionStepBuilder::generic(
    ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, Value init,
    AffineMap outMap, bool reduces, StringRef role,
    function_ref<Value(OpBuilder &, ValueRange)> body) {
  SmallVector<utils::IteratorType> iterators(outMap.getNumDims(),
                                             utils::IteratorType::parallel);
  if (reduces)
    iterators.back() = utils::IteratorType::reduction;
  SmallVector<AffineMap> all(maps);
  all.push_back(outMap);
  auto op = linalg::GenericOp::create(
      builder, loc, init.getType(), inputs, init, all, iterators,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        linalg::YieldOp::create(inner, loc, body(inner, arguments));
      });
  op->setAttr(tp::attr::attention, tag(role));
  return op->getResult(0);
}

Value AttentionStepBuilder::weights(Value scores, StepRange queries,
                                    StepRange keys) {
  SmallVector<int64_t> shape = shapeOf(queries, keys);
  ArrayRef<int64_t> rowShape = ArrayRef(shape).drop_back();
  AffineMap all = identity(shape.size());
  AffineMap rows = all.getMajorSubMap(rowShape.size());
  SmallVector<unsigned> loops(form.batch);
  loops.append({form.query, form.key});
  auto empty = [&](ArrayRef<int64_t> sizes, Type type) -> Value {
    return tensor::EmptyOp::create(builder, loc, sizes, type);
  };
  auto filled = [&](double value) -> Value {
    Value scalar = real(builder, value);
    return linalg::FillOp::create(builder, loc, scalar,
                                  empty(rowShape, form.sumType))
        .getResult(0);
  };
  constexpr double infinity = std::numeric_limits<double>::infinity();

  // Bounds on the key's number in this step less the query's.
  std::optional<int64_t> least, most;
  if (form.lower && keys.first - (queries.end() - 1) < *form.lower)
    least = *form.lower - keys.first + queries.first;
  if (form.upper && keys.end() - 1 - queries.first > *form.upper)
    most = *form.upper - keys.first + queries.first;
  SmallVector<Value> inputs = {scores};
  SmallVector<AffineMap> maps = {all};
  if (bias) {
    inputs.push_back(readAt(*bias, loops, queries, keys, maps.emplace_back()));
  }
  if (spans)
    for (int64_t side : {0, 1}) {
      inputs.push_back(spans);
      maps.push_back(
          AffineMap::get(shape.size(), 0,
                         {getAffineDimExpr(shape.size() - 2, context),
                          getAffineConstantExpr(side, context)},
                         context));
    }
  Value masked = scores;
  if (bias || spans || least || most || form.scale != 1.0)
    masked = generic(
        inputs, maps, empty(shape, form.sumType), all, /*reduces=*/false,
        "masked", [&](OpBuilder &inner, ValueRange arguments) {
          Value score = arguments[0];
          if (form.scale != 1.0)
            score = arith::MulFOp::create(inner, loc, score,
                                          real(inner, form.scale));
          if (bias)
            score = arith::AddFOp::create(
                inner, loc, score, cast(inner, arguments[1], form.sumType));
          if (spans) {
            Value key = arith::IndexCastOp::create(
                inner, loc, inner.getI64Type(),
                linalg::IndexOp::create(inner, loc, shape.size() - 1));
            Value seen = arith::AndIOp::create(
                inner, loc,
                arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::sge,
                                      key, arguments[1]),
                arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::slt,
                                      key, arguments[2]));
            return arith::SelectOp::create(inner, loc, seen, score,
                                           real(inner, -infinity))
                .getResult();
          }
          if (!least && !most)
            return score;
          Value key = linalg::IndexOp::create(inner, loc, shape.size() - 1);
          Value query = linalg::IndexOp::create(inner, loc, shape.size() - 2);
          Value distance = arith::SubIOp::create(inner, loc, key, query);
          for (auto [bound, predicate] :
               {std::pair(least, arith::CmpIPredicate::sge),
                std::pair(most, arith::CmpIPredicate::sle)}) {
            if (!bound)
              continue;
            Value limit = arith::ConstantIndexOp::create(inner, loc, *bound);
            Value seen =
                arith::CmpIOp::create(inner, loc, predicate, distance, limit);
            score = arith::SelectOp::create(inner, loc, seen, score,
                                            real(inner, -infinity));
          }
          return score;
        });
  Value largest =
      generic({masked}, {all}, filled(-infinity), rows, /*reduces=*/true,
              "largest", [&](OpBuilder &inner, ValueRange arguments) -> Value {
                return arith::MaximumFOp::create(inner, loc, arguments[0],
                                                 arguments[1]);
              });
  Value exponential =
      generic({masked, largest}, {all, rows}, empty(shape, form.sumType), all,
              /*reduces=*/false, "exponential",
              [&](OpBuilder &inner, ValueRange arguments) -> Value {
                Value shifted = arith::SubFOp::create(inner, loc, arguments[0],
                                                      arguments[1]);
                return math::ExpOp::create(inner, loc, shifted);
              });
  Value sum = generic(
      {exponential}, {all}, filled(0.0), rows, /*reduces=*/true, "sum",
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        return arith::AddFOp::create(inner, loc, arguments[0], arguments[1]);
      });
  bool zeroWithoutKeys = form.emptyRows == EmptyRows::Zero;
  SmallVector<Value> quotient = {exponential, sum};
  SmallVector<AffineMap> quotientMaps = {all, rows};
  if (zeroWithoutKeys) {
    quotient.push_back(largest);
    quotientMaps.push_back(rows);
  }
  return generic(quotient, quotientMaps, empty(shape, form.elementType), all,
                 /*reduces=*/false, "weights",
                 [&](OpBuilder &inner, ValueRange arguments) {
                   Value weight = arith::DivFOp::create(
                       inner, loc, arguments[0], arguments[1]);
                   if (zeroWithoutKeys) {
                     Value none = arith::CmpFOp::create(
                         inner, loc, arith::CmpFPredicate::OEQ, arguments[2],
                         real(inner, -infinity));
                     weight = arith::SelectOp::create(inner, loc, none,
                                                      real(inner, 0.0), weight);
                   }
                   return cast(inner, weight, form.elementType);
                 });
}

Value AttentionStepBuilder::output(Value weights, StepRange queries,
                                   StepRange keys) {
  SmallVector<unsigned> loops(form.batch);
  loops.push_back(form.query);
  llvm::append_range(loops, form.valueColumns);
  loops.push_back(form.key);
  Indices place, weightIndex;
  SmallVector<int64_t> shape;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop) {
    if (form.extent(loop) == 1)
      continue;
    place.push_back(
        getAffineDimExpr(llvm::find(loops, loop) - loops.begin(), context));
    shape.push_back(loop == form.query ? queries.count : form.extent(loop));
  }
  for (unsigned i = 0; i <= form.batch.size(); ++i)
    weightIndex.push_back(getAffineDimExpr(i, context));
  weightIndex.push_back(getAffineDimExpr(loops.size() - 1, context));
  AffineMap vMap;
  Value v = readAt(form.v, loops, queries, keys, vMap);
  AffineMap weightMap = AffineMap::get(loops.size(), 0, weightIndex, context);
  Value sum =
      product(weights, weightMap, v, vMap, shape,
              AffineMap::get(loops.size(), 0, place, context), 1, "output", loc,
              {number("query", queries.first), number("key", keys.first),
               number("batch", form.batch.size())});
  if (form.sumType == form.elementType)
    return sum;
  Value empty = tensor::EmptyOp::create(builder, loc, shape, form.elementType);
  AffineMap all = identity(shape.size());
  return generic({sum}, {all}, empty, all, /*reduces=*/false, "rounded",
                 [&](OpBuilder &inner, ValueRange arguments) {
                   return cast(inner, arguments[0], form.elementType);
                 });
}

/// `made` has the result's loops of more than one iteration as dimensions.
