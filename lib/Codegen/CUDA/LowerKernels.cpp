//===- LowerKernels.cpp - kernels to dialects llvm and nvvm ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CUDA/Math/DeviceMath.h"
#include "CUDAStages.h"
#include "Emit/LowerMath.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

/// Functions that NVPTX has instructions or exact expansions for. Of others it
/// would call a library that no device has.
static bool hasDeviceCode(Operation *op) {
  return isa<math::AbsFOp, math::AbsIOp, math::CeilOp, math::CopySignOp,
             math::CountLeadingZerosOp, math::CountTrailingZerosOp,
             math::CtPopOp, math::FloorOp, math::FmaOp, math::RoundEvenOp,
             math::RoundOp, math::SqrtOp, math::TruncOp, math::IsNaNOp,
             math::IsFiniteOp>(op);
}

LogicalResult tp::cuda::lowerKernels(ModuleOp kernels) {
  if (failed(target::lowerMath(kernels, populateDeviceMath)))
    return failure();
  WalkResult walk = kernels.walk([&](Operation *op) {
    if (!isa_and_present<math::MathDialect>(op->getDialect()) ||
        hasDeviceCode(op))
      return WalkResult::advance();
    op->emitError("'") << op->getName() << "' on " << op->getResult(0).getType()
                       << " is not handled by " << tp::target::cudaTraits.name
                       << ": no function of the device computes it";
    return WalkResult::interrupt();
  });
  if (walk.wasInterrupted())
    return failure();
  PassManager lower(kernels.getContext());
  lower.addPass(createSCFToControlFlowPass());
  lower.addPass(createConvertMathToLLVMPass());
  lower.addPass(createArithToLLVMConversionPass());
  lower.addPass(createConvertControlFlowToLLVMPass());
  lower.addPass(createReconcileUnrealizedCastsPass());
  if (failed(lower.run(kernels)))
    return kernels.emitError("lowering the kernels failed");
  return success();
}
