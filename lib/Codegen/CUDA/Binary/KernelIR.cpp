//===- KernelIR.cpp - kernels as LLVM IR ----------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelIR.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/Module.h"

using namespace mlir;

std::unique_ptr<llvm::Module>
tp::cuda::translateKernels(ModuleOp kernels, llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  kernels.getContext()->appendDialectRegistry(registry);
  std::unique_ptr<llvm::Module> module =
      translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    kernels.emitError("cannot translate the kernels to LLVM IR");
  return module;
}
