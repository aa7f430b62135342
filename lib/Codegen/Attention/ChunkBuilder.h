//===- ChunkBuilder.h - ops of attention over a chunk of keys ---*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tp.attend` and its backward pass work on batch x heads x rows x columns.
// What an attention reads is put into that form, and its result is read out of
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_CHUNKBUILDER_H
#define TP_LIB_CODEGEN_ATTENTION_CHUNKBUILDER_H

#include "AttentionStepBuilder.h"

namespace tp::target {

class ChunkBuilder : protected AttentionStepBuilder {
protected:
  explicit ChunkBuilder(const AttentionForm &form)
      : AttentionStepBuilder(form, /*id=*/0, /*scoreBytes=*/std::nullopt),
        integer(builder.getI64Type()) {}

  /// Loops that are one dimension.
  using Loops = llvm::SmallVector<unsigned>;

  /// Divides the loops that are neither rows nor columns; `moving` are the
  /// indices of the keys and of the values.
  void divideLoops(llvm::ArrayRef<const Indices *> moving);
  int64_t sizeOf(const Loops &loops) const;
  mlir::AffineExpr indexOf(const Loops &loops, const Loops &order) const;
  mlir::Value cut(mlir::Value tensor, const Indices &indices, unsigned row,
                  int64_t rows);
  mlir::Value packed(mlir::Value tensor, const Indices &indices,
                     const Loops &heads, unsigned row, int64_t rows,
                     const Loops &columns);
  mlir::Value allSpans();
  int64_t pairs() const;
  mlir::Value columnsOf(mlir::Value state, int64_t first, int64_t count);
  mlir::Value quotient(mlir::Value state);

  mlir::Value constant(mlir::OpBuilder &inner, int64_t value) {
    return mlir::arith::ConstantOp::create(inner, loc,
                                           inner.getI64IntegerAttr(value));
  }
  mlir::Value asInteger(mlir::OpBuilder &inner, mlir::Value index) {
    return mlir::arith::IndexCastOp::create(inner, loc, integer, index);
  }
  mlir::Value indexAt(mlir::OpBuilder &inner, int64_t loop) {
    return mlir::linalg::IndexOp::create(inner, loc, loop);
  }
  mlir::Value generic(
      llvm::ArrayRef<int64_t> shape, mlir::Type type, mlir::ValueRange inputs,
      llvm::ArrayRef<mlir::AffineMap> maps,
      llvm::ArrayRef<mlir::utils::IteratorType> iterators,
      llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)> body,
      bool isShared = false);

  mlir::Type integer;
  /// Loops of the result that are no queries and no columns: those over which
  /// the bias differs and k or v too, the others of k and v, and those over
  /// heads that share keys.
  Loops batch, shared, group, heads;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_CHUNKBUILDER_H
