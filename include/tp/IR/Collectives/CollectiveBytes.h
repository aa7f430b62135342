//===- CollectiveBytes.h - bytes of a collective ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_COLLECTIVES_COLLECTIVEBYTES_H
#define TP_IR_COLLECTIVES_COLLECTIVEBYTES_H

#include "tp/IR/Collective.h"

namespace tp {

/// Bytes of one rank, each time that a collective runs.
struct CollectiveBytes {
  /// The larger side without padding, on the rank that has most.
  int64_t payload = 0;
  /// The larger side as it is sent: in blocks of one size. On an uneven
  /// dimension it is more than both buffers have.
  int64_t wire = 0;
  /// What the rank sends if the collective runs on a ring.
  int64_t ring = 0;
};

/// Of a collective (`isCollective`) after tp-insert-collectives, with or
/// without layouts in its types; the numbers of the report. A function that
/// runs several times in a step runs its collectives as often (`timesOf`).
CollectiveBytes bytesOfCollective(mlir::Operation *op);

/// The elements of a collective's payload.
int64_t payloadElements(mlir::Operation *op);

} // namespace tp

#endif // TP_IR_COLLECTIVES_COLLECTIVEBYTES_H
