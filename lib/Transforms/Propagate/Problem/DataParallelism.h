//===- DataParallelism.h - axes that split nothing but data ------*- C++
//-*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_DATAPARALLELISM_H
#define TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_DATAPARALLELISM_H

#include "Graph/AssignmentGraph.h"

namespace tp::propagate {

/// On an axis that nothing but data is split over (data parallelism) ranks keep
/// their part of the data and reduce the gradients: a collective that moves
/// data costs more than the gradients of any model.
inline constexpr int64_t dataMovementPenalty = int64_t(1) << 42;

/// There every rank computes with its part of the data alone: an op that each
/// of them computes for all data costs more than the gradient of any parameter,
/// and many of them more than to move data.
inline constexpr int64_t repeatedWorkPenalty = dataMovementPenalty / 64;

/// Whether a plan shards user inputs on the part, and no parameter or buffer.
bool isDataParallel(const AssignmentGraph &graph, unsigned part);

/// Per node: whether ranks can divide an op that runs over a dimension of data
/// which the part shards, such as the batch. None on a part that is not
/// data-parallel. A dimension of data is that of a sharded user input, and a
/// dimension that an op makes of one. An op with two of them, which relates all
/// of the batch to all of it, makes none.
std::vector<bool> dividesData(const AssignmentGraph &graph, unsigned part);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_DATAPARALLELISM_H
