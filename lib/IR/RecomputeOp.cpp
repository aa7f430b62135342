//===- RecomputeOp.cpp - entries that compute modules again ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/TP.h"

using namespace mlir;
using namespace tp;

LogicalResult RecomputeOp::verify() {
  if (getOptions().empty())
    return success();
  return emitOpError() << "tp.recompute has no option '"
                       << getOptions().begin()->getName().getValue()
                       << "', it has none at all";
}
