//===- EmitCalls.h - calls of functions of users ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_EMITCALLS_H
#define TP_LIB_CODEGEN_CPU_EMITCALLS_H

#include "CodegenPlan.h"
#include "tp/IR/CustomOps.h"

namespace tp::cpu {

/// The kernels that the calls of several programs become.
struct CallKernels {
  target::AssertTable &asserts;
  mlir::ModuleOp module;
  /// The names of kernels by their code, and of constants by what they are.
  llvm::StringMap<std::string> kernels = {}, constants = {};
};

/// Replaces every tp.call of the program by a tp.launch of a kernel, which
/// describes the tensors and calls the function. The loader finds the function
/// in a library that the user links.
mlir::LogicalResult emitCalls(target::CodegenPlan &planned, CallKernels &made);

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_EMITCALLS_H
