//===- LayoutMoves.h - all steps from one layout ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts as the search compares them: a chain per dimension, and the partial
// axis parts; other parts are replicated. Two canonical layouts are equal
// exactly if every rank holds the same elements.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_LAYOUTMOVES_H
#define TP_LIB_SHARDING_LAYOUTMOVES_H

#include "AxisChains.h"
#include "tp/Sharding/StepCost.h"
#include <set>

namespace tp {

struct PartialPart {
  AxisPart part;
  ReductionKind kind = ReductionKind::Sum;
  auto operator<=>(const PartialPart &) const = default;
};
/// In mesh order, adjacent parts of one kind merged.
using PartialParts = std::vector<PartialPart>;

struct CanonicalLayout {
  /// One per dimension.
  llvm::SmallVector<ChainId, 4> chains;
  PartialParts partials;

  bool operator==(const CanonicalLayout &) const = default;
  bool operator<(const CanonicalLayout &other) const {
    return std::tie(chains, partials) < std::tie(other.chains, other.partials);
  }
};

/// A step and the layout that results. Parts that it removes from the minor end
/// of a dimension (AllGather: `dim`, AllToAll: `sourceDim`) are in
/// `sourceChunking`, parts that it appends in `chunking`.
struct Move {
  StepKind kind = StepKind::Reinterpret;
  ReductionKind reduction = ReductionKind::Sum;
  int64_t dim = 0, sourceDim = 0;
  /// Major first; none for Permute.
  PartList parts;
  unsigned sourceChunking = 0, chunking = 0;
  CanonicalLayout next;
  Cost cost;

  explicit Move(StepKind kind = StepKind::Reinterpret,
                ReductionKind reduction = ReductionKind::Sum)
      : kind(kind), reduction(reduction) {}
};

/// Enumerates the steps that are legal by `layoutAfter`, except those that no
/// cheapest path needs: values become partial only of kinds that they have
/// already, or that the target has.
class LayoutMoves {
public:
  LayoutMoves(AxisChains &chains, int64_t elementBytes, const Layout &target,
              size_t partsLimit);

  /// Returns true to see longer steps of the same form.
  using Visitor = llvm::function_ref<bool(const Move &)>;

  CanonicalLayout canonicalLayoutOf(const Layout &layout);
  /// In this order: local slices, reduce_scatters, all_to_alls, all_gathers,
  /// all_reduces, local partials.
  void forEach(const CanonicalLayout &from, Visitor visit);
  void forEachPermutation(const CanonicalLayout &from, Visitor visit);
  Cost costOfPermute(const CanonicalLayout &from);
  /// The layout, with the chains of some dimensions spelled as in `forms`.
  Layout write(const CanonicalLayout &canonical,
               const std::map<int64_t, ChainForm> &forms = {}) const;
  /// All axis parts that are not partial.
  PartList notPartial(const CanonicalLayout &canonical) const;

  /// The number of axis parts tried in steps.
  size_t partsTried() const { return tried; }
  bool isExhausted() const { return tried > partsLimit; }

private:
  using Appended =
      llvm::function_ref<bool(ChainId, const PartList &chosen,
                              const PartList &rest, unsigned chunking)>;
  using Detached = llvm::function_ref<bool(ChainId rest, const PartList &chosen,
                                           unsigned chunking)>;
  using Chosen =
      llvm::function_ref<void(const PartList &chosen, const PartList &rest)>;

  void append(ChainId chain, const PartList &ranges, Appended visit);
  void detach(ChainId chain, Detached visit);
  void choose(const PartList &ranges, Chosen visit);

  PartList replicated(const CanonicalLayout &from) const;
  PartList without(std::vector<PartList> used) const;
  std::vector<int64_t> localShape(const CanonicalLayout &canonical) const;
  void price(Move &move, const CanonicalLayout &from) const;
  /// Calls the visitor with `move`, which gives dimension `dim` the chain
  /// `next`.
  bool offer(Move move, const CanonicalLayout &from, int64_t dim, ChainId next,
             Visitor visit) const;

  void slices(const CanonicalLayout &from, Visitor visit);
  void reductions(const CanonicalLayout &from, Visitor visit, bool scatters);
  void allToAlls(const CanonicalLayout &from, Visitor visit);
  void gathers(const CanonicalLayout &from, Visitor visit);
  void localPartials(const CanonicalLayout &from, Visitor visit);
  void permuteFrom(const CanonicalLayout &from, int64_t dim,
                   const PartList &rest, CanonicalLayout &next,
                   std::vector<CanonicalLayout> &found);

  AxisChains &chains;
  const Mesh &mesh;
  int64_t elementBytes;
  PartialParts targetPartials;
  size_t partsLimit, tried = 0;
  /// Permutations, by the ranks' elements and the partial parts.
  std::map<std::pair<std::vector<int64_t>, PartialParts>,
           std::vector<CanonicalLayout>>
      permutations;
};

} // namespace tp

#endif // TP_LIB_SHARDING_LAYOUTMOVES_H
