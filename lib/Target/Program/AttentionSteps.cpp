//===- AttentionSteps.cpp - attentions as products and softmaxes ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some queries at a time: the product with the keys that they can see, the
// masked softmax, the product with those keys' values.
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "ElementOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::target;

/// The attribute of every op that is made here.
static constexpr llvm::StringLiteral attributeName = "tp.attention";

/// More steps are not worth the memory that they save, as each may be a kernel
/// of its own.
static constexpr int64_t mostChunks = 64;
/// Queries and keys of a step begin and end at multiples of this.
static constexpr int64_t granule = 64;

static DictionaryAttr tagOf(Operation *op) {
  return op ? op->getAttrOfType<DictionaryAttr>(attributeName)
            : DictionaryAttr();
}

static StringRef roleOf(Operation *op) {
  DictionaryAttr tag = tagOf(op);
  auto role = tag ? tag.getAs<StringAttr>("role") : StringAttr();
  return role ? role.getValue() : StringRef();
}

std::optional<int64_t> tp::target::attentionOfStep(Operation *op) {
  DictionaryAttr tag = tagOf(op);
  auto id = tag ? tag.getAs<IntegerAttr>("id") : IntegerAttr();
  if (!id || joinsSteps(op))
    return std::nullopt;
  return id.getInt();
}

bool tp::target::joinsSteps(Operation *op) { return roleOf(op) == "result"; }

bool tp::target::makesBias(Operation *op) { return roleOf(op) == "bias"; }

namespace {
/// Queries or keys from `first` on.
struct Interval {
  int64_t first = 0, count = 0;
  int64_t end() const { return first + count; }
};

class StepBuilder {
public:
  StepBuilder(const AttentionForm &form, int64_t id, int64_t scoreBytes)
      : form(form), builder(form.result.getDefiningOp()), id(id),
        scoreBytes(scoreBytes), context(builder.getContext()),
        loc(form.output->getLoc()) {}

  void build();

private:
  SmallVector<Interval> chunks() const;
  Interval keysOf(Interval queries) const;
  void makeBias();
  Value readAt(const ElementPlace &place, ArrayRef<unsigned> loops,
               Interval queries, Interval keys, AffineMap &map);
  Value product(Value a, AffineMap aMap, Value b, AffineMap bMap,
                ArrayRef<int64_t> shape, AffineMap outMap,
                unsigned numReductions, StringRef role, Location where,
                ArrayRef<NamedAttribute> more);
  Value scores(Interval queries, Interval keys);
  Value weights(Value scores, Interval queries, Interval keys);
  Value output(Value weights, Interval queries, Interval keys);
  Value generic(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps, Value init,
                AffineMap outMap, bool reduces, StringRef role,
                function_ref<Value(OpBuilder &, ValueRange)> body);
  void replaceResult(Value made);

  DictionaryAttr tag(StringRef role, ArrayRef<NamedAttribute> more = {});
  NamedAttribute number(StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }
  Value cast(OpBuilder &inner, Value value, Type type);
  Value real(OpBuilder &inner, double value) {
    return arith::ConstantOp::create(inner, loc,
                                     inner.getFloatAttr(form.sumType, value));
  }
  SmallVector<int64_t> shapeOf(Interval queries, Interval keys) const;
  AffineMap identity(unsigned rank) const {
    return AffineMap::getMultiDimIdentityMap(rank, context);
  }

  const AttentionForm &form;
  OpBuilder builder;
  int64_t id, scoreBytes;
  MLIRContext *context;
  Location loc;
  /// What is added to the scores, over `biasLoops`.
  std::optional<ElementPlace> bias;
};
} // namespace

DictionaryAttr StepBuilder::tag(StringRef role, ArrayRef<NamedAttribute> more) {
  SmallVector<NamedAttribute> entries(more);
  entries.push_back(number("id", id));
  entries.push_back(builder.getNamedAttr("role", builder.getStringAttr(role)));
  return builder.getDictionaryAttr(entries);
}

Value StepBuilder::cast(OpBuilder &inner, Value value, Type type) {
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

//===----------------------------------------------------------------------===//
// Which queries and keys
//===----------------------------------------------------------------------===//

SmallVector<Interval> StepBuilder::chunks() const {
  int64_t queries = form.extent(form.query);
  int64_t rowBytes = form.extent(form.key) * elementBytes(form.sumType);
  for (unsigned loop : form.batch)
    rowBytes *= form.extent(loop);
  int64_t rows = scoreBytes / std::max<int64_t>(rowBytes, 1);
  if (rows >= queries)
    return {{0, queries}};
  rows = std::max<int64_t>(rows, llvm::divideCeil(queries, mostChunks));
  rows =
      rows >= granule ? rows / granule * granule : std::max<int64_t>(rows, 1);
  while (llvm::divideCeil(queries, rows) > mostChunks)
    rows += std::min(rows, granule);
  SmallVector<Interval> found;
  for (int64_t first = 0; first < queries; first += rows)
    found.push_back({first, std::min(rows, queries - first)});
  return found;
}

/// The keys that some of the queries sees, and some more.
Interval StepBuilder::keysOf(Interval queries) const {
  int64_t keys = form.extent(form.key), first = 0, end = keys;
  if (form.lower)
    first = std::clamp<int64_t>(queries.first + *form.lower, 0, keys);
  if (form.upper)
    end = std::clamp<int64_t>(queries.end() + *form.upper, 0, keys);
  // Queries that see none read some all the same.
  if (first >= end)
    first = std::clamp<int64_t>(first, 0, keys - 1), end = first + 1;
  first = first / granule * granule;
  end = std::min<int64_t>(llvm::alignTo(end, granule), keys);
  return {first, end - first};
}

SmallVector<int64_t> StepBuilder::shapeOf(Interval queries,
                                          Interval keys) const {
  SmallVector<int64_t> shape;
  for (unsigned loop : form.batch)
    shape.push_back(form.extent(loop));
  shape.push_back(queries.count);
  shape.push_back(keys.count);
  return shape;
}

/// The part of a tensor that some queries and keys read, and its indices over
/// `loops`.
Value StepBuilder::readAt(const ElementPlace &place, ArrayRef<unsigned> loops,
                          Interval queries, Interval keys, AffineMap &map) {
  ArrayRef<int64_t> shape = tp::target::shapeOf(place.tensor);
  SmallVector<OpFoldResult> offsets, sizes, strides;
  Indices index,
      places(form.graph.numLoops(), getAffineConstantExpr(0, context));
  for (auto [position, loop] : llvm::enumerate(loops))
    places[loop] = getAffineDimExpr(position, context);
  bool whole = true;
  for (auto [expr, size] : llvm::zip_equal(place.indices, shape)) {
    Interval part{0, size};
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
                                  : Interval{0, form.extent(loop)};
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

void StepBuilder::makeBias() {
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
  made->setAttr(attributeName, builder.getDictionaryAttr(builder.getNamedAttr(
                                   "role", builder.getStringAttr("bias"))));
  bias = ElementPlace{made->getResult(0), {}};
  for (unsigned loop : loops)
    bias->indices.push_back(form.graph.loop(loop));
}

//===----------------------------------------------------------------------===//
// The steps
//===----------------------------------------------------------------------===//

Value StepBuilder::product(Value a, AffineMap aMap, Value b, AffineMap bMap,
                           ArrayRef<int64_t> shape, AffineMap outMap,
                           unsigned numReductions, StringRef role,
                           Location where, ArrayRef<NamedAttribute> more) {
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
  op->setAttr(attributeName, tag(role, more));
  return op->getResult(0);
}

Value StepBuilder::scores(Interval queries, Interval keys) {
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
  if (form.emptyRows != EmptyRows::None)
    more.push_back(builder.getNamedAttr(
        "empty_rows", builder.getStringAttr(
                          form.emptyRows == EmptyRows::Zero ? "zero" : "nan")));
  return product(q, qMap, k, kMap, shape, outMap, form.headColumns.size(),
                 "scores", form.scores->getLoc(), more);
}

Value StepBuilder::generic(ArrayRef<Value> inputs, ArrayRef<AffineMap> maps,
                           Value init, AffineMap outMap, bool reduces,
                           StringRef role,
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
  op->setAttr(attributeName, tag(role));
  return op->getResult(0);
}

Value StepBuilder::weights(Value scores, Interval queries, Interval keys) {
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
  Value masked = scores;
  if (bias || least || most || form.scale != 1.0)
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

Value StepBuilder::output(Value weights, Interval queries, Interval keys) {
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
void StepBuilder::replaceResult(Value made) {
  SmallVector<int64_t> loopShape;
  SmallVector<ReassociationIndices> units(1), parts;
  bool taken = false;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop) {
    loopShape.push_back(form.extent(loop));
    // Loops of one iteration go with the one before, the first with the next.
    if (form.extent(loop) > 1 && std::exchange(taken, true))
      units.emplace_back();
    units.back().push_back(loop);
    if (parts.empty() || form.resultDims[loop] != form.resultDims[loop - 1])
      parts.emplace_back();
    parts.back().push_back(loop);
  }
  auto typeOf = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, form.elementType);
  };
  if (units.size() != loopShape.size())
    made = tensor::ExpandShapeOp::create(builder, loc, typeOf(loopShape), made,
                                         units);
  if (parts.size() != loopShape.size())
    made = tensor::CollapseShapeOp::create(
        builder, loc, typeOf(tp::target::shapeOf(form.result)), made, parts);
  Value result = form.result;
  result.replaceAllUsesWith(made);
}

void StepBuilder::build() {
  makeBias();
  SmallVector<Value> outputs;
  for (Interval queries : chunks()) {
    Interval keys = keysOf(queries);
    Value made = weights(scores(queries, keys), queries, keys);
    outputs.push_back(output(made, queries, keys));
  }
  Value made = outputs.front();
  if (outputs.size() > 1) {
    unsigned dim = 0;
    for (unsigned loop = 0; loop < form.query; ++loop)
      dim += form.extent(loop) > 1;
    auto joined = tensor::ConcatOp::create(builder, loc, dim, outputs);
    joined->setAttr(attributeName, tag("result"));
    made = joined;
  }
  replaceResult(made);
}

unsigned tp::target::formAttentions(func::FuncOp function, int64_t scoreBytes) {
  KnownTerms known;
  SmallVector<Operation *> products;
  int64_t id = 0;
  for (Operation &op : function.front()) {
    if (std::optional<int64_t> known = attentionOfStep(&op))
      id = std::max(id, *known + 1);
    else if (contractionOf(&op))
      products.push_back(&op);
  }
  unsigned count = 0;
  for (Operation *op : products)
    if (auto form = attentionOf(op, known)) {
      StepBuilder(*form, id + count, scoreBytes).build();
      ++count;
    }
  // Only now: what is known of constants is known by their addresses.
  if (count)
    for (Operation &op :
         llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
  return count;
}
