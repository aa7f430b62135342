//===- GradientBuilder.h - ops around gradients of attention ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `tp.attend_backward` reads besides q, k and v, and what becomes of its
// results.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_BACKWARD_GRADIENTBUILDER_H
#define TP_LIB_CODEGEN_ATTENTION_BACKWARD_GRADIENTBUILDER_H

#include "Attention/ChunkBuilder.h"
#include "BackwardForm.h"

namespace tp::target {

class GradientBuilder : protected ChunkBuilder {
protected:
  using ChunkBuilder::ChunkBuilder;

  /// What `tp.attend_backward` reads besides keys, values and masks.
  struct Operands {
    mlir::Value q, gradient, lse, mean;
  };

  /// Of every query the maximum of its scores and the logarithm of its sum of
  /// exponentials: the two columns of `lse`.
  mlir::Value logarithms(mlir::Value state);
  /// Begins the backward pass: from now on ops stand before its products.
  /// `result` and `lse` are those of the forward pass.
  Operands operands(const BackwardForm &backward, mlir::Value q,
                    mlir::Value result, mlir::Value lse);
  /// What the product is, from the gradient, which may have a part of the rows:
  /// then the result has as many along the product's dimension of them.
  mlir::Value placed(const GradientProduct &product, mlir::Value gradient,
                     unsigned row, const Loops &columns);
  /// The type of a gradient with `rows` of `row`.
  mlir::RankedTensorType gradientType(const Loops &headLoops, int64_t rows,
                                      const Loops &columns,
                                      mlir::Type element) const {
    return mlir::RankedTensorType::get(
        {sizeOf(batch), sizeOf(headLoops), rows, sizeOf(columns)}, element);
  }

private:
  mlir::Value resultGradient(const BackwardForm &backward);
  mlir::Value packedResult(mlir::Value tensor, const Loops &loops);
  mlir::Value means(mlir::Value gradient, mlir::Value result);
  mlir::Value countOf(const LoopPrefix &prefix);
  mlir::Value hidden(mlir::Value tensor, mlir::Value count, double number);
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_BACKWARD_GRADIENTBUILDER_H
