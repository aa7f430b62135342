//===- RingAttention.h - attention whose keys travel ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention over keys and values that are gathered becomes a chain: a rank
// attends to a chunk of keys while the next one comes from its neighbour, and
// after as many chunks as there are ranks has seen all of them (H. Liu, M.
// Zaharia and P. Abbeel, "Ring Attention with Blockwise Transformers for
// Near-Infinite Context", 2023). No rank ever holds all keys.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_ATTENTION_RINGATTENTION_H
#define TP_LIB_CODEGEN_ATTENTION_RINGATTENTION_H

#include "AttentionForm.h"
#include "Backward/BackwardForm.h"
#include "tp/IR/TP.h"

namespace tp::target {

/// Keys that follow each other in a rank's chunk and in the sequence.
struct ChunkRun {
  int64_t local = 0, global = 0, size = 0;
  bool operator==(const ChunkRun &) const = default;
};

/// Keys or values of which every rank has a chunk.
struct RingSource {
  tp::AllGatherOp gather;
  /// Of the whole, over the loops of the attention.
  Indices indices;
  /// Elements of a chunk along the gathered dimension, with padding.
  int64_t chunk = 0;
  /// The keys in the chunk of every position of the group. They are in
  /// ascending order and begin where the chunk does: padding is behind them.
  std::vector<llvm::SmallVector<ChunkRun, 1>> runs;
};

/// Puts the runs of a chunk into their order; false where padding lies between
/// them, or they are in another order than the sequence has.
bool settle(llvm::SmallVectorImpl<ChunkRun> &runs);

/// The chunks that the keys or values at `place` are gathered of, before they
/// are extended to a wider type; none unless the gather is one whose chunks
/// travel, or where padding lies between keys.
std::optional<RingSource> ringSourceOf(const ElementPlace &place,
                                       AttentionForm &form);

/// Rewrites `form`, with its gradients where it has some, if its keys and its
/// values travel.
bool formRing(AttentionForm &form, const std::optional<BackwardForm> &backward);

/// Fails, with an error, at a gather whose chunks should travel, and that is
/// used all the same.
mlir::LogicalResult verifyRings(mlir::func::FuncOp function,
                                const TargetTraits &traits);

} // namespace tp::target

#endif // TP_LIB_CODEGEN_ATTENTION_RINGATTENTION_H
