//===- CPUStages.h - the stages of the CPU back end -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_CPUSTAGES_H
#define TP_LIB_CODEGEN_CPU_CPUSTAGES_H

#include "CodegenPlan.h"

namespace tp::cpu {

inline constexpr target::TargetTraits traits = {"the CPU target", 64};

/// Emits all kernels into `kernels`; one call per command.
mlir::FailureOr<std::vector<target::KernelCall>>
emitKernels(target::StoragePlan &plan, const target::Schedule &schedule,
            const target::MemoryPlan &memory, target::AssertTable &asserts,
            mlir::ModuleOp kernels, int64_t &scratchBytes);

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_CPUSTAGES_H
