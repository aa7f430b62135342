//===- NeededElements.h - which elements are used ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program that computes all and selects a part does not use the rest: a
// mixture of experts lets every expert compute every token, and takes the
// results of those that a token has chosen. What is needed of a value is known
// once all its readers are: from the end of the function to its beginning.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ROWS_NEEDEDELEMENTS_H
#define TP_LIB_CODEGEN_ROWS_NEEDEDELEMENTS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tp::target {

/// That the element of `value`, i1, at place(index) is `wanted`.
struct Condition {
  mlir::Value value;
  mlir::AffineMap place;
  bool wanted = true;
  bool operator==(const Condition &) const = default;
};

/// The condition of a select in the body of `op`, over its loops: an element of
/// an operand, or of what the operand is a view of. None where it is something
/// else.
std::optional<Condition> conditionOf(mlir::linalg::LinalgOp op,
                                     mlir::arith::SelectOp select);

/// The elements of a tensor that matter, whatever the others are.
struct Needed {
  enum class Kind { None, Some, All };
  Kind kind = Kind::None;
  /// Some: where an element is needed.
  Condition condition = {};

  static Needed all() { return {Kind::All}; }
  bool isSome() const { return kind == Kind::Some; }
  bool operator==(const Needed &) const = default;
  /// What is needed for this and for `other`.
  void join(const Needed &other);
};

/// What `function` needs of the results of its top-level ops. A value that it
/// lacks is not needed.
llvm::DenseMap<mlir::Value, Needed> neededElements(mlir::func::FuncOp function);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ROWS_NEEDEDELEMENTS_H
