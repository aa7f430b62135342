//===- MeshAssignment.h - layouts on all axes of a mesh ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_SEARCH_MESHASSIGNMENT_H
#define TP_LIB_TRANSFORMS_PROPAGATE_SEARCH_MESHASSIGNMENT_H

#include "Diagnostics/CollectiveCauses.h"

namespace tp::propagate {

/// Decisions on all axis parts, and how they came about.
struct MeshAssignment {
  Decisions decisions;
  /// In the order in which they were solved. Parts of size 1 are not solved.
  std::vector<PartSolution> parts;
};

/// Decides one axis after the other, given the decisions before, in all orders
/// of up to three axes. Then decides each axis again, given all others, as long
/// as the total gets cheaper. The result is the cheapest of all orders
/// (MeshCosts), or the first of equals. Programs of more than 1000 nodes are
/// not decided again.
///
/// Failure with an error where pins cannot hold together.
mlir::FailureOr<MeshAssignment> assignLayouts(const AssignmentGraph &graph,
                                              const AssignmentOptions &options,
                                              const AssignmentLimits &limits);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_SEARCH_MESHASSIGNMENT_H
