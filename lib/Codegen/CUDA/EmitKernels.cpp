//===- EmitKernels.cpp - the kernels of a program -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Mapping/MappingAttribute.h"
#include "CUDAStages.h"
#include "Schedule/CommandQueues.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

static LogicalResult emitKernels(CodegenPlan &planned,
                                 CUDAKernelEmitter &emitter) {
  if (failed(mapKernels(planned.program, planned.kernels)) ||
      failed(insertWaits(planned.program)))
    return failure();
  return emitLaunches(
      planned,
      [&](const KernelPlan &plan, const KernelParameters &parameters,
          tp::LaunchOp launch) -> FailureOr<std::string> {
        FailureOr<EmittedKernel> emitted =
            emitter.emit(plan, parameters, mappingOf(launch, plan));
        if (failed(emitted))
          return failure();
        planned.scratchBytes =
            std::max(planned.scratchBytes, emitted->scratchBytes);
        launch.setGrid(emitted->grid);
        launch.setBlock(emitted->block);
        launch.setShared(emitted->sharedBytes);
        launch.setScratch(emitted->scratchBytes);
        launch.setFlops(emitted->flops);
        launch.setBytes(emitted->bytes);
        return emitted->name;
      });
}

LogicalResult tp::cuda::emitKernels(CodegenPlans &planned, ModuleOp kernels) {
  CUDAKernelEmitter emitter(planned.asserts, kernels);
  for (auto &entry : planned.entries)
    if (failed(::emitKernels(*entry, emitter)))
      return failure();
  return success();
}
