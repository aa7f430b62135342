//===- Passes.td - passes of Transforms/Normalize -----------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_NORMALIZE_PASSES_TD
#define TP_TRANSFORMS_NORMALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Normalize : Pass<"tp-normalize", "::mlir::ModuleOp"> {
  let summary = "Every dimension one thing: batch, sequence, head, ...";
  let description = [{
    Splits every dimension as finely as some reshape of it does, everywhere it
    goes, so that contractions and elementwise ops work on atomic dimensions
    and reshapes between them disappear; dimensions of size 1 disappear too.
    Reshapes stay at function arguments (views of weights), at results, and
    where two reshapes cut a dimension in ways that do not nest. Pins move to
    the finer shape, `shard<d>` to the major part of view dimension d.

    Named linalg ops become generics (`linalg.fill` stays); inits and splat
    constants get one user each; dead results and dead code are dropped.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::tp::TPDialect"];
}

def VerifyNormalForm : Pass<"tp-verify-normal-form", "::mlir::ModuleOp"> {
  let summary = "Checks what tp-normalize leaves behind";
  let description = [{
    Fails at an op that works on a dimension which some reshape around it
    splits further.
  }];
}

#endif // TP_TRANSFORMS_NORMALIZE_PASSES_TD
