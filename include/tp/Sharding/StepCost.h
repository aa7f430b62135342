//===- StepCost.h - what one step of a layout change costs ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost of a step. Layouts (AxisProblem.h) and the paths between them
// (RedistributionPath.h) are chosen by the same formula.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_STEPCOST_H
#define TP_SHARDING_STEPCOST_H

#include "tp/Sharding/LayoutChange.h"
#include "tp/Sharding/RingCost.h"
#include "tp/Solver/Assignment.h"

namespace tp {

enum class Objective {
  /// Ring bytes and 1 KiB per collective, then time of computing.
  Communication,
  /// The sum of both, then bytes sent or copied.
  Time
};

/// The costs of single steps.
struct StepCosts {
  Machine machine;
  Objective objective = Objective::Communication;
  /// An all_reduce counts as two collectives, the reduce_scatter and the
  /// all_gather that it is on a ring, but for one of few bytes.
  bool countsHalves = false;

  /// Every rank copies `bytes`. Always cheaper than any collective, because it
  /// usually becomes a view.
  Cost localCopy(double bytes) const;
  /// A collective over `ranks` ranks whose larger side has `payload` bytes.
  Cost collective(CollectiveKind kind, int64_t payload, int64_t ranks) const;
};

/// The collective that a step is; nothing for those without communication.
std::optional<CollectiveKind> collectiveOf(StepKind kind);

/// Elements of the larger side per rank of a collective, or that a local step
/// writes. `reduction` and `dim` are the step's; `source` and `result` are the
/// shapes of a rank's buffer before and after it, padding included; the group
/// has `ranks` members. Blocks are of one size, so what is sent or received in
/// blocks is `ranks` blocks, and more than the buffer where the dimension is
/// uneven.
int64_t elementsMoved(StepKind kind, ReductionKind reduction, int64_t dim,
                      llvm::ArrayRef<int64_t> source,
                      llvm::ArrayRef<int64_t> result, int64_t ranks);

/// The cost of a step that moves `elements` of `elementBytes` bytes each.
Cost stepCost(StepKind kind, int64_t elements, int64_t elementBytes,
              int64_t ranks, const StepCosts &costs = {});

/// The cost of `steps`, starting at the layout `from` of a tensor of `shape`,
/// whose elements have `elementBytes` bytes.
Cost pathCost(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
              const Layout &from, llvm::ArrayRef<LayoutStep> steps,
              const StepCosts &costs = {});

} // namespace tp

#endif // TP_SHARDING_STEPCOST_H
