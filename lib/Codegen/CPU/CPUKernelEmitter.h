//===- CPUKernelEmitter.h - kernels as functions ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_CPUKERNELEMITTER_H
#define TP_LIB_CODEGEN_CPU_CPUKERNELEMITTER_H

#include "CodegenPlan.h"
#include "Emit/KernelNames.h"
#include "mlir/IR/BuiltinOps.h"

namespace tp::cpu {

/// Emits kernels into one module, every distinct body once.
class CPUKernelEmitter {
public:
  CPUKernelEmitter(target::AssertTable &asserts, mlir::ModuleOp module)
      : asserts(asserts), module(module) {}

  /// Emits the code of a kernel and returns its symbol.
  std::string emit(const target::KernelPlan &kernel,
                   const target::KernelParameters &parameters);

  /// Bytes of row scratch that the largest kernel needs.
  int64_t scratchBytes() const { return scratch; }

private:
  struct ScratchValue;
  target::AssertTable &asserts;
  mlir::ModuleOp module;
  target::KernelNames names;
  int64_t scratch = 0;
};

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_CPUKERNELEMITTER_H
