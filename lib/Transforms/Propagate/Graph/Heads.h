//===- Heads.h - dimensions of weights that count heads ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A weight of heads has them as factors of a dimension, [width, heads x head
// size], or as a dimension, [width, heads, head size].
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_GRAPH_HEADS_H
#define TP_LIB_TRANSFORMS_PROPAGATE_GRAPH_HEADS_H

#include "AssignmentGraph.h"

namespace tp::propagate {

/// The factors of dimension `dim` of what `use` reads, major first, without
/// what only packs several weights side by side.
llvm::SmallVector<unsigned> factorsOfDim(const AssignmentGraph &graph,
                                         SlotUse use, int64_t dim);

/// The factors that `use` may split to take shards of dimension `dim` of a
/// weight: those that count whole things (heads), major first. The size of one
/// of them is not among them, nor what only packs several weights side by side.
llvm::SmallVector<unsigned> wholeFactors(const AssignmentGraph &graph,
                                         SlotUse use, int64_t dim);

/// The sizes of the factors that count the heads of a dimension which has their
/// elements too, major first; none where it is made of single elements.
llvm::SmallVector<int64_t> headFactors(const AssignmentGraph &graph,
                                       SlotUse use, int64_t dim);

/// Whether dimension `dim` of a weight counts heads, too few of them for all
/// ranks up to `part`: some ranks may share one then, and all have to where the
/// major sub-axes hold them one by one.
enum class HeadSharing { None, Some, All };
HeadSharing headSharing(const AssignmentGraph &graph, unsigned value,
                        int64_t dim, AxisPart part);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_GRAPH_HEADS_H
