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

/// Plans `module`, which is changed, and emits its kernels into `kernels`; the
/// plan knows their calls, one per command.
mlir::FailureOr<std::unique_ptr<target::CodegenPlans>>
planWithKernels(mlir::ModuleOp module, mlir::ModuleOp kernels);

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_CPUSTAGES_H
