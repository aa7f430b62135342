//===- WhereUnequal.h - a body where a comparison fails ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_SCATTER_WHEREUNEQUAL_H
#define TP_LIB_CODEGEN_SCATTER_WHEREUNEQUAL_H

#include "Elements/ElementGraph.h"

namespace tp::target {

/// Evaluates what a reduction yields where `comparison`, for equality or its
/// opposite, has unequal numbers.
class WhereUnequal {
public:
  /// `yielded` are the elements that the body of `op` yields in the iteration
  /// `loops`, all of `graph`.
  WhereUnequal(ElementGraph &graph, mlir::linalg::LinalgOp op,
               llvm::ArrayRef<const Element *> yielded,
               llvm::ArrayRef<mlir::AffineExpr> loops,
               const Element *comparison)
      : graph(graph), op(op), yielded(yielded), loops(loops),
        comparison(comparison) {}

  /// Whether the body yields all accumulators as they were.
  bool keepsAll();

private:
  /// What an element is: another element, or a constant.
  struct Known {
    const Element *element = nullptr;
    mlir::TypedAttr constant;
  };
  Known of(const Element *element);
  Known find(const Element *element);
  Known ofCompute(const Element *element);
  const Element *keptBy(mlir::Operation *combiner, Known a, Known b);
  bool mayAddZero(mlir::Operation *combiner, const Element *accumulator);

  ElementGraph &graph;
  mlir::linalg::LinalgOp op;
  llvm::ArrayRef<const Element *> yielded;
  llvm::ArrayRef<mlir::AffineExpr> loops;
  const Element *comparison;
  llvm::DenseMap<const Element *, Known> known;
};

} // namespace tp::target

#endif // TP_LIB_CODEGEN_SCATTER_WHEREUNEQUAL_H
