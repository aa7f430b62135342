//===- LayersPasses.h - passes of Transforms/Layers -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_LAYERS_LAYERSPASSES_H
#define TP_TRANSFORMS_LAYERS_LAYERSPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "tp/IR/TP.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Transforms/Layers/Passes.h.inc"

/// The pass over `passes` and `further`, which run on modules.
std::unique_ptr<mlir::Pass>
createRepeatLayers(mlir::OpPassManager passes,
                   mlir::OpPassManager further =
                       mlir::OpPassManager(mlir::ModuleOp::getOperationName()));
} // namespace tp

#endif // TP_TRANSFORMS_LAYERS_LAYERSPASSES_H
