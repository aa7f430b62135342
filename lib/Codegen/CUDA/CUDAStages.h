//===- CUDAStages.h - the stages of the CUDA back end -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_CUDASTAGES_H
#define TP_LIB_CODEGEN_CUDA_CUDASTAGES_H

#include "CUDA/Kernels/CUDAKernelEmitter.h"
#include "CodegenPlan.h"

namespace tp::cuda {

/// Plans `module`, which is changed, for devices: what is reduced over ranks is
/// so in a type in which NCCL gives what the program says.
mlir::FailureOr<std::unique_ptr<target::CodegenPlans>>
planForDevices(mlir::ModuleOp module, const target::TargetTraits &traits);

/// Emits all kernels into `kernels`; each becomes a `tp.launch`.
mlir::LogicalResult emitKernels(target::CodegenPlans &planned,
                                mlir::ModuleOp kernels);

/// Lowers the kernels to the dialects llvm and nvvm, in place. Fails with an
/// error at an op that has no code on the device.
mlir::LogicalResult lowerKernels(mlir::ModuleOp kernels);

/// True for the chips that tp makes code for: sm_80, sm_90, sm_100.
bool isChip(llvm::StringRef chip);

/// Compiles lowered kernels to PTX for `chip`.
mlir::FailureOr<std::string> makePTX(mlir::ModuleOp kernels,
                                     llvm::StringRef chip);

/// Compiles lowered kernels for this machine, as a shared object in which every
/// kernel is a function of its name that does what one thread does. It takes an
/// array of the addresses of the kernel's arguments, and calls what stands for
/// the device (test/Fakes/Blocks/BlockRunner.h). Accesses to shared memory are
/// reported to that, others only if `reportsGlobal`.
mlir::LogicalResult makeHostCode(mlir::ModuleOp kernels, llvm::StringRef linker,
                                 std::string &object,
                                 bool reportsGlobal = false);

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_CUDASTAGES_H
