//===- CompileForCPU.h - per-rank program to CPU artifact -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CPU back end (docs/cpu.md): takes a module with one function @main on
// local static shapes, makes an artifact (docs/artifact.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_CPU_COMPILEFORCPU_H
#define TP_CODEGEN_CPU_COMPILEFORCPU_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Codegen/CompiledManifest.h"
#include "tp/Codegen/ProgramStatistics.h"
#include "tp/Runtime/ArtifactFile.h"
#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tp {

struct CPUOptions {
  /// "native" or an LLVM CPU name of this machine's architecture.
  std::string targetCPU = "native";
  /// The linker to start; empty: ld.lld from the search path.
  std::string linker;
};

/// Plans the memory of `module` (which is changed) as `compileForCPU` does, and
/// makes no code. Fails with a located error.
mlir::FailureOr<ProgramStatistics> planMemoryForCPU(mlir::ModuleOp module);

/// Compiles `module` (which is changed), fills `artifact`, and returns what its
/// manifest says. Every failure has been reported as a located error.
mlir::FailureOr<CompiledManifest>
compileForCPU(mlir::ModuleOp module, const CPUOptions &options,
              runtime::ArtifactWriter &artifact);

/// Dialects that code generation creates ops of; to be loaded before a pass
/// pipeline runs compileForCPU.
void registerCPUTargetDialects(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TP_CODEGEN_CPU_COMPILEFORCPU_H
