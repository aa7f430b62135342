//===- LayoutChange.h - what one step does to a layout ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps that lead from one layout of a tensor to another, when each is
// legal and what layout it leaves. The verifiers of tp's collectives and the
// planner (RedistributionPath.h) both ask here.
//
// Several layouts may say the same of every rank: an even dimension split over
// an axis or over the axis's parts, a unit that changes no chunk, an axis of
// size 1. Such layouts are not told apart here.
//
// Where axes are partial of different kinds, the value is what results when
// the later entries of the layout combine first.
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

/// True if copies of a value on all ranks are partial of this kind as they
/// stand: the value is their average, maximum and minimum.
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
/// neighbouring intervals put together.
std::vector<Interval> heldElements(const Mesh &mesh, int64_t size, int64_t dim,
                                   const Layout &layout, int64_t rank);

/// True if every rank's buffer has the same size and the same elements at the
/// same places of dimension `dim` of size `size`.
bool sameShards(const Mesh &mesh, int64_t size, int64_t dim, const Layout &a,
                const Layout &b);

/// True if what `rankA` has of dimension `dim` under `a` is what `rankB` has of
/// it under `b`.
bool holdsSameOn(const Mesh &mesh, int64_t size, int64_t dim, const Layout &a,
                 int64_t rankA, const Layout &b, int64_t rankB);

/// True if `a` and `b` say the same of every rank's buffer.
bool holdsSame(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, const Layout &a,
               const Layout &b);

/// `layout` with its entries cut where one of `parts` begins or ends, as far as
/// every rank then still holds the same.
Layout cutAt(const Mesh &mesh, llvm::ArrayRef<int64_t> shape, Layout layout,
             llvm::ArrayRef<AxisPart> parts);

/// `parts` cut where one of `others` begins or ends.
std::vector<AxisPart> cutAt(llvm::ArrayRef<AxisPart> parts,
                            llvm::ArrayRef<AxisPart> others);

/// `parts` with neighbours put together that are one part of an axis.
std::vector<AxisPart> joined(llvm::ArrayRef<AxisPart> parts);

/// `layout` with neighbouring parts of an axis put together that replicate, or
/// that are partial of one kind.
Layout joined(Layout layout);

/// `layout` with all parts of size 1 replicated but for those in `kept`: they
/// are in nobody's way.
Layout withoutTrivialParts(Layout layout, llvm::ArrayRef<AxisPart> kept = {});

/// The axis parts that have a placement, in the order of the entries.
std::vector<AxisPart> partsOf(const Layout &layout);

/// The layout after `step` on `source`, or nothing where the source is not what
/// the step works on. Unit and segments of a new shard are those of
/// `step.result`, which has to be written with the new shards minor. Permute is
/// not handled here.
std::optional<Layout> layoutAfter(const Mesh &mesh,
                                  llvm::ArrayRef<int64_t> shape,
                                  const Layout &source, const LayoutStep &step);

/// For every position of a group over `parts` the one whose buffer under `from`
/// is the buffer that it needs under `to`, each taken once and the same in all
/// groups; nothing where that cannot be. Partial values are not looked at.
std::optional<std::vector<int64_t>>
permutationBetween(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
                   const Layout &from, const Layout &to,
                   llvm::ArrayRef<AxisPart> parts);

} // namespace tp

#endif // TP_SHARDING_LAYOUTCHANGE_H
