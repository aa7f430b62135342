//===- ImportPasses.h - passes of Transforms/Import -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_IMPORT_IMPORTPASSES_H
#define TP_TRANSFORMS_IMPORT_IMPORTPASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/IR/TP.h"

namespace tp {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "tp/Transforms/Import/Passes.h.inc"

/// True if the module has a `shard.grid`: what tp-import-shard rewrites.
bool hasShardAnnotations(mlir::ModuleOp module);
} // namespace tp

#endif // TP_TRANSFORMS_IMPORT_IMPORTPASSES_H
