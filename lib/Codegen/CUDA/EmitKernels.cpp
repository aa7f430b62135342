//===- EmitKernels.cpp - the kernels of a program -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDAStages.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

FailureOr<std::vector<EmittedKernel>>
tp::cuda::emitKernels(CodegenPlan &planned, ModuleOp kernels) {
  CUDAKernelEmitter emitter(*planned.plan, planned.schedule, planned.asserts,
                            kernels);
  std::vector<EmittedKernel> emitted;
  int64_t &scratch = planned.program.scratchBytes;
  for (const Command &command : planned.schedule.commands) {
    if (!command.fusedKernel) {
      emitted.emplace_back();
      continue;
    }
    llvm::DenseMap<Value, unsigned> parameter;
    SmallVector<Value> buffers =
        kernelBuffers(*planned.plan, planned.memory, command, parameter);
    FailureOr<EmittedKernel> kernel =
        emitter.emit(*command.fusedKernel, buffers, parameter);
    if (failed(kernel))
      return failure();
    scratch = std::max(scratch, kernel->scratchBytes);
    emitted.push_back(std::move(*kernel));
  }
  return emitted;
}

KernelCall tp::cuda::callOf(const EmittedKernel &kernel) {
  KernelCall call;
  call.function = kernel.name;
  call.buffers = kernel.buffers;
  if (kernel.name.empty())
    return call;
  call.launch.emplace();
  call.launch->grid = kernel.grid;
  call.launch->block = kernel.block;
  call.launch->sharedBytes = kernel.sharedBytes;
  call.launch->flops = kernel.flops;
  call.launch->bytes = kernel.bytes;
  return call;
}
