//===- CompileForCUDA.h - per-rank program to CUDA artifact -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_CUDA_COMPILEFORCUDA_H
#define TP_CODEGEN_CUDA_COMPILEFORCUDA_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Codegen/CompiledManifest.h"
#include "tp/Codegen/ProgramStatistics.h"
#include "tp/Runtime/ArtifactFile.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tp {

struct CUDAOptions {
  /// `sm_80`, `sm_90`, `sm_100`: each gets machine code if ptxas is there, and
  /// the first one's assembly is in the artifact, for the driver to compile.
  /// `host`: code for this machine, which the fakes of the tests run.
  std::vector<std::string> chips = {"sm_90"};
  /// GEMMs of f32 may round their operands to tf32.
  bool tf32 = false;
  /// Limit of the bytes of scores in one attention step (docs/cuda.md).
  int64_t scoreBytes = int64_t(64) << 20;
  /// NVIDIA's assembler; empty: `ptxas` from the search path.
  std::string assembler;
  /// The linker for `host`; empty: ld.lld from the search path.
  std::string linker;
};

/// Fails with an error at an unknown or repeated name.
mlir::LogicalResult checkChips(mlir::Location loc,
                               llvm::ArrayRef<std::string> chips);

/// Plans the memory of `module` (which is changed) as `compileForCUDA` does,
/// and makes no code. Fails with a located error.
mlir::FailureOr<ProgramStatistics>
planMemoryForCUDA(mlir::ModuleOp module, const CUDAOptions &options = {});

/// Compiles `module` (which is changed), fills `artifact`, and returns what its
/// manifest says. Without ptxas a remark says that the artifact has assembly
/// only. Every failure has been reported as a located error.
mlir::FailureOr<CompiledManifest>
compileForCUDA(mlir::ModuleOp module, const CUDAOptions &options,
               runtime::ArtifactWriter &artifact);

/// Dialects that code generation creates ops of; to be loaded before a pass
/// pipeline runs compileForCUDA.
void registerCUDATargetDialects(mlir::DialectRegistry &registry);

} // namespace tp

#endif // TP_CODEGEN_CUDA_COMPILEFORCUDA_H
