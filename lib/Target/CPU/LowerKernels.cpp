//===- LowerKernels.cpp - kernels to dialect llvm -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerMath.h"
#include "ObjectCode.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

LogicalResult tp::cpu::lowerKernels(ModuleOp kernels) {
  if (failed(target::lowerMath(kernels)))
    return failure();
  PassManager lower(kernels.getContext());
  lower.addPass(createSCFToControlFlowPass());
  lower.addPass(createConvertMathToLLVMPass());
  lower.addPass(createConvertMathToLibmPass());
  lower.addPass(createArithToLLVMConversionPass());
  lower.addPass(createConvertControlFlowToLLVMPass());
  lower.addPass(createConvertFuncToLLVMPass());
  lower.addPass(createReconcileUnrealizedCastsPass());
  return lower.run(kernels);
}
