//===- DerivedWeights.h - weights computed from parameters ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a product reads may be computed from a parameter, element by element: it
// is scaled, rounded, normalized, masked, or a low-rank product is added to it.
// A stack of weights may be reversed, rolled, or its layers taken in another
// order. All of it depends on no input of the program.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_PARAMETERS_DERIVEDWEIGHTS_H
#define TP_LIB_TRANSFORMS_PLAN_PARAMETERS_DERIVEDWEIGHTS_H

#include "Parameters/Activations.h"
#include "Parameters/ParameterView.h"

namespace tp {

/// The weight that an op computes from `view`, which `operand` reads, with one
/// element of the parameter for each of its own; or nothing. Along a dimension
/// whose places it computes, that of a stack of matrices, the result is some of
/// many.
std::optional<ParameterView> followDerived(const ParameterView &view,
                                           mlir::OpOperand &operand,
                                           const Activations &activations);

/// How `forEachUse` goes from a view to the next.
struct ViewWalk {
  const Activations &activations;
  /// A lookup that selects whole matrices is gone through, in place of being a
  /// use: the experts of a token.
  bool throughSelections = false;
  /// Takes the results of followDerived.
  llvm::DenseSet<mlir::Value> *derived = nullptr;
};

/// Goes from `start` to the views of it and the weights computed from it, each
/// once, and calls `visit` with every other use of these.
void forEachUse(
    const ParameterView &start, const ViewWalk &walk,
    llvm::function_ref<void(const ParameterView &, mlir::OpOperand &)> visit);

/// Whether the result of a product is part of such a weight: the low-rank
/// product that is added to a parameter, which no activation is multiplied
/// with. `derived`: the results of followDerived.
bool isPartOfWeight(mlir::linalg::LinalgOp product,
                    const llvm::DenseSet<mlir::Value> &derived,
                    const Activations &activations);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_PARAMETERS_DERIVEDWEIGHTS_H
