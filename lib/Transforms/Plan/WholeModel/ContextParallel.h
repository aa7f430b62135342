//===- ContextParallel.h - what shards a sequence ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What `context_parallel` pins. The sequence is sharded from the inputs on:
// every linear layer and every lookup makes a shard of it, and whatever lies
// between them follows by cost. Attention alone reads other positions: its two
// products read all keys and all values.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_CONTEXTPARALLEL_H
#define TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_CONTEXTPARALLEL_H

#include "WholeModel/SequencePlaces.h"

namespace tp {

/// A value that has the positions along dimension `dim` of `view`.
struct SequenceValue {
  mlir::Value value;
  llvm::SmallVector<int64_t> view;
  unsigned dim;
};

/// Keys or values of an attention, before they are repeated.
struct GatheredValue {
  mlir::OpOperand *operand;
  /// "keys" or "values".
  llvm::StringRef port;
  /// As a shard; it is gathered only here, not what it is cut from.
  SequenceValue sharded;
};

struct ContextPins {
  int64_t length = 0;
  /// The inputs of the model whose positions linear layers or lookups read.
  llvm::SmallVector<unsigned> inputs;
  /// What linear layers and lookups make.
  llvm::SmallVector<SequenceValue> values;
  llvm::SmallVector<GatheredValue> gathered;
  /// In the backward pass, the gradients of keys and values: where they have
  /// fewest bytes, after those of heads that share keys are added up.
  llvm::SmallVector<SequenceValue> gradients;
};

/// What there is to pin in `function`, whose inputs have positions along
/// dimension `dim`; without inputs where there are none, or just one position.
/// `uses`: its parameters' uses, through selections.
ContextPins contextPins(mlir::func::FuncOp function, unsigned dim,
                        llvm::ArrayRef<ParameterUse> uses);

/// Segments of a sequence, each of which is sharded over `ranks`, so that with
/// causal attention every rank has as much to do: the k-th of `n` ranks sees
/// keys in proportion to k of them. Empty where one segment is as good.
llvm::SmallVector<int64_t> balancedSegments(int64_t length, int64_t ranks);

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PLAN_WHOLEMODEL_CONTEXTPARALLEL_H
