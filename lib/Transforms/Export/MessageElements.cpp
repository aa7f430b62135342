//===- MessageElements.cpp - elements that MPI sends ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MessageElements.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;

Type tp::messageType(Type element) {
  Builder builder(element.getContext());
  if (element.isIndex())
    return builder.getI64Type();
  if (element.isInteger(1))
    return builder.getI8Type();
  if (element.isF32() || element.isF64())
    return element;
  if (!element.isSignlessInteger() && !isa<FloatType>(element))
    return {};
  unsigned width = element.getIntOrFloatBitWidth();
  if (width != 8 && width != 16 && width != 32 && width != 64)
    return {};
  return builder.getIntegerType(width);
}

using ElementBody = function_ref<Value(ImplicitLocOpBuilder &, Value)>;

static Value mapElements(ImplicitLocOpBuilder &builder, Value source,
                         Type element, ElementBody body) {
  auto type = cast<RankedTensorType>(source.getType());
  Value init = tensor::EmptyOp::create(builder, type.getShape(), element);
  SmallVector<AffineMap> maps(2,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto buildBody = [&](OpBuilder &inner, Location loc, ValueRange values) {
    ImplicitLocOpBuilder nested(loc, inner);
    linalg::YieldOp::create(nested, body(nested, values[0]));
  };
  return linalg::GenericOp::create(builder, init.getType(), source, init, maps,
                                   iterators, buildBody)
      .getResult(0);
}

Value tp::toMessage(ImplicitLocOpBuilder &builder, Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  Type sent = messageType(element);
  if (sent == element)
    return tensor;
  return mapElements(builder, tensor, sent,
                     [&](ImplicitLocOpBuilder &inner, Value value) -> Value {
                       if (element.isIndex())
                         return arith::IndexCastOp::create(inner, sent, value);
                       if (element.isInteger(1))
                         return arith::ExtUIOp::create(inner, sent, value);
                       return arith::BitcastOp::create(inner, sent, value);
                     });
}

Value tp::fromMessage(ImplicitLocOpBuilder &builder, Value tensor,
                      Type element) {
  if (getElementTypeOrSelf(tensor.getType()) == element)
    return tensor;
  return mapElements(builder, tensor, element,
                     [&](ImplicitLocOpBuilder &inner, Value value) -> Value {
                       if (element.isIndex())
                         return arith::IndexCastOp::create(inner, element,
                                                           value);
                       if (element.isInteger(1))
                         return arith::TruncIOp::create(inner, element, value);
                       return arith::BitcastOp::create(inner, element, value);
                     });
}

bool tp::canReduce(ReductionKind kind, Type element) {
  if (isa<FloatType>(element))
    return true;
  if (kind == ReductionKind::Avg)
    return false;
  return !element.isInteger(1) || kind != ReductionKind::Sum;
}

/// The type that `element` is combined in.
static Type accumulatorType(ReductionKind kind, Type element) {
  Builder builder(element.getContext());
  auto type = dyn_cast<FloatType>(element);
  if (type && type.getWidth() < 32)
    return builder.getF32Type();
  if (kind == ReductionKind::Avg && element.isF32())
    return builder.getF64Type();
  return element;
}

static Value combine(ImplicitLocOpBuilder &builder, ReductionKind kind,
                     Value left, Value right) {
  bool isFloat = isa<FloatType>(left.getType());
  bool isBool = left.getType().isInteger(1);
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return isFloat ? arith::AddFOp::create(builder, left, right).getResult()
                   : arith::AddIOp::create(builder, left, right).getResult();
  case ReductionKind::Product:
    return isFloat ? arith::MulFOp::create(builder, left, right).getResult()
                   : arith::MulIOp::create(builder, left, right).getResult();
  case ReductionKind::Max:
    if (isBool)
      return arith::OrIOp::create(builder, left, right);
    return isFloat ? arith::MaximumFOp::create(builder, left, right).getResult()
                   : arith::MaxSIOp::create(builder, left, right).getResult();
  case ReductionKind::Min:
    if (isBool)
      return arith::AndIOp::create(builder, left, right);
    return isFloat ? arith::MinimumFOp::create(builder, left, right).getResult()
                   : arith::MinSIOp::create(builder, left, right).getResult();
  }
  llvm_unreachable("unknown reduction kind");
}

Value tp::reduceRows(ImplicitLocOpBuilder &builder, Value rows,
                     ReductionKind kind) {
  auto type = cast<RankedTensorType>(rows.getType());
  int64_t count = type.getDimSize(0), size = type.getDimSize(1);
  Type element = type.getElementType();
  Type wide = accumulatorType(kind, element);
  if (wide != element)
    rows = mapElements(builder, rows, wide,
                       [&](ImplicitLocOpBuilder &inner, Value value) -> Value {
                         return arith::ExtFOp::create(inner, wide, value);
                       });
  auto slice = [&](RankedTensorType result, int64_t from,
                   int64_t length) -> Value {
    return tensor::ExtractSliceOp::create(
        builder, result, rows,
        ArrayRef<OpFoldResult>{builder.getIndexAttr(from),
                               builder.getIndexAttr(0)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(length),
                               builder.getIndexAttr(size)},
        ArrayRef<OpFoldResult>{builder.getIndexAttr(1),
                               builder.getIndexAttr(1)});
  };
  Value first = slice(RankedTensorType::get({size}, wide), 0, 1);
  Value others =
      slice(RankedTensorType::get({count - 1, size}, wide), 1, count - 1);
  Value result = linalg::ReduceOp::create(
                     builder, others, first, ArrayRef<int64_t>{0},
                     [&](OpBuilder &inner, Location loc, ValueRange values) {
                       ImplicitLocOpBuilder nested(loc, inner);
                       // The sum so far is on the left, as in the runtime.
                       linalg::YieldOp::create(
                           nested, combine(nested, kind, values[1], values[0]));
                     })
                     .getResult(0);
  if (wide == element && kind != ReductionKind::Avg)
    return result;
  return mapElements(
      builder, result, element,
      [&](ImplicitLocOpBuilder &inner, Value value) -> Value {
        if (kind == ReductionKind::Avg)
          value = arith::DivFOp::create(
              inner, value,
              arith::ConstantOp::create(
                  inner, inner.getFloatAttr(wide, static_cast<double>(count))));
        if (wide == element)
          return value;
        return arith::TruncFOp::create(inner, element, value);
      });
}
