//===- RingBuilder.h - ops of attention whose keys travel -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H
#define TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H

#include "AttentionStepBuilder.h"
#include "RingAttention.h"

namespace tp::target {

/// Makes the chain of rotations and of attention to chunks.
class RingBuilder : AttentionStepBuilder {
public:
  RingBuilder(const AttentionForm &form, const RingSource &keys,
              const RingSource &values)
      : AttentionStepBuilder(form, /*id=*/0, /*scoreBytes=*/std::nullopt),
        keys(keys), values(values), ranks(keys.runs.size()),
        integer(builder.getI64Type()) {}

  /// False if more would be sent than a gather sends.
  bool build();

private:
  /// Loops that are one dimension.
  using Loops = llvm::SmallVector<unsigned>;

  void divideLoops();
  int64_t sizeOf(const Loops &loops) const;
  mlir::AffineExpr indexOf(const Loops &loops, const Loops &order) const;
  mlir::Value packed(mlir::Value tensor, const Indices &indices,
                     const Loops &heads, unsigned row, int64_t rows,
                     const Loops &columns);
  mlir::Value widened(mlir::Value chunk);
  mlir::Value withoutPadding(mlir::Value chunk);
  mlir::Value rotated(mlir::Value chunk, const RingSource &source);
  void makeTable();
  mlir::Value tableAt(mlir::OpBuilder &inner, mlir::Value owner,
                      mlir::Value run, int64_t column);
  mlir::Value ownerOf(int64_t step);
  mlir::Value allSpans();
  mlir::Value spansIn(mlir::Value owner);
  mlir::Value numbersIn(mlir::Value owner);
  mlir::Value biasIn(mlir::Value owner);
  int64_t pairs() const;
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

  const RingSource &keys, &values;
  int64_t ranks;
  mlir::Type integer;
  /// Loops of the result that are no queries and no columns: those over which
  /// the bias differs and k or v too, the others of k and v, and those over
  /// heads that share keys.
  Loops batch, shared, group, heads;
  /// Whether some rank's chunk has padding.
  bool isPadded = false;
  mlir::Value position, table, global;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_RINGBUILDER_H
