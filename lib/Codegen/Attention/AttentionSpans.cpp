//===- AttentionSpans.cpp - which keys the queries of a rank see ----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where the sequence is sharded, a rank has some of the queries, and a causal
// mask lets them see other keys than those of another rank. Every query still
// sees keys that follow each other. Two numbers for each, of which a step makes
// as many as there are queries, take the place of a mask of queries by keys.
//
//===----------------------------------------------------------------------===//

#include "AttentionStepBuilder.h"
#include "Elements/ElementOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/IR/CodegenAttributes.h"

using namespace mlir;
using namespace tp::target;

/// Whether all masks let a query see a key, where they are 0 or not.
static Value isVisible(OpBuilder &inner, Location loc, ArrayRef<BiasTerm> masks,
                       ValueRange scalars) {
  Value all;
  for (auto [mask, scalar] : llvm::zip_equal(masks, scalars)) {
    Value seen = scalar;
    if (!mask.isMask)
      seen = arith::CmpFOp::create(
          inner, loc, arith::CmpFPredicate::OEQ, scalar,
          arith::ConstantOp::create(inner, loc,
                                    inner.getZeroAttr(scalar.getType())));
    else if (!mask.visible)
      seen = arith::XOrIOp::create(
          inner, loc, scalar,
          arith::ConstantOp::create(inner, loc, inner.getBoolAttr(true)));
    all = all ? arith::AndIOp::create(inner, loc, all, seen) : seen;
  }
  return all;
}

/// The least and the greatest key that the masks leave, one more: it is known
/// that they leave those in between too.
void AttentionStepBuilder::makeSpans() {
  if (!form.hasSpans)
    return;
  SmallVector<const Element *> values;
  for (const BiasTerm &mask : form.spanMasks)
    values.push_back(mask.value);
  Value visible =
      materialise(builder, loc, form.graph, values, {form.query, form.key},
                  builder.getI1Type(),
                  [&](OpBuilder &inner, ValueRange scalars) {
                    return isVisible(inner, loc, form.spanMasks, scalars);
                  })
          ->getResult(0);
  Type type = builder.getI64Type();
  SmallVector<int64_t> shape = {form.extent(form.query), 2};
  Value none = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(RankedTensorType::get({2}, type),
                             ArrayRef<int64_t>{form.extent(form.key), 0}));
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
  AffineExpr query, side, key;
  bindDims(context, query, side, key);
  auto mapOf = [&](unsigned loops, ArrayRef<AffineExpr> exprs) {
    return AffineMap::get(loops, 0, exprs, context);
  };
  Value start =
      linalg::GenericOp::create(
          builder, loc, empty.getType(), none, empty,
          ArrayRef<AffineMap>{mapOf(2, {side}), mapOf(2, {query, side})},
          SmallVector<utils::IteratorType>(2, utils::IteratorType::parallel),
          [&](OpBuilder &inner, Location, ValueRange arguments) {
            linalg::YieldOp::create(inner, loc, arguments[0]);
          })
          ->getResult(0);
  auto made = linalg::GenericOp::create(
      builder, loc, empty.getType(), visible, start,
      ArrayRef<AffineMap>{mapOf(3, {query, key}), mapOf(3, {query, side})},
      SmallVector<utils::IteratorType>{utils::IteratorType::parallel,
                                       utils::IteratorType::parallel,
                                       utils::IteratorType::reduction},
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        auto constant = [&](int64_t value) -> Value {
          return arith::ConstantOp::create(inner, loc,
                                           inner.getI64IntegerAttr(value));
        };
        Value at = arith::IndexCastOp::create(
            inner, loc, type, linalg::IndexOp::create(inner, loc, 2));
        Value isFirst = arith::CmpIOp::create(
            inner, loc, arith::CmpIPredicate::eq,
            linalg::IndexOp::create(inner, loc, 1),
            arith::ConstantIndexOp::create(inner, loc, 0));
        Value least = arith::MinSIOp::create(inner, loc, arguments[1], at);
        Value most = arith::MaxSIOp::create(
            inner, loc, arguments[1],
            arith::AddIOp::create(inner, loc, at, constant(1)));
        Value wider = arith::SelectOp::create(inner, loc, isFirst, least, most);
        Value kept = arith::SelectOp::create(inner, loc, arguments[0], wider,
                                             arguments[1]);
        linalg::YieldOp::create(inner, loc, kept);
      });
  // Layers have the same.
  made->setAttr(tp::attr::attention,
                builder.getDictionaryAttr(builder.getNamedAttr(
                    "role", builder.getStringAttr("bias"))));
  spans = made->getResult(0);
}
