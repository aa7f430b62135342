//===- Conditions.h - conditions on elements --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LEGALIZE_CONDITIONS_H
#define TP_LIB_TRANSFORMS_LEGALIZE_CONDITIONS_H

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace tp::legalize {

/// `condition` and that `a` compares with `b`; null holds everywhere.
inline mlir::Value andCompare(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value condition,
                              mlir::arith::CmpIPredicate predicate,
                              mlir::Value a, mlir::Value b) {
  mlir::Value holds =
      mlir::arith::CmpIOp::create(builder, loc, predicate, a, b);
  if (!condition)
    return holds;
  return mlir::arith::AndIOp::create(builder, loc, condition, holds);
}

} // namespace tp::legalize

#endif // TP_LIB_TRANSFORMS_LEGALIZE_CONDITIONS_H
