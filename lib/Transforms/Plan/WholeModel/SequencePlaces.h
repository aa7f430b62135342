//===- SequencePlaces.h - where a sequence lies in values -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The positions of a sequence are followed from the inputs that have them
// through the forward pass: through linear layers, views and whatever computes
// every position by itself. A product of two values that have positions each
// makes scores, with the positions of both. A product that adds up positions
// of scores makes attention's result: this tells queries, keys and values.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_SEQUENCEPLACES_H
#define TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_SEQUENCEPLACES_H

#include "WholeModel/ActivationGraph.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace tp {

/// The dimension of a value that has the positions, `outer` times one behind
/// the other, with `inner` elements each.
struct SequencePlace {
  unsigned dim = 0;
  int64_t outer = 1, inner = 1;
  /// Of scores: the operand of their product that these positions are of.
  mlir::OpOperand *of = nullptr;

  bool isSamePlace(const SequencePlace &other) const {
    return dim == other.dim && outer == other.outer && inner == other.inner;
  }
};

/// The keys and the values of an attention: where its two products, or what
/// brings these into their order, read them.
struct AttentionOperands {
  mlir::OpOperand *keys, *values;
};

/// A product of the backward pass that adds up positions of scores.
struct ScoreGradientProduct {
  mlir::Value result;
  /// What makes the positions that it adds up: an operand of a product that
  /// makes scores.
  mlir::OpOperand *added;
};

class SequencePlaces {
public:
  SequencePlaces(const ActivationGraph &graph, mlir::func::FuncOp function,
                 int64_t length)
      : graph(graph), function(function), length(length) {}

  /// A value that has the positions along `dim`.
  void add(mlir::Value value, unsigned dim);
  /// Follows all that were added, in the forward pass.
  void follow();
  /// Follows on into the backward pass, and returns the gradients of keys and
  /// of values.
  llvm::SmallVector<mlir::Value> followGradients();

  /// Where the value has positions, if it has those of one value.
  const SequencePlace *find(mlir::Value value) const;
  llvm::ArrayRef<AttentionOperands> attentions() const { return found; }

private:
  using Places = llvm::SmallVector<SequencePlace, 2>;

  llvm::ArrayRef<SequencePlace> placesOf(mlir::Value value) const;
  void add(mlir::Value value, SequencePlace place);
  void visit(mlir::Operation &op);
  void visitLoops(mlir::linalg::LinalgOp op);
  /// Whether `op` is the second product of an attention, or one of the backward
  /// pass that adds up positions of scores; notes it.
  bool joinsValues(mlir::linalg::LinalgOp op);
  void copy(mlir::Value from, mlir::Value to,
            llvm::function_ref<bool(unsigned)> keeps);

  const ActivationGraph &graph;
  mlir::func::FuncOp function;
  int64_t length;
  llvm::DenseMap<mlir::Value, Places> places;
  llvm::SmallVector<AttentionOperands> found;
  llvm::SmallVector<ScoreGradientProduct> gradients;
  /// Operands that make the same positions of scores, or of their gradients.
  llvm::EquivalenceClasses<mlir::OpOperand *> samePositions;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_SEQUENCEPLACES_H
