//===- LayoutMoves.h - all steps from one layout ----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layouts as a search sees them: a nest for every dimension and the partial
// parts of the axes; what is neither is replicated. Two arrangements are equal
// exactly if the layouts say the same of every rank.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_LAYOUTMOVES_H
#define TP_LIB_SHARDING_LAYOUTMOVES_H

#include "ShardNests.h"
#include "tp/Sharding/StepCost.h"
#include <set>

namespace tp {

struct PartialPart {
  AxisPart part;
  ReductionKind kind = ReductionKind::Sum;
  auto operator<=>(const PartialPart &) const = default;
};
/// In mesh order, neighbours of one kind put together.
using PartialParts = std::vector<PartialPart>;

struct Arrangement {
  /// One per dimension.
  llvm::SmallVector<NestId, 4> nests;
  PartialParts partials;

  bool operator==(const Arrangement &) const = default;
  bool operator<(const Arrangement &other) const {
    return std::tie(nests, partials) < std::tie(other.nests, other.partials);
  }
};

/// A step and where it leads. What it takes from the minor end of a dimension
/// (AllGather: `dim`, AllToAll: `sourceDim`) is written in `sourceChunking`,
/// what it adds to a dimension in `chunking`.
struct Move {
  StepKind kind = StepKind::Reinterpret;
  ReductionKind reduction = ReductionKind::Sum;
  int64_t dim = 0, sourceDim = 0;
  /// Major first; none for Permute.
  PartList parts;
  unsigned sourceChunking = 0, chunking = 0;
  Arrangement next;
  Cost cost;

  explicit Move(StepKind kind = StepKind::Reinterpret,
                ReductionKind reduction = ReductionKind::Sum)
      : kind(kind), reduction(reduction) {}
};

/// The steps that are legal by `layoutAfter`, without those that are of no use
/// to any way: values are made partial only of kinds that they are partial of
/// already, or as the target has them.
class LayoutMoves {
public:
  LayoutMoves(ShardNests &nests, int64_t elementBytes, const Layout &target,
              size_t mostLooks);

  /// True if a longer step of the same form may be worth looking at.
  using Visitor = llvm::function_ref<bool(const Move &)>;

  Arrangement arrangementOf(const Layout &layout);
  /// In this order: local slices, reduce_scatters, all_to_alls, all_gathers,
  /// all_reduces, local partials.
  void forEach(const Arrangement &from, Visitor visit);
  void forEachPermutation(const Arrangement &from, Visitor visit);
  Cost costOfPermute(const Arrangement &from);
  /// The layout, with the nests of some dimensions written as `forms` say.
  Layout write(const Arrangement &arrangement,
               const std::map<int64_t, NestForm> &forms = {}) const;
  /// The parts of all axes that are not partial.
  PartList notPartial(const Arrangement &arrangement) const;

  /// Parts tried, one after another, in any step.
  size_t looks() const { return looked; }
  bool isExhausted() const { return looked > mostLooks; }

private:
  using Appended = llvm::function_ref<bool(
      NestId, const PartList &chosen, const PartList &rest, unsigned chunking)>;
  using Detached = llvm::function_ref<bool(NestId rest, const PartList &chosen,
                                           unsigned chunking)>;
  using Chosen =
      llvm::function_ref<void(const PartList &chosen, const PartList &rest)>;

  void append(NestId nest, const PartList &stretches, Appended visit);
  void detach(NestId nest, Detached visit);
  void choose(const PartList &stretches, Chosen visit);

  PartList replicated(const Arrangement &from) const;
  PartList without(std::vector<PartList> used) const;
  std::vector<int64_t> localShape(const Arrangement &arrangement) const;
  void price(Move &move, const Arrangement &from) const;
  /// Shows the visitor `move`, which gives dimension `dim` the nest `next`.
  bool offer(Move move, const Arrangement &from, int64_t dim, NestId next,
             Visitor visit) const;

  void slices(const Arrangement &from, Visitor visit);
  void reductions(const Arrangement &from, Visitor visit, bool scatters);
  void allToAlls(const Arrangement &from, Visitor visit);
  void gathers(const Arrangement &from, Visitor visit);
  void localPartials(const Arrangement &from, Visitor visit);
  void permuteFrom(const Arrangement &from, int64_t dim, const PartList &rest,
                   Arrangement &next, std::vector<Arrangement> &found);

  ShardNests &nests;
  const Mesh &mesh;
  int64_t elementBytes;
  PartialParts targetPartials;
  size_t mostLooks, looked = 0;
  /// Permutations, by what ranks hold and what is partial.
  std::map<std::pair<std::vector<int64_t>, PartialParts>,
           std::vector<Arrangement>>
      permutations;
};

} // namespace tp

#endif // TP_LIB_SHARDING_LAYOUTMOVES_H
