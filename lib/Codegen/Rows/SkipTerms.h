//===- SkipTerms.h - terms of products that are zero ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ROWS_SKIPTERMS_H
#define TP_LIB_CODEGEN_ROWS_SKIPTERMS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp::target {

/// Lets products of `function` whose factors are zero at the same places add
/// nothing there, as `terms` of Contraction says. Returns how many.
unsigned skipTerms(mlir::func::FuncOp function);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ROWS_SKIPTERMS_H
