//===- CPUPasses.h - the stages of the CPU back end -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TARGET_CPU_CPUPASSES_H
#define TP_LIB_TARGET_CPU_CPUPASSES_H

#include "Manifest.h"

namespace tp::cpu {

/// Folds and simplifies a per-rank function on plain tensor types.
void cleanUp(mlir::func::FuncOp function);

/// Contractions of f16 or bf16 into f32 read operands widened before.
void populateWidenContractions(mlir::RewritePatternSet &patterns);

/// The only public function of the module.
mlir::FailureOr<mlir::func::FuncOp> entryOf(mlir::ModuleOp module);

/// The module's mesh; one rank if it has none.
mlir::FailureOr<tp::Mesh> meshOfModule(mlir::ModuleOp module);

/// Emits all kernels into `kernels`; one call per command.
mlir::FailureOr<std::vector<KernelCall>>
emitKernels(StoragePlan &plan, const Schedule &schedule,
            const MemoryPlan &memory, AssertTable &asserts,
            mlir::ModuleOp kernels, int64_t &scratchBytes);

} // namespace tp::cpu

#endif // TP_LIB_TARGET_CPU_CPUPASSES_H
