//===- FloatCasts.cpp - tensors of floats in another type -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/FloatCasts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

Value tp::castElements(OpBuilder &builder, Location loc, Value value,
                       Type type) {
  auto source = cast<RankedTensorType>(value.getType());
  Type from = source.getElementType();
  if (from == type)
    return value;
  bool extends = from.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth();
  Value empty = tensor::EmptyOp::create(builder, loc, source.getShape(), type);
  AffineMap identity = builder.getMultiDimIdentityMap(source.getRank());
  SmallVector<utils::IteratorType> loops(source.getRank(),
                                         utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, empty.getType(), value, empty,
             ArrayRef<AffineMap>{identity, identity}, loops,
             [&](OpBuilder &inner, Location loc, ValueRange arguments) {
               Value element =
                   extends
                       ? arith::ExtFOp::create(inner, loc, type, arguments[0])
                             .getResult()
                       : arith::TruncFOp::create(inner, loc, type, arguments[0])
                             .getResult();
               linalg::YieldOp::create(inner, loc, element);
             })
      ->getResult(0);
}
