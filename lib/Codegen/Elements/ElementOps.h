//===- ElementOps.h - elements back as tensors ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_ELEMENTOPS_H
#define TP_LIB_CODEGEN_ELEMENTS_ELEMENTOPS_H

#include "ElementGraph.h"

namespace tp::target {

/// Makes one elementwise op of `elements`, whose loops are `loops`: its result
/// is what `combine` makes of their scalars, of the type `type`. Of the graph's
/// other loops it takes the beginning.
mlir::linalg::GenericOp
materialise(mlir::OpBuilder &builder, mlir::Location loc,
            const ElementGraph &graph, llvm::ArrayRef<const Element *> elements,
            llvm::ArrayRef<unsigned> loops, mlir::Type type,
            llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>
                combine);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_ELEMENTOPS_H
