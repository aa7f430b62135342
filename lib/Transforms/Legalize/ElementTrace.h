//===- ElementTrace.h - where an element of a tensor comes from -*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs compute tables of coordinates: an iota is repeated, reshaped and
// concatenated. The trace follows an element of such a table, at an index that
// depends on loop indices, back through the ops that only move it, to a linear
// function of the loop indices or to an element of another tensor.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_LEGALIZE_ELEMENTTRACE_H
#define TP_LIB_TRANSFORMS_LEGALIZE_ELEMENTTRACE_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tp::legalize {

/// A sum of multiples of coordinates and a constant. Coordinate i lies in
/// [0, extents[i]).
struct LinearForm {
  llvm::SmallVector<int64_t> coefficients;
  int64_t constant = 0;

  bool isConstant() const;
  /// The coordinate that this is, if it is one.
  std::optional<unsigned> asCoordinate() const;
  int64_t least(llvm::ArrayRef<int64_t> extents) const;
  int64_t most(llvm::ArrayRef<int64_t> extents) const;
};

/// Coordinate `coordinate` has to be split into some of these extents before an
/// element can be followed further.
struct CoordinateSplit {
  unsigned coordinate;
  llvm::SmallVector<int64_t> extents;
};

struct TracedElement {
  /// The value of the element; if unset, it is the element of `tensor` at
  /// `index`.
  std::optional<LinearForm> number;
  mlir::Value tensor;
  llvm::SmallVector<LinearForm> index;
  std::optional<CoordinateSplit> split;
};

/// Follows the element of `tensor`, which holds integers, at `index`.
TracedElement traceElement(mlir::Value tensor, llvm::ArrayRef<LinearForm> index,
                           llvm::ArrayRef<int64_t> extents);

} // namespace tp::legalize

#endif // TP_LIB_TRANSFORMS_LEGALIZE_ELEMENTTRACE_H
