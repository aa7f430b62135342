//===- BucketChooser.h - which collectives are sent together ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A bucket is open until an op needs its result. Every value knows the open
// buckets that it depends on, so that one walk over a block is enough.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PARTITION_BUCKETCHOOSER_H
#define TP_LIB_TRANSFORMS_PARTITION_BUCKETCHOOSER_H

#include "mlir/IR/Block.h"
#include "tp/IR/TP.h"
#include "tp/Sharding/Hardware.h"

namespace tp {

/// What the collectives of one bucket have in common.
using BucketKey =
    std::tuple<unsigned, mlir::Attribute, mlir::Attribute, mlir::Type>;

struct Bucket {
  llvm::SmallVector<mlir::Operation *> members;
  /// Open buckets, by number, that members are computed from.
  llvm::SmallVector<unsigned> after;
  BucketKey key;
  /// What a rank sends for all members.
  int64_t ringBytes = 0;
  /// Bytes of values that live longer because their users wait for this bucket.
  int64_t heldBytes = 0;
  /// BytesInLatency::onLink of its ranks.
  int64_t small = 0;
  bool isOpen = true;
  /// Bytes of ringBytes, and of heldBytes, that make it full.
  int64_t limit() const;
  /// When it was closed.
  unsigned place = 0;
};

class BucketChooser {
public:
  /// How many bytes take as long as the latency of a collective.
  struct BytesInLatency {
    /// Sent by a rank.
    int64_t onLink = 0;
    /// Read or written by a rank.
    int64_t inMemory = 0;
  };

  BucketChooser(const Hardware &hardware) : hardware(hardware) {}

  /// Fills buckets with collectives of `block`, and closes them.
  void choose(mlir::Block &block);

  std::vector<Bucket> buckets;
  /// The times of the ops, in the order of the block; buckets are closed at
  /// times between.
  std::vector<unsigned> met;

private:
  using Numbers = llvm::SmallVector<unsigned, 2>;

  BytesInLatency bytesInLatencyOver(AxesAttr axes);
  /// The open buckets that `op` has to wait for, in order.
  Numbers awaitedBy(mlir::Operation *op);
  void dropClosed(Numbers &numbers);
  /// Whether one of `numbers`, or a bucket that one waits for, is `target`.
  bool reaches(llvm::ArrayRef<unsigned> numbers, unsigned target);
  void close(unsigned number);
  bool join(mlir::Operation *op, Numbers &awaited);
  /// Whether `op`, which sends along `axes`, becomes rotations later.
  bool becomesRotations(mlir::Operation *op, AxesAttr axes) const;
  bool mayWait(mlir::Operation *op, llvm::ArrayRef<unsigned> awaited);

  const Hardware &hardware;
  /// Whether values are computed again in the backward pass (tp.kept).
  bool computesAgain = false;
  llvm::DenseMap<AxesAttr, BytesInLatency> knownSmall;
  /// The elements of chunks that travel along axes, in tp-form-attention.
  llvm::DenseSet<std::pair<AxesAttr, int64_t>> travelling;
  llvm::DenseMap<BucketKey, unsigned> open;
  /// Of values that come from open buckets; buckets may be closed since.
  llvm::DenseMap<mlir::Value, Numbers> origins;
  unsigned now = 0;
};

} // namespace tp

#endif // TP_LIB_TRANSFORMS_PARTITION_BUCKETCHOOSER_H
