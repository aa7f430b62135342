//===- AttentionStepBuilder.h - ops of attention steps ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_ATTENTIONSTEPBUILDER_H
#define TP_LIB_CODEGEN_ATTENTION_ATTENTIONSTEPBUILDER_H

#include "AttentionForm.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tp::target {

/// Queries or keys from `first` on.
struct StepRange {
  int64_t first = 0, count = 0;
  int64_t end() const { return first + count; }
};

/// Makes the ops of an attention's steps.
class AttentionStepBuilder {
public:
  AttentionStepBuilder(const AttentionForm &form, int64_t id,
                       std::optional<int64_t> scoreBytes)
      : form(form), builder(form.result.getDefiningOp()),
        context(builder.getContext()), loc(form.output->getLoc()), id(id),
        scoreBytes(scoreBytes) {}

  void build();

protected:
  void makeBias();
  void makeSpans();
  mlir::Value cast(mlir::OpBuilder &inner, mlir::Value value, mlir::Type type);
  mlir::Value real(mlir::OpBuilder &inner, double value) {
    return mlir::arith::ConstantOp::create(
        inner, loc, inner.getFloatAttr(form.sumType, value));
  }
  /// `made` has the loops of `extents` that run more than once, in their order;
  /// `dims` is the dimension of `shape` that each loop is part of.
  mlir::Value withDims(mlir::Value made, llvm::ArrayRef<int64_t> extents,
                       llvm::ArrayRef<unsigned> dims,
                       llvm::ArrayRef<int64_t> shape);
  /// `made` has the result's loops that run more than once, in their order.
  void replaceResult(mlir::Value made);

  const AttentionForm &form;
  mlir::OpBuilder builder;
  mlir::MLIRContext *context;
  mlir::Location loc;
  /// What is added to the scores, over `biasLoops`.
  std::optional<ElementPlace> bias;
  /// Of every query the first key that it sees and the one behind the last;
  /// null where bounds say so.
  mlir::Value spans;

private:
  llvm::SmallVector<StepRange> queryBlocks() const;
  StepRange keysOf(StepRange queries) const;
  mlir::Value readAt(const ElementPlace &place, llvm::ArrayRef<unsigned> loops,
                     StepRange queries, StepRange keys, mlir::AffineMap &map);
  mlir::Value product(mlir::Value a, mlir::AffineMap aMap, mlir::Value b,
                      mlir::AffineMap bMap, llvm::ArrayRef<int64_t> shape,
                      mlir::AffineMap outMap, unsigned numReductions,
                      llvm::StringRef role, mlir::Location where,
                      llvm::ArrayRef<mlir::NamedAttribute> more);
  mlir::Value scores(StepRange queries, StepRange keys);
  mlir::Value weights(mlir::Value scores, StepRange queries, StepRange keys);
  mlir::Value output(mlir::Value weights, StepRange queries, StepRange keys);
  mlir::Value
  generic(llvm::ArrayRef<mlir::Value> inputs,
          llvm::ArrayRef<mlir::AffineMap> maps, mlir::Value init,
          mlir::AffineMap outMap, bool reduces, llvm::StringRef role,
          llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::ValueRange)>
              body);

  mlir::DictionaryAttr tag(llvm::StringRef role,
                           llvm::ArrayRef<mlir::NamedAttribute> more = {});
  mlir::NamedAttribute number(llvm::StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  }
  llvm::SmallVector<int64_t> shapeOf(StepRange queries, StepRange keys) const;
  mlir::AffineMap identity(unsigned rank) const {
    return mlir::AffineMap::getMultiDimIdentityMap(rank, context);
  }

  int64_t id;
  std::optional<int64_t> scoreBytes;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_ATTENTIONSTEPBUILDER_H
