//===- LayoutChange.h - what one step does to a layout ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps from one layout of a tensor to another: when a step is legal, and
// which layout results from it. The verifiers of tp's collectives and the
// redistribution search (RedistributionPath.h) share these rules.
//
// Different layouts may give every rank the same elements: an even dimension
// split over an axis or over the axis's parts, a unit that changes no chunk, an
// axis of size 1. Such layouts are equivalent here.
//
// If axes are partial of different kinds, the later entries of the layout
// combine first.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_LAYOUTCHANGE_H
#define TP_SHARDING_LAYOUTCHANGE_H

#include "tp/Sharding/Layout.h"

namespace tp {

enum class StepKind {
  /// The same buffers under another layout.
  Reinterpret,
  /// Replicate becomes shard, without communication.
  LocalSlice,
  /// Replicate becomes partial, without communication.
  LocalPartial,
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  /// Every rank takes the whole buffer of another.
  Permute
};

/// True if equal copies of a value on all ranks are also partial of this kind:
/// the value is the average, the maximum and the minimum of its copies.
bool combinesCopies(ReductionKind kind);

/// One step from a layout to the layout `result`, over the group that `parts`
/// span (major first; none for Reinterpret).
struct LayoutStep {
  StepKind kind = StepKind::Reinterpret;
  std::vector<AxisPart> parts;
  /// AllReduce, ReduceScatter, LocalPartial.
  ReductionKind reduction = ReductionKind::Sum;
  /// The dimension that is gathered (AllGather) or cut (LocalSlice,
  /// ReduceScatter, AllToAll).
  int64_t dim = 0;
  /// AllToAll: the dimension whose shards are put together.
  int64_t sourceDim = 0;
  /// Permute: the position in the group that each position takes from.
  std::vector<int64_t> sources;
  Layout result;

  explicit LayoutStep(StepKind kind, std::vector<AxisPart> parts = {},
                      ReductionKind reduction = ReductionKind::Sum,
                      int64_t dim = 0, int64_t sourceDim = 0)
      : kind(kind), parts(std::move(parts)), reduction(reduction), dim(dim),
        sourceDim(sourceDim) {}
};

/// The valid elements that `rank` has of dimension `dim` of size `size`,
/// adjacent intervals merged.
std::vector<Interval> heldElements(const Mesh &mesh, int64_t size, int64_t dim,
                                   const Layout &layout, int64_t rank);

/// True if every rank's buffer has the same size and the same elements at the
/// same places of dimension `dim` of size `size`.
bool sameShards(const Mesh &mesh, int64_t size, int64_t dim, const Layout &a,
                const Layout &b);

/// True if `rankA` holds the same elements of dimension `dim` under `a` as
/// `rankB` under `b`.
bool holdsSameOn(const Mesh &mesh, int64_t size, int64_t dim, const Layout &a,
                 int64_t rankA, const Layout &b, int64_t rankB);

/// True if every rank's buffer is the same under `a` and `b`.
bool holdsSame(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Layout &a,
               const Layout &b);

/// `layout` with its entries cut where one of `parts` begins or ends, as long
/// as that changes no rank's elements.
Layout cutAt(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, Layout layout,
             llvm::ArrayRef<AxisPart> parts);

/// `parts` cut where one of `others` begins or ends.
std::vector<AxisPart> cutAt(llvm::ArrayRef<AxisPart> parts,
                            llvm::ArrayRef<AxisPart> others);

/// `parts` with adjacent parts of an axis merged.
std::vector<AxisPart> joined(llvm::ArrayRef<AxisPart> parts);

/// `layout` with adjacent parts of an axis merged that replicate, or that are
/// partial of one kind.
Layout joined(Layout layout);

/// `layout` with all parts of size 1 replicated, except those in `kept`.
Layout withoutTrivialParts(Layout layout, llvm::ArrayRef<AxisPart> kept = {});

/// The axis parts that have a placement, in the order of the entries.
std::vector<AxisPart> partsOf(const Layout &layout);

/// The layout after `step` on `source`, or nothing if the step is not legal on
/// `source`. Unit and segments of a new shard are those of `step.result`, in
/// which the new shards have to be the minor-most. Permute is not handled here.
std::optional<Layout> layoutAfter(const Mesh &mesh,
                                  llvm::ArrayRef<int64_t> shape,
                                  const Layout &source, const LayoutStep &step);

/// A permutation of the positions of a group over `parts`, the same in all
/// groups: each position's buffer under `to` is the buffer of its source under
/// `from`. Nothing if there is none. Ignores partial values.
std::optional<std::vector<int64_t>>
permutationBetween(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                   const Layout &from, const Layout &to,
                   llvm::ArrayRef<AxisPart> parts);

} // namespace tp

#endif // TP_SHARDING_LAYOUTCHANGE_H
