//===- CPUKernelEmitter.h - kernels as functions ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_CPUKERNELEMITTER_H
#define TP_LIB_CODEGEN_CPU_CPUKERNELEMITTER_H

#include "Emit/ElementEmitter.h"
#include "Emit/KernelNames.h"
#include "mlir/IR/BuiltinOps.h"

namespace tp::cpu {

/// Emits kernels into one module, every distinct body once.
class CPUKernelEmitter {
public:
  CPUKernelEmitter(const target::StoragePlan &plan,
                   const target::Schedule &schedule,
                   target::AssertTable &asserts, mlir::ModuleOp module)
      : plan(plan), schedule(schedule), asserts(asserts), module(module) {}

  /// Emits `fusedKernel`. `buffers` are the kernel's parameters; `parameter` is
  /// the parameter of every value in memory. Returns the symbol.
  std::string emit(const target::FusedKernel &fusedKernel,
                   llvm::ArrayRef<mlir::Value> buffers,
                   const llvm::DenseMap<mlir::Value, unsigned> &parameter);

  /// Bytes of row scratch that the largest kernel needs.
  int64_t scratchBytes() const { return scratch; }

private:
  struct ScratchValue;
  const target::StoragePlan &plan;
  const target::Schedule &schedule;
  target::AssertTable &asserts;
  mlir::ModuleOp module;
  target::KernelNames names;
  int64_t scratch = 0;
};

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_CPUKERNELEMITTER_H
