//===- ObjectCode.h - kernels as a shared object ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CPU_OBJECTCODE_H
#define TP_LIB_CODEGEN_CPU_OBJECTCODE_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Runtime/Manifest.h"
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace tp::cpu {

/// Lowers the kernels to dialect llvm, in place.
mlir::LogicalResult lowerKernels(mlir::ModuleOp kernels);

/// Compiles lowered kernels for `cpu` ("native" or empty: this machine) and
/// links them into an ELF shared object, whose bytes go to `object`. Errors are
/// reported at the module.
mlir::LogicalResult compileKernels(mlir::ModuleOp kernels, llvm::StringRef cpu,
                                   llvm::StringRef linker, std::string &object,
                                   runtime::CpuTarget &target);

/// The same of LLVM IR, whose triple and data layout are set; errors are
/// reported at `kernels`.
mlir::LogicalResult compileModule(llvm::Module &module, mlir::ModuleOp kernels,
                                  llvm::StringRef cpu, llvm::StringRef linker,
                                  std::string &object,
                                  runtime::CpuTarget &target);

} // namespace tp::cpu

#endif // TP_LIB_CODEGEN_CPU_OBJECTCODE_H
