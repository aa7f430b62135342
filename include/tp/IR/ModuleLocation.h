//===- ModuleLocation.h - where in the model an op comes from ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters give every op the location "module path"("graph node"). Passes
// fuse locations; the first part that has this form counts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_MODULELOCATION_H
#define TP_IR_MODULELOCATION_H

#include "mlir/IR/Location.h"

namespace tp {
/// The module's path, empty where the location names none.
llvm::StringRef moduleOf(mlir::Location location);
/// The graph node's name, empty where the location names none.
llvm::StringRef nodeOf(mlir::Location location);
/// Whether the op that is there belongs to the backward pass of a training
/// step: its module is `bwd:PATH`, or it has no module and a name as ops of JAX
/// have, `model.py:24 bwd:mlp/tanh`.
bool isOfBackwardPass(mlir::Location location);

/// A location as a module path and the name inside it. In programs that no
/// exporter wrote, the name is a plain name or a line of a file (no folder).
struct SourceName {
  std::string module, location;
};
SourceName sourceNameOf(mlir::Location location);
} // namespace tp

#endif // TP_IR_MODULELOCATION_H
