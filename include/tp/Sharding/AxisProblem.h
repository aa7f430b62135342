//===- AxisProblem.h - layouts of a program on one axis ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program as the layout assignment sees it, free of IR and on one mesh axis:
// ops with choices, values between them, and what it costs to bring a value
// from the layout its producer makes to those its users need.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_AXISPROBLEM_H
#define TP_SHARDING_AXISPROBLEM_H

#include "tp/Sharding/SharedList.h"
#include "tp/Sharding/StepCost.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace tp {

/// What one axis does to a value. A *pending* partial is one that a pin wants
/// replicated: it may pass through linear ops, alone or with other partials,
/// and becomes replicated by one all_reduce; nothing else may happen to it.
struct AxisState {
  Placement placement;
  bool pending = false;

  static AxisState replicate() { return {}; }
  static AxisState shard(int64_t dim) { return {Placement::shard(dim)}; }
  static AxisState partial(ReductionKind kind = ReductionKind::Sum) {
    return {Placement::partial(kind)};
  }
  static AxisState pendingPartial(ReductionKind kind = ReductionKind::Sum) {
    return {Placement::partial(kind), true};
  }
  bool operator==(const AxisState &) const = default;
};

std::string toString(const AxisState &state);

/// What a use needs. A pending state is met by pending and by plain partials.
struct Requirement {
  AxisState state;
  /// A collective may be made for it. Where false only what every rank can do
  /// alone is allowed (and the all_reduce of a pending partial).
  bool mayCommunicate = true;
  bool operator==(const Requirement &) const = default;
};

/// What one op may do on the axis.
struct OpChoice {
  Cost cost;
  /// One per slot and one per result of the op.
  llvm::SmallVector<Requirement, 3> needs;
  llvm::SmallVector<AxisState, 1> makes;
};

struct AxisOp {
  /// Shared by ops that may do the same.
  SharedList<OpChoice> choices;
  /// Numbers of values.
  llvm::SmallVector<unsigned, 3> slots;
  llvm::SmallVector<unsigned, 1> results;
  /// Stays the same when ops are reordered; tells equally good solutions
  /// apart.
  uint64_t key = 0;
};

struct AxisValue {
  /// Bytes of the value where this axis does not split it.
  int64_t bytes = 0;
  /// Multiplies the cost of every collective on it. Large for weights, which
  /// are to be used as they lie.
  int64_t collectiveFactor = 1;
  /// No collective may bring the value here: what else would be done?
  std::optional<Placement> forbidden;
  /// Dimensions that an axis minor to this one shards. Its shards are parts of
  /// this one's then: what is cut, gathered or scattered over this axis ends
  /// with the two in the wrong order, and whole shards have to change places.
  llvm::SmallVector<int64_t, 1> shardedByMinor = {};
  /// Primary cost of every byte of it that a rank holds, as it is made and as
  /// it is brought into other layouts.
  double bytePrice = 0;

  /// What every collective on it that reduces nothing costs more.
  int64_t gatherPenalty = 0;
  /// How many ranks it is reduced over on axes decided before, by a collective
  /// of this kind. Reducing it on this axis too is one collective over all.
  int64_t reducedOver = 1;
  CollectiveKind reducedBy = CollectiveKind::AllReduce;

  bool isShardedByMinor(const Placement &placement) const;
};

/// The axis and what things cost on it.
struct AxisCosts : StepCosts {
  int64_t ranks = 1;

  Cost compute(double operations, double bytes,
               NumberClass numbers = NumberClass::F32) const;
  using StepCosts::collective;
  Cost collective(CollectiveKind kind, const AxisValue &value) const;
};

/// A collective, or work of every rank alone, that turns one state directly
/// into another.
struct Conversion {
  bool possible = false;
  /// Empty for local steps and for equal states.
  std::optional<CollectiveKind> collective;
  Cost cost;
};
Conversion directConversion(const AxisState &from, const AxisState &to,
                            const AxisValue &value, const AxisCosts &costs);

/// A value as its producer makes it and the states it is brought into besides,
/// each paid once however many uses it has.
struct MaterializedLayouts {
  AxisState made;
  llvm::SmallVector<AxisState, 2> converted;
};

/// The cheapest collectives from `made` to all of `converted`.
Cost costOfConversions(const MaterializedLayouts &materialization,
                       const AxisValue &value, const AxisCosts &costs);
/// What one use costs given the supply: nothing if its state is there, local
/// work where a replicated copy is there; infinite where it is not met.
Cost costOfUse(const MaterializedLayouts &materialization,
               const Requirement &need, const AxisValue &value,
               const AxisCosts &costs);
/// All supplies worth having of a value made as `made` that is used `uses`
/// times, the uses needing some of `needs`: every other set of extras costs
/// more than one of these.
std::vector<MaterializedLayouts>
materializations(const AxisState &made, llvm::ArrayRef<Requirement> needs,
                 size_t uses, const AxisValue &value, const AxisCosts &costs);

/// Two ops that make or take one value each, in the same placement. The choices
/// of one may have placements that none of the other has: those are not made.
struct TiedOps {
  unsigned first = 0, second = 0;
};

struct AxisProblem {
  std::vector<AxisOp> ops;
  std::vector<AxisValue> values;
  std::vector<TiedOps> tied;
  AxisCosts costs;

  /// The cost of giving every op one of its choices, each value being supplied
  /// in the cheapest way.
  Cost costOf(const std::vector<unsigned> &choices) const;
};

struct AxisSolution {
  AssignmentResult::Outcome outcome = AssignmentResult::Outcome::Optimal;
  Cost cost;
  /// Feasible: the least that any choices can cost.
  Cost bound;
  /// A choice per op, and how every value is supplied.
  std::vector<unsigned> choices;
  std::vector<MaterializedLayouts> materializations;
  /// Infeasible and TooLarge: an op at or next to the place.
  unsigned op = 0;
  double tableEntries = 0;
  size_t variables = 0, coreVariables = 0;
  unsigned ascents = 0;

  bool hasAssignment() const {
    return outcome == AssignmentResult::Outcome::Optimal ||
           outcome == AssignmentResult::Outcome::Feasible;
  }
};

/// A collective that a solution makes: it brings `value` from one state into
/// another.
struct PlannedCollective {
  unsigned value = 0;
  AxisState from, to;
  CollectiveKind kind = CollectiveKind::AllReduce;
};
/// All of them, in the order of the values.
std::vector<PlannedCollective> collectivesOf(const AxisProblem &problem,
                                             const AxisSolution &solution);

/// The cheapest choices (AssignmentResult says how sure that is).
AxisSolution solve(const AxisProblem &problem,
                   const AssignmentLimits &limits = {});

} // namespace tp

#endif // TP_SHARDING_AXISPROBLEM_H
