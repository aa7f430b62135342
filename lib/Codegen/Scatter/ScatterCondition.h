//===- ScatterCondition.h - where an iteration writes -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_SCATTER_SCATTERCONDITION_H
#define TP_LIB_CODEGEN_SCATTER_SCATTERCONDITION_H

#include "Elements/ElementGraph.h"

namespace tp::target {

/// A loop has to be constant + sum of factors * loops + sum of terms, modulo
/// 2^width and without a sign.
struct Place {
  unsigned loop = 0;
  /// A bit for every loop that it depends on.
  uint64_t loops = 0;
  unsigned width = 64;
  int64_t constant = 0;
  /// Of every loop of the graph.
  llvm::SmallVector<int64_t> factors;
  llvm::SmallVector<std::pair<int64_t, const Element *>> terms;
};

/// Conditions without any of which an iteration of the reduction `op`, which
/// yields `yielded`, keeps what the reduction has, bit for bit.
llvm::SmallVector<const Element *> writeConditions(mlir::linalg::LinalgOp op,
                                                   const Element *yielded);

/// Whether `element` is computed from what a reduction has.
bool dependsOnAccumulator(const Element *element);

/// The only place of `loop` at which `condition` may hold, if it says one.
std::optional<Place> solveFor(const Element *condition, unsigned loop,
                              const ElementGraph &graph);

/// `value`, an index or an integer of at least as many bits, as a `type`.
mlir::Value integerOf(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, mlir::IntegerType type);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_SCATTER_SCATTERCONDITION_H
