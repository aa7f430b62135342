//===- BackwardBuilder.cpp - ops of an attention and its gradients --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradientBuilder.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp::target;

static constexpr utils::IteratorType parallel = utils::IteratorType::parallel;

namespace {
class BackwardBuilder : GradientBuilder {
public:
  BackwardBuilder(const AttentionForm &form, const BackwardForm &backward)
      : GradientBuilder(form), backward(backward) {}

  void build();

private:
  Value added();
  void replace(const GradientProduct &product, Value gradient, unsigned row,
               const Loops &columns) {
    Value old = product.product.op->getResult(0);
    old.replaceAllUsesWith(placed(product, gradient, row, columns));
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
      shape, form.sumType,
      cut(bias->tensor, bias->indices, form.key, form.extent(form.key)),
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

void BackwardBuilder::build() {
  divideLoops({&form.k.indices, &form.v.indices});
  Value q = packed(form.q.tensor, form.q.indices, heads, form.query,
                   form.extent(form.query), form.headColumns);
  Value k = packed(form.k.tensor, form.k.indices, shared, form.key,
                   form.extent(form.key), form.headColumns);
  Value v = packed(form.v.tensor, form.v.indices, shared, form.key,
                   form.extent(form.key), form.valueColumns);
  Value masks = added();
  FloatAttr scale = builder.getF64FloatAttr(form.scale);
  IntegerAttr seen = builder.getI64IntegerAttr(pairs());
  Value state = tp::AttendOp::create(
      builder, loc,
      RankedTensorType::get({sizeOf(batch), sizeOf(heads),
                             form.extent(form.query),
                             sizeOf(form.valueColumns) + tp::numStateColumns},
                            form.sumType),
      q, k, v, masks, /*onto=*/Value(), scale, seen);
  Value result = quotient(state), lse = logarithms(state);
  Operands given = operands(backward, q, result, lse);
  // Products that round have the narrow type already.
  Type type = form.elementType;
  for (const GradientProduct *each : backward.products())
    if (getElementTypeOrSelf(
            linalg::LinalgOp(each->product.op)->getResult(0)) == form.sumType)
      type = form.sumType;
  int64_t queries = form.extent(form.query), keys = form.extent(form.key);
  auto made = tp::AttendBackwardOp::create(
      builder, loc, gradientType(heads, queries, form.headColumns, type),
      gradientType(heads, keys, form.headColumns, type),
      gradientType(heads, keys, form.valueColumns, type), given.q, k, v, masks,
      given.gradient, given.lse, given.mean, /*onto=*/Value(), scale, seen);
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
