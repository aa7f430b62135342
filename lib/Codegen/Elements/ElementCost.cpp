//===- ElementCost.cpp - what an element takes to compute -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementCost.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp::target;

static bool isCheap(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
             arith::SelectOp, arith::CmpFOp, arith::CmpIOp, arith::ConstantOp,
             arith::AddIOp, arith::SubIOp, arith::AndIOp, arith::OrIOp,
             arith::XOrIOp, arith::IndexCastOp, arith::ExtFOp, arith::TruncFOp,
             arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::MulIOp,
             arith::SIToFPOp, linalg::IndexOp>(op);
}

ElementCost tp::target::bodyCost(linalg::LinalgOp op) {
  ElementCost cost;
  for (Operation &inner : *op.getBlock())
    if (isa<tensor::ExtractOp>(inner))
      cost.loads += 1;
    else if (!isa<linalg::YieldOp>(inner))
      cost.operations += isCheap(&inner) ? 1 : 16;
  return cost;
}
