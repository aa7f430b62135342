//===- GradientBuilder.cpp - ops around the gradients of an attention -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"
#include "Elements/ElementOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

static constexpr utils::IteratorType parallel = utils::IteratorType::parallel;
static constexpr utils::IteratorType reduction = utils::IteratorType::reduction;

Value GradientBuilder::logarithms(Value state) {
  SmallVector<int64_t> shape(tp::target::shapeOf(state));
  int64_t size = shape[3] - tp::numStateColumns;
  shape[3] = 2;
  AffineMap each = builder.getMultiDimIdentityMap(4);
  SmallVector<AffineExpr> rows(each.getResults());
  rows.back() = getAffineConstantExpr(0, context);
  AffineMap first = AffineMap::get(4, 0, rows, context);
  return generic(
      shape, form.sumType,
      {columnsOf(state, size, 1), columnsOf(state, size + 1, 1)},
      {first, first, each}, SmallVector<utils::IteratorType>(4, parallel),
      [&](OpBuilder &inner, ValueRange arguments) -> Value {
        Value maximum = arguments[0];
        Value log = math::LogOp::create(inner, loc, arguments[1]);
        if (form.emptyRows == EmptyRows::Zero) {
          Value zero = real(inner, 0.0);
          Value isEmpty = arith::CmpFOp::create(
              inner, loc, arith::CmpFPredicate::OEQ, arguments[1], zero);
          maximum = arith::SelectOp::create(inner, loc, isEmpty, zero, maximum);
          log = arith::SelectOp::create(
              inner, loc, isEmpty,
              real(inner, std::numeric_limits<double>::infinity()), log);
        }
        Value isMaximum = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::eq, indexAt(inner, 3),
            arith::ConstantIndexOp::create(inner, loc, 0));
        return arith::SelectOp::create(inner, loc, isMaximum, maximum, log);
      });
}

Value GradientBuilder::resultGradient(const BackwardForm &backward) {
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

/// The elements of `tensor`, whose dimensions are `loops`, as
/// batch x heads x queries x columns of v.
Value GradientBuilder::packedResult(Value tensor, const Loops &loops) {
  Indices indices;
  for (unsigned loop : loops)
    indices.push_back(form.graph.loop(loop));
  return packed(tensor, indices, heads, form.query, form.extent(form.query),
                form.valueColumns);
}

/// Of every query the sum over columns of the result times its gradient.
Value GradientBuilder::means(Value gradient, Value result) {
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

/// How many iterations of `prefix` this rank runs.
Value GradientBuilder::countOf(const LoopPrefix &prefix) {
  tp::MeshAttr mesh = tp::meshOf(form.output);
  std::vector<tp::AxisPart> parts;
  for (unsigned axis = 0; axis < mesh.getValue().axes.size(); ++axis)
    parts.push_back(mesh.getValue().wholeAxis(axis));
  SmallVector<int64_t> counts;
  std::vector<std::vector<int64_t>> groups = mesh.getValue().groups(parts);
  for (int64_t rank : groups.front())
    counts.push_back(prefix.counts[rank]);
  Value table = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(
          RankedTensorType::get({int64_t(counts.size())}, integer),
          ArrayRef(counts)));
  Value position = tp::AxisIndexOp::create(
      builder, loc, tp::AxesAttr::get(context, mesh, parts));
  return tensor::ExtractOp::create(builder, loc, table, position);
}

/// `number` in place of what `tensor` has for queries from `count` on.
Value GradientBuilder::hidden(Value tensor, Value count, double number) {
  AffineMap each = builder.getMultiDimIdentityMap(4);
  Type type = getElementTypeOrSelf(tensor);
  return generic(tp::target::shapeOf(tensor), type, tensor, {each, each},
                 SmallVector<utils::IteratorType>(4, parallel),
                 [&](OpBuilder &inner, ValueRange arguments) -> Value {
                   Value isQuery = arith::CmpIOp::create(
                       inner, loc, arith::CmpIPredicate::slt,
                       asInteger(inner, indexAt(inner, 2)), count);
                   Value other = arith::ConstantOp::create(
                       inner, loc, inner.getFloatAttr(type, number));
                   return arith::SelectOp::create(inner, loc, isQuery,
                                                  arguments[0], other);
                 });
}

GradientBuilder::Operands
GradientBuilder::operands(const BackwardForm &backward, Value q, Value result,
                          Value lse) {
  Operation *first = backward.first();
  builder.setInsertionPoint(first);
  loc = first->getLoc();
  Value gradient = resultGradient(backward);
  Loops loops;
  for (unsigned loop = 0; loop < form.numResultLoops; ++loop)
    if (form.extent(loop) > 1)
      loops.push_back(loop);
  Value mean = means(gradient, packedResult(result, loops));
  if (!backward.queries)
    return {q, gradient, lse, mean};
  // Padding may be anything, also NaN, and adds nothing.
  Value count = countOf(*backward.queries);
  return {hidden(q, count, 0), hidden(gradient, count, 0),
          hidden(lse, count, std::numeric_limits<double>::infinity()),
          hidden(mean, count, 0)};
}

Value GradientBuilder::placed(const GradientProduct &product, Value gradient,
                              unsigned row, const Loops &columns) {
  linalg::LinalgOp op = product.product.op;
  const LoopSolution &loops = product.loops;
  int64_t rows = tp::target::shapeOf(gradient)[2];
  SmallVector<int64_t> extents, shape;
  SmallVector<int64_t> whole(tp::target::shapeOf(op->getResult(0)));
  SmallVector<unsigned> dims;
  Loops order;
  auto extentOf = [&](unsigned number) {
    return loops.loop(number) == row ? rows : loops.loops.extents[number];
  };
  auto add = [&](unsigned number) {
    std::optional<unsigned> loop = loops.loop(number);
    if (loop && extentOf(number) > 1) {
      order.push_back(*loop);
      shape.push_back(extentOf(number));
    }
  };
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    whole[dim] = 1;
    for (auto [number, owner] : llvm::enumerate(loops.loops.owner))
      if (expr.isFunctionOfDim(owner)) {
        add(number);
        extents.push_back(extentOf(number));
        whole[dim] *= extents.back();
        dims.push_back(dim);
      }
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
                      indexOf(rows > 1 ? Loops{row} : Loops(), order),
                      indexOf(columns, order)},
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
  return withDims(made, extents, dims, whole);
}
