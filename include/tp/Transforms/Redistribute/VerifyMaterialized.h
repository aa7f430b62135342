//===- VerifyMaterialized.h - layouts in all types --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_REDISTRIBUTE_VERIFYMATERIALIZED_H
#define TP_TRANSFORMS_REDISTRIBUTE_VERIFYMATERIALIZED_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/IR/TP.h"

namespace tp {
/// Checks the contract between tp-materialize and tp-partition: every tensor
/// has a layout, and every op has the layouts that its strategy requires. Emits
/// an error at the first op that breaks it.
llvm::LogicalResult verifyLayoutsInTypes(mlir::func::FuncOp func);
/// Checks every function that has a body.
llvm::LogicalResult verifyLayoutsInTypes(mlir::ModuleOp module);

/// Runs `transform` on every function that has a body, with the mesh of the
/// module. Fails with an error where the module has none.
llvm::LogicalResult forEachBody(
    mlir::ModuleOp module,
    llvm::function_ref<llvm::LogicalResult(mlir::func::FuncOp, MeshAttr)>
        transform);
} // namespace tp

#endif // TP_TRANSFORMS_REDISTRIBUTE_VERIFYMATERIALIZED_H
