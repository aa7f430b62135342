//===- ViewAnalysis.h - elements of values without a buffer -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code generator pulls elements: it asks for the element of a value at an
// index. These functions find it without a buffer: through a view, as a splat,
// or in a piecewise source.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ELEMENTS_VIEWANALYSIS_H
#define TP_LIB_CODEGEN_ELEMENTS_VIEWANALYSIS_H

#include "IndexExpr.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Value.h"

namespace tp::target {

/// Symbols of an index map: function-level scalars, each clamped into a range
/// when it is read, so that no view can leave its source.
struct ScalarSymbols {
  llvm::SmallVector<mlir::Value> values;
  llvm::SmallVector<IndexRange> ranges;
};

/// Element i of the value is element map(i) of `source`.
struct View {
  mlir::Value source;
  mlir::AffineMap map;
  ScalarSymbols symbols;
  /// Every source element appears exactly once: a reordering of the source.
  bool bijective = false;
};

/// The view step that defines `value`; none if it is computed or stored.
std::optional<View> viewOf(mlir::Value value);

/// For a bijective view step: the index in the view of a source index.
mlir::AffineMap inverseOf(mlir::Value view);

/// The scalar that every element of `value` equals: an attribute or a
/// function-level value.
struct Splat {
  mlir::TypedAttr constant;
  mlir::Value scalar;
};
std::optional<Splat> splatOf(mlir::Value value);

/// Inside the box of `sizes` at `offsets` (over dims and the symbols of the
/// PiecewiseSource) an element comes from `source` at map(index - offsets).
struct SourceBox {
  Indices offsets;
  llvm::SmallVector<int64_t> sizes;
  mlir::Value source;
  /// Instead of a tensor source: one scalar for the whole box.
  mlir::Value scalar;
  mlir::AffineMap map;
};

/// A value put together from boxes. The first box that holds an index wins; the
/// last holds all.
struct PiecewiseSource {
  ScalarSymbols symbols;
  llvm::SmallVector<SourceBox> boxes;
};
std::optional<PiecewiseSource> piecewiseSourceOf(mlir::Value value);

/// The loop indices of a linalg op whose loops are all parallel at which it
/// computes element `index` of its result; none if the result's map does not
/// tell every loop.
std::optional<Indices> loopsOfElement(mlir::linalg::LinalgOp op,
                                      unsigned result,
                                      llvm::ArrayRef<mlir::AffineExpr> index);

/// True for a linalg op without reduction loops.
bool isElementwise(mlir::linalg::LinalgOp op);

/// The operand of `op` that block argument `argument` stands for.
mlir::OpOperand *operandOfArgument(mlir::linalg::LinalgOp op,
                                   mlir::BlockArgument argument);

/// Follows views down to the value that is computed or stored.
mlir::Value rootOf(mlir::Value value);

int64_t numElements(mlir::Value tensor);
llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor);

/// Bytes of one element in memory: i1 takes a byte, index eight.
int64_t elementBytes(mlir::Type type);
bool isStorableElement(mlir::Type type);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ELEMENTS_VIEWANALYSIS_H
