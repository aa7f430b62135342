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

/// Makes kernels of the calls of programs: each describes its tensors and calls
/// the function, which the loader finds in a library that the user links.
class CallEmitter {
public:
  CallEmitter(target::AssertTable &asserts, mlir::ModuleOp module)
      : asserts(asserts), module(module) {}

  /// Replaces every tp.call of the program by a tp.launch.
  mlir::LogicalResult emit(target::CodegenPlan &planned);

private:
  std::string emit(CallOp call);

  target::AssertTable &asserts;
  mlir::ModuleOp module;
  /// The names of kernels by their code, and of constants by what they are.
  llvm::StringMap<std::string> kernels, constants;

  friend class CallBody;
};

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_EMITCALLS_H
