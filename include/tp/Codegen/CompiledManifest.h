//===- CompiledManifest.h - a manifest and what reports add -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_COMPILEDMANIFEST_H
#define TP_CODEGEN_COMPILEDMANIFEST_H

#include "mlir/IR/Attributes.h"
#include "tp/Runtime/Manifest.h"

namespace tp {

/// The manifest of a compiled program. Its artifact holds no more than that;
/// reports say besides why each collective is there.
struct CompiledManifest {
  runtime::Manifest manifest;
  /// Per entry: tp.cause of every collective, or null.
  std::vector<std::vector<mlir::Attribute>> causes;
};

} // namespace tp

#endif // TP_CODEGEN_COMPILEDMANIFEST_H
