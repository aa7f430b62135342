//===- CompileForCPU.h - per-rank program to CPU artifact -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CPU back end (docs/cpu.md): takes a module with one function @main on
// local static shapes, writes an artifact (docs/artifact.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_CPU_COMPILEFORCPU_H
#define TP_TARGET_CPU_COMPILEFORCPU_H

#include "mlir/IR/BuiltinOps.h"
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

/// Sizes in bytes per rank; times of the stages in seconds.
struct CPUStatistics {
  int64_t arenaBytes = 0, peakLiveBytes = 0, weightsBytes = 0;
  int64_t constantsBytes = 0, scratchBytes = 0;
  int64_t numKernels = 0, numCommands = 0, gemmFlops = 0;
  double planSeconds = 0, emitSeconds = 0, codeSeconds = 0;
  /// Of all arguments that are read, and of all results.
  int64_t argumentsBytes = 0, resultsBytes = 0;
  /// That a rank sends on rings.
  int64_t ringBytes = 0;
  /// What a rank holds at once.
  int64_t heldBytes() const {
    return argumentsBytes + resultsBytes + arenaBytes + constantsBytes +
           scratchBytes;
  }
};

/// Plans the memory of `module` (which is changed) as `compileForCPU` does, and
/// makes no code. Fails with a located error.
mlir::FailureOr<CPUStatistics> planMemoryForCPU(mlir::ModuleOp module);

/// Compiles `module` (which is changed) and writes the artifact to
/// `outputPath`, whole or not at all. Every failure has been reported as a
/// located error.
mlir::LogicalResult compileForCPU(mlir::ModuleOp module,
                                  const CPUOptions &options,
                                  const std::string &outputPath,
                                  CPUStatistics *statistics = nullptr);

/// Dialects that code generation creates ops of; to be loaded before a pass
/// pipeline runs compileForCPU.
void registerCPUTargetDialects(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TP_TARGET_CPU_COMPILEFORCPU_H
