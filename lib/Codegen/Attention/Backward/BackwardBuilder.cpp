//===- BackwardBuilder.cpp - ops of an attention and its gradients --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention/ChunkBuilder.h"
#include "BackwardForm.h"
#include "Elements/ElementOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

static constexpr utils::IteratorType parallel = utils::IteratorType::parallel;
static constexpr utils::IteratorType reduction = utils::IteratorType::reduction;

namespace {
class BackwardBuilder : ChunkBuilder {
public:
  BackwardBuilder(const AttentionForm &form, const BackwardForm &backward)
      : ChunkBuilder(form), backward(backward) {}

  void build();

private:
  Value added();
  Value logarithms(Value state);
  Value resultGradient();
  Value means(Value gradient, Value result);
  void replace(const GradientProduct &product, Value gradient, unsigned row,
               const Loops &columns);
  /// The elements of `tensor`, whose dimensions are `loops`, as
  /// batch x heads x queries x columns of v.
  Value packedResult(Value tensor, const Loops &loops) {
    Indices indices;
    for (unsigned loop : loops)
      indices.push_back(form.graph.loop(loop));
    return packed(tensor, indices, heads, form.query, form.extent(form.query),
                  form.valueColumns);
  }
  SmallVector<AffineMap> identities(unsigned count) {
    return SmallVector<AffineMap>(count, builder.getMultiDimIdentityMap(4));
  }

  const BackwardForm &backward;
};
} // namespace

/// What is added to the scores, or the keys that queries see.
Value BackwardBuilder::added() {
  makeBias();
  if (!bias) {
    Value all = allSpans();
    SmallVector<int64_t> shape = {1, 1, tp::target::shapeOf(all)[0], 2};
    return tensor::ExpandShapeOp::create(
        builder, loc, RankedTensorType::get(shape, integer), all,
        SmallVector<ReassociationIndices>{{0, 1, 2}, {3}});
  }
  uint64_t used = 0;
  for (AffineExpr expr : bias->indices)
    for (unsigned loop = 0; loop < form.graph.numLoops(); ++loop)
      used |= uint64_t(expr.isFunctionOfDim(loop)) << loop;
  auto usedOf = [&](const Loops &loops) {
    return llvm::any_of(loops, [&](unsigned loop) { return used >> loop & 1; })
               ? loops
               : Loops();
  };
  bool byQuery = (used >> form.query & 1) || form.lower || form.upper;
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> dims(4);
  Indices places(form.graph.numLoops(), getAffineConstantExpr(0, context));
  auto add = [&](const Loops &loops, unsigned dim) {
    for (unsigned loop : loops) {
      places[loop] = getAffineDimExpr(shape.size(), context);
      dims[dim].push_back(shape.size());
      shape.push_back(form.extent(loop));
    }
    if (loops.empty()) {
      dims[dim].push_back(shape.size());
      shape.push_back(1);
    }
  };
  add(usedOf(batch), 0);
  add(usedOf(heads), 1);
  unsigned query = shape.size();
  add(byQuery ? Loops{form.query} : Loops(), 2);
  unsigned key = shape.size();
  add({form.key}, 3);
  Indices index;
  for (AffineExpr expr : bias->indices)
    index.push_back(expr.replaceDims(places));
  Value made = generic(
      shape, form.sumType, bias->tensor,
      {AffineMap::get(shape.size(), 0, index, context),
       builder.getMultiDimIdentityMap(shape.size())},
      SmallVector<utils::IteratorType>(shape.size(), parallel),
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value number = cast(inner, arguments[0], form.sumType);
        Value hidden = real(inner, -std::numeric_limits<double>::infinity());
        for (auto [bound, predicate] :
             {std::pair(form.lower, arith::CmpIPredicate::sge),
              std::pair(form.upper, arith::CmpIPredicate::sle)}) {
          if (!bound)
            continue;
          Value distance = arith::SubIOp::create(
              inner, loc, asInteger(inner, indexAt(inner, key)),
              asInteger(inner, indexAt(inner, query)));
          Value fits = arith::CmpIOp::create(inner, loc, predicate, distance,
                                             constant(inner, *bound));
          number = arith::SelectOp::create(inner, loc, fits, number, hidden);
        }
        return number;
      },
      /*isShared=*/true);
  if (shape.size() == 4)
    return made;
  return tensor::CollapseShapeOp::create(builder, loc, made, dims);
}

/// The logarithm of every query's sum of exponentials; plus infinity where its
/// weights are 0.
Value BackwardBuilder::logarithms(Value state) {
  SmallVector<int64_t> shape(tp::target::shapeOf(state));
  int64_t size = shape[3] - tp::numStateColumns;
  shape[3] = 1;
  return generic(
      shape, form.sumType,
      {columnsOf(state, size, 1), columnsOf(state, size + 1, 1)}, identities(3),
      SmallVector<utils::IteratorType>(4, parallel),
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value log = math::LogOp::create(inner, loc, arguments[1]);
        Value sum = arith::AddFOp::create(inner, loc, arguments[0], log);
        if (form.emptyRows != EmptyRows::Zero)
          return sum;
        Value isEmpty =
            arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OEQ,
                                  arguments[1], real(inner, 0.0));
        return arith::SelectOp::create(
            inner, loc, isEmpty,
            real(inner, std::numeric_limits<double>::infinity()), sum);
      });
}

Value BackwardBuilder::resultGradient() {
  if (backward.place)
    return packed(backward.place->tensor, backward.place->indices, heads,
                  form.query, form.extent(form.query), form.valueColumns);
  Loops loops = batch;
  llvm::append_range(loops, heads);
  loops.push_back(form.query);
  llvm::append_range(loops, form.valueColumns);
  Value made = materialise(builder, loc, form.graph, backward.resultGradient,
                           loops, form.elementType,
                           [&](OpBuilder &inner, ValueRange scalars) {
                             return cast(inner, scalars[0], form.elementType);
                           })
                   ->getResult(0);
  return packedResult(made, loops);
}

/// Of every query the sum over columns of the result times its gradient.
Value BackwardBuilder::means(Value gradient, Value result) {
  ArrayRef<int64_t> shape = tp::target::shapeOf(gradient);
  SmallVector<utils::IteratorType> iterators(4, parallel);
  iterators.back() = reduction;
  AffineMap each = builder.getMultiDimIdentityMap(4);
  SmallVector<int64_t> rows(shape.drop_back());
  Value sums =
      generic(rows, form.sumType, {gradient, result},
              {each, each, each.dropResults(ArrayRef<int64_t>{3})}, iterators,
              [&](OpBuilder &inner, ValueRange arguments) -> Value {
                Value product = arith::MulFOp::create(
                    inner, loc, cast(inner, arguments[0], form.sumType),
                    cast(inner, arguments[1], form.sumType));
                return arith::AddFOp::create(inner, loc, arguments[2], product);
              });
  rows.push_back(1);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(rows, form.sumType), sums,
      SmallVector<ReassociationIndices>{{0}, {1}, {2, 3}});
}

/// Puts the gradient, up to the product's factor, in the product's place.
void BackwardBuilder::replace(const GradientProduct &product, Value gradient,
                              unsigned row, const Loops &columns) {
  linalg::LinalgOp op = product.product.op;
  const LoopSolution &loops = product.loops;
  SmallVector<int64_t> extents, shape;
  SmallVector<unsigned> dims;
  Loops order;
  auto add = [&](unsigned number) {
    if (std::optional<unsigned> loop = loops.loop(number)) {
      order.push_back(*loop);
      shape.push_back(loops.loops.extents[number]);
    }
  };
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    for (auto [number, owner] : llvm::enumerate(loops.loops.owner))
      if (expr.isFunctionOfDim(owner)) {
        add(number);
        extents.push_back(loops.loops.extents[number]);
        dims.push_back(dim);
      }
  unsigned numParallel = order.size();
  SmallVector<int64_t> parallelShape = shape;
  for (auto [number, owner] : llvm::enumerate(loops.loops.owner))
    if (op.getIteratorTypesArray()[owner] == reduction &&
        llvm::is_contained(form.batch, loops.loop(number).value_or(row)))
      add(number);
  unsigned numLoops = order.size();
  AffineMap read =
      AffineMap::get(numLoops, 0,
                     {indexOf(batch, order), indexOf(heads, order),
                      indexOf({row}, order), indexOf(columns, order)},
                     context);
  AffineMap written = AffineMap::getMultiDimIdentityMap(numLoops, context)
                          .getMajorSubMap(numParallel);
  SmallVector<utils::IteratorType> iterators(numParallel, parallel);
  iterators.append(numLoops - numParallel, reduction);
  bool adds = numLoops > numParallel;
  Type type = getElementTypeOrSelf(op->getResult(0));
  // A reduction has no operand that says how often a loop runs.
  Value made = generic(
      parallelShape, adds ? form.sumType : type, gradient, {read, written},
      iterators, [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value number = arguments[0];
        if (product.factor != 1.0)
          number = arith::MulFOp::create(inner, loc,
                                         cast(inner, number, form.sumType),
                                         real(inner, product.factor));
        if (!adds)
          return cast(inner, number, type);
        return arith::AddFOp::create(inner, loc, arguments[1],
                                     cast(inner, number, form.sumType));
      });
  if (adds && type != form.sumType) {
    AffineMap each = builder.getMultiDimIdentityMap(numParallel);
    made = generic(parallelShape, type, made, {each, each},
                   SmallVector<utils::IteratorType>(numParallel, parallel),
                   [&](OpBuilder &inner, ValueRange arguments) {
                     return cast(inner, arguments[0], type);
                   });
  }
  Value old = op->getResult(0);
  old.replaceAllUsesWith(
      withDims(made, extents, dims, tp::target::shapeOf(old)));
}

void BackwardBuilder::build() {
  divideLoops({&form.k.indices, &form.v.indices});
  Value q = packed(form.q.tensor, form.q.indices, heads, form.query,
                   form.extent(form.query), form.headColumns);
  Value k = packed(form.k.tensor, form.k.indices, shared, form.key,
                   form.extent(form.key), form.headColumns);
  Value v = packed(form.v.tensor, form.v.indices, shared, form.key,
                   form.extent(form.key), form.valueColumns);
  Value masks = added();
  auto typeOf = [&](const Loops &headLoops, unsigned row, int64_t columns,
                    Type element) {
    return RankedTensorType::get(
        {sizeOf(batch), sizeOf(headLoops), form.extent(row), columns}, element);
  };
  int64_t headSize = sizeOf(form.headColumns),
          valueSize = sizeOf(form.valueColumns);
  FloatAttr scale = builder.getF64FloatAttr(form.scale);
  IntegerAttr seen = builder.getI64IntegerAttr(pairs());
  Value state = tp::AttendOp::create(
      builder, loc,
      typeOf(heads, form.query, valueSize + tp::numStateColumns, form.sumType),
      q, k, v, masks, /*onto=*/Value(), scale, seen);
  Value result = quotient(state), lse = logarithms(state);
  Loops resultLoops;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop)
    if (form.extent(loop) > 1)
      resultLoops.push_back(loop);

  Operation *first = backward.first();
  builder.setInsertionPoint(first);
  loc = first->getLoc();
  Value gradient = resultGradient();
  Value mean = means(gradient, packedResult(result, resultLoops));
  // Products that round have the narrow type already.
  Type type = form.elementType;
  for (const GradientProduct *each : backward.products())
    if (getElementTypeOrSelf(
            linalg::LinalgOp(each->product.op)->getResult(0)) == form.sumType)
      type = form.sumType;
  auto made = tp::AttendBackwardOp::create(
      builder, loc, typeOf(heads, form.query, headSize, type),
      typeOf(heads, form.key, headSize, type),
      typeOf(heads, form.key, valueSize, type), q, k, v, masks, gradient, lse,
      mean, scale, seen);
  if (backward.q)
    replace(*backward.q, made.getGq(), form.query, form.headColumns);
  if (backward.k)
    replace(*backward.k, made.getGk(), form.key, form.headColumns);
  if (backward.v)
    replace(*backward.v, made.getGv(), form.key, form.valueColumns);
  // Only now: its own gradient may be made of the result.
  builder.setInsertionPoint(form.result.getDefiningOp());
  replaceResult(result);
}

void tp::target::buildBackward(const AttentionForm &form,
                               const BackwardForm &backward) {
  BackwardBuilder(form, backward).build();
}
