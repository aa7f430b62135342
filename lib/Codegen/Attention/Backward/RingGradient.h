//===- RingGradient.h - where gradients of chunks go ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where keys are gathered, a rank has the gradients of all of them, which a
// reduce_scatter adds up. Where they travel, it has those of one chunk at a
// time, and what happens to gradients before they are added up happens to a
// chunk.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_BACKWARD_RINGGRADIENT_H
#define TP_LIB_CODEGEN_ATTENTION_BACKWARD_RINGGRADIENT_H

#include "Attention/RingAttention.h"
#include "BackwardForm.h"

namespace tp::target {

/// The gradient of keys or values that travel.
struct RingGradient {
  const GradientProduct *product;
  /// The ops from the product's result, the first, on; every one works on each
  /// key by itself, and the dimension of its result that has the keys.
  llvm::SmallVector<std::pair<mlir::Operation *, unsigned>> path;
  /// What adds up the last one's result, chunk by chunk.
  tp::ReduceScatterOp scatter;
};

/// Where the gradient `product` of what `source` gathers goes; none if not only
/// to a reduce_scatter into the same chunks, or if what happens before it reads
/// something that is not there before `first`.
std::optional<RingGradient> ringGradientOf(const GradientProduct &product,
                                           const RingSource &source,
                                           unsigned key,
                                           mlir::Operation *first);

/// What the ops of the path make of a chunk's gradient, which is what the
/// product gives for its keys.
mlir::Value alongPath(mlir::OpBuilder &builder, const RingGradient &gradient,
                      mlir::Value chunk);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_BACKWARD_RINGGRADIENT_H
