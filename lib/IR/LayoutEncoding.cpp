//===- LayoutEncoding.cpp - layouts in types ------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/LayoutEncoding.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tp;

void tp::setLayout(Value value, LayoutAttr layout) {
  RankedTensorType type =
      layout.attachTo(cast<RankedTensorType>(value.getType()));
  value.setType(type);
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  if (!constant)
    return;
  if (auto elements = dyn_cast<DenseIntOrFPElementsAttr>(constant.getValue()))
    constant.setValueAttr(
        DenseElementsAttr::getFromRawBuffer(type, elements.getRawData()));
}
