//===- ShardingRule.h - factors of an op ------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule is stated in an op's *factors*: its iteration dimensions. Tensors are
// the op's *slots*: its tensor operands in operand order, then the tensors its
// regions capture (each once), in order of first use. Assignment,
// redistribution and partition work on factor and slot numbers only, never on
// positions or op names.
//
// For a linalg op factor i is loop i; factors after the loops are *indexed*
// dimensions of captured tables. For a reshape the factors are the dimensions
// of its finer side.
//
//===----------------------------------------------------------------------===//

#ifndef TP_INTERFACES_SHARDINGRULE_H
#define TP_INTERFACES_SHARDINGRULE_H

#include "mlir/IR/OpDefinition.h"
#include "tp/Sharding/Layout.h"
#include "tp/Sharding/Strategy.h"
#include "llvm/ADT/SmallVector.h"

namespace tp {

enum class FactorKind {
  /// Every result has it as (part of) a dimension.
  Parallel,
  /// No result has it; results combine over it.
  Reduction,
  /// A dimension of a captured table that is read at computed indices. If it is
  /// split, every rank looks up the indices that it holds, and yields the
  /// combiner's identity for the others.
  Indexed,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// Reduction and Indexed: how each result combines.
  llvm::SmallVector<ReductionKind, 1> combiners;
  /// Why this factor cannot be split (empty: it can).
  std::string unsplittable;
  /// The factor may be split into uneven chunks: `createLocal` keeps padding
  /// out of reductions, indices and traps.
  bool allowsUneven = true;
  /// Possible divisions of the factor into packed segments, each of which is
  /// split by itself. They follow from slices and concatenations in the
  /// program; the rule of an op that does not slice leaves this empty.
  llvm::SmallVector<std::vector<int64_t>, 1> segmentations;
};

/// The indices of a factor that a dimension runs over.
struct FactorWindow {
  int64_t offset = 0, size = 0;
};

/// The factors that make up one dimension, major first; empty for a dimension
/// that is no factor (of size 1, or one that can never be split).
struct DimFactors : llvm::SmallVector<unsigned, 2> {
  using SmallVector::SmallVector;
  /// Set where the dimension runs over a part of its one factor only: a slice
  /// of a packed dimension.
  std::optional<FactorWindow> window;
};
/// One entry per dimension of a tensor.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

/// These slots may together be partial of one kind; then all results are.
struct PartialPassthrough {
  ReductionKind kind = ReductionKind::Sum;
  llvm::SmallVector<unsigned, 4> slots;
  /// The kind of the results (negation swaps max and min).
  ReductionKind resultKind = ReductionKind::Sum;
};

struct ShardingRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<mlir::Value> slots;
  llvm::SmallVector<TensorFactors> slotFactors;
  /// The result a slot is the init of, if it is one. Such a slot is partial
  /// wherever a split makes that result partial.
  llvm::SmallVector<std::optional<unsigned>> initOf;
  llvm::SmallVector<TensorFactors> resultFactors;
  llvm::SmallVector<PartialPassthrough> passthroughs;
  /// The results can be partial of these kinds at no cost, because the op makes
  /// them from nothing or from an identity (tensor.empty; a fill with 0 is also
  /// a partial sum).
  llvm::SmallVector<ReductionKind> freePartials;
  /// Scalar operations of the whole op.
  double work = 0;

  /// Why `choice` is illegal on `part` (empty: legal). Considers one axis
  /// alone.
  std::string whyIllegal(const Choice &choice, AxisPart part,
                         const Mesh &mesh) const;
  /// Why `strategy` is illegal as a whole (empty: legal): a choice is, or some
  /// tensor would need a layout that does not exist (a minor factor of a
  /// dimension is split, and a rank has several indices of a major one).
  std::string whyIllegal(const Strategy &strategy, const Mesh &mesh) const;

  /// The layouts that a legal strategy requires of a slot and gives a result,
  /// with an entry for every entry of the strategy. The unit of a dimension's
  /// chunks is the product of the factors inside the split ones, or 1 if that
  /// makes no difference.
  Layout slotLayout(unsigned slot, const Strategy &strategy) const;
  Layout resultLayout(unsigned result, const Strategy &strategy) const;
  /// The same for one entry of a strategy whose choices are legal one by one:
  /// nothing if the tensor would need a layout that does not exist.
  std::optional<Placement>
  slotPlacement(unsigned slot, const Strategy &strategy, AxisPart part) const;
  std::optional<Placement> resultPlacement(unsigned result,
                                           const Strategy &strategy,
                                           AxisPart part) const;

  /// All legal choices on one axis, `replicate` first.
  llvm::SmallVector<Choice> legalChoices(AxisPart part, const Mesh &mesh) const;
};

class LocalOpBuilder;

/// The slots of any op: its tensor operands, then captured tensors.
llvm::SmallVector<mlir::Value> slotsOf(mlir::Operation *op);

} // namespace tp

#include "tp/Interfaces/ShardingRuleInterface.h.inc"

#endif // TP_INTERFACES_SHARDINGRULE_H
