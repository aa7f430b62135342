//===- KernelIR.h - kernels as LLVM IR --------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_BINARY_KERNELIR_H
#define TP_LIB_CODEGEN_CUDA_BINARY_KERNELIR_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/IR/LLVMContext.h"
#include <memory>

namespace llvm {
class Module;
} // namespace llvm

namespace tp::cuda {

/// Lowered kernels as LLVM IR, without a triple; null after an error.
std::unique_ptr<llvm::Module> translateKernels(mlir::ModuleOp kernels,
                                               llvm::LLVMContext &context);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_BINARY_KERNELIR_H
