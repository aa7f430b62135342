//===- LowerKernels.cpp - kernels to dialect llvm -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit/LowerMath.h"
#include "Floats/NarrowFloats.h"
#include "ObjectCode.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

/// To LLVM these are exp(x) - 1 and log(1 + x), which near 0 have no digits.
static LogicalResult callLibraryNearZero(ModuleOp kernels) {
  RewritePatternSet patterns(kernels.getContext());
  populateMathToLibmConversionPatterns(patterns);
  ConversionTarget target(*kernels.getContext());
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalOp<math::ExpM1Op, math::Log1pOp>();
  return applyPartialConversion(kernels, target, std::move(patterns));
}

static LogicalResult widenNarrowArithmetic(ModuleOp kernels) {
  RewritePatternSet patterns(kernels.getContext());
  tp::target::populateNarrowArithmetic(patterns);
  return applyPatternsGreedily(kernels, std::move(patterns));
}

LogicalResult tp::cpu::lowerKernels(ModuleOp kernels) {
  if (failed(target::lowerMath(kernels)) ||
      failed(widenNarrowArithmetic(kernels)) ||
      failed(callLibraryNearZero(kernels)))
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
