//===- UnnamedWeights.h - weights that no plan entry names ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PIPELINES_WEIGHTS_UNNAMEDWEIGHTS_H
#define TP_LIB_PIPELINES_WEIGHTS_UNNAMEDWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Runtime/Manifest.h"

namespace tp {

/// The parameters of two or more dimensions that every rank holds whole and
/// that no entry of the plan names. `bindings` is the module's `tp.bindings`;
/// null: no plan, and none.
std::vector<runtime::Port> unnamedWeights(mlir::Attribute bindings,
                                          const runtime::Manifest &manifest);

/// Where implicit collectives are forbidden, ops of these weights run whole on
/// every rank instead: remarks which weights these are.
void remarkUnnamedWeights(mlir::Attribute bindings,
                          const runtime::Manifest &manifest,
                          mlir::Location location);

/// An error that names these weights, if there are any, and one where nothing
/// tells what entries name.
llvm::LogicalResult forbidUnnamedWeights(mlir::Attribute bindings,
                                         const runtime::Manifest &manifest,
                                         mlir::Location location);

} // namespace tp

#endif // TP_LIB_PIPELINES_WEIGHTS_UNNAMEDWEIGHTS_H
