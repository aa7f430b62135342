//===- ElementCost.h - what an element takes to compute ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_ELEMENTCOST_H
#define TP_LIB_CODEGEN_ELEMENTS_ELEMENTCOST_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tp::target {

/// What it takes to compute one element, through everything inlined: operations
/// (an addition is one, an exponential function 16) and loads of stored values.
struct ElementCost {
  int64_t operations = 0, loads = 0;
};

/// The cost of the op's body. Its loads are those at computed indices.
ElementCost bodyCost(mlir::linalg::LinalgOp op);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_ELEMENTCOST_H
