//===- BackwardForm.h - the gradients of an attention -----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With the weights p of an attention and the gradient `go` of its result, found
// in a program by what it computes,
//
//   gv[j] = sum over i of p[i, j] * go[i]
//   d[i, j] = p[i, j] * (go[i] . v[j] - sum over keys of p * (go . v))
//   gq[i] = scale * sum over j of d[i, j] * k[j]
//   gk[j] = scale * sum over i of d[i, j] * q[i].
//
// Without a backward pass of its own a program keeps p and d, which are as
// large as queries by keys.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_BACKWARD_BACKWARDFORM_H
#define TP_LIB_CODEGEN_ATTENTION_BACKWARD_BACKWARDFORM_H

#include "Attention/AttentionForm.h"
#include "LoopSolver.h"

namespace tp::target {

/// A product that is a gradient, up to a factor.
struct GradientProduct {
  Contraction product;
  LoopSolution loops;
  /// The product is `factor` times the gradient with respect to the form's q, k
  /// or v, as tp.attend_backward gives it.
  double factor = 1.0;
};

/// The gradients that a program computes of one attention.
struct BackwardForm {
  /// go, over the loops of the attention, and where it is read, if one tensor
  /// holds it.
  const Element *resultGradient = nullptr;
  std::optional<ElementPlace> place;
  std::optional<GradientProduct> q, k, v;
  /// The queries that are no padding, on every rank; none where all are.
  std::optional<LoopPrefix> queries;

  /// The first of the products.
  mlir::Operation *first() const {
    mlir::Operation *first = nullptr;
    for (const GradientProduct *each : products())
      if (!first || each->product.op->isBeforeInBlock(first))
        first = each->product.op;
    return first;
  }
  llvm::SmallVector<const GradientProduct *, 3> products() const {
    llvm::SmallVector<const GradientProduct *, 3> found;
    for (const auto *each : {&q, &k, &v})
      if (*each)
        found.push_back(&**each);
    return found;
  }
};

/// The gradients of `form`, if nothing else is made of its scores but its
/// result and these.
std::optional<BackwardForm> backwardOf(AttentionForm &form, KnownTerms &known);

/// Rewrites `form` and its gradients as tp.attend and tp.attend_backward.
void buildBackward(const AttentionForm &form, const BackwardForm &backward);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_BACKWARD_BACKWARDFORM_H
