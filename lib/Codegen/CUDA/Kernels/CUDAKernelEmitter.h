//===- CUDAKernelEmitter.h - kernels as GPU functions -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_KERNELS_CUDAKERNELEMITTER_H
#define TP_LIB_CODEGEN_CUDA_KERNELS_CUDAKERNELEMITTER_H

#include "CUDA/Mapping/KernelMapping.h"
#include "CodegenPlan.h"
#include "Emit/KernelNames.h"
#include "mlir/IR/BuiltinOps.h"

namespace tp::cuda {

/// A kernel as a command launches it.
struct EmittedKernel {
  /// The entry's symbol. Its parameters are one pointer per buffer, then one to
  /// a tp_kernel_context.
  std::string name;
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  /// Dynamic shared memory, and what it needs of the context's scratch, in
  /// bytes.
  int64_t sharedBytes = 0, scratchBytes = 0;
  /// Operations on floats, and bytes of values that are read or written once.
  int64_t flops = 0, bytes = 0;
};

/// Emits kernels into one module, every distinct body once.
class CUDAKernelEmitter {
public:
  CUDAKernelEmitter(target::AssertTable &asserts, mlir::ModuleOp module)
      : asserts(asserts), module(module) {}

  /// Emits the code of a kernel, as its mapping says. Fails with an error at an
  /// op that no kernel can do.
  mlir::FailureOr<EmittedKernel>
  emit(const target::KernelPlan &kernel,
       const target::KernelParameters &parameters,
       const KernelMapping &mapping);

private:
  target::AssertTable &asserts;
  mlir::ModuleOp module;
  target::KernelNames names;
};

/// Dynamic shared memory, one symbol for all kernels of the module.
inline constexpr llvm::StringLiteral sharedSymbol = "tp_shared";

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_KERNELS_CUDAKERNELEMITTER_H
