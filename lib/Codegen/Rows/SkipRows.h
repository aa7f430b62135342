//===- SkipRows.h - rows of products that nobody needs ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ROWS_SKIPROWS_H
#define TP_LIB_CODEGEN_ROWS_SKIPROWS_H

#include "TargetTraits.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp::target {

/// Says of which values of `function` some rows are needed, where the target
/// leaves the others out. Returns of how many.
unsigned skipRows(mlir::func::FuncOp function, const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ROWS_SKIPROWS_H
