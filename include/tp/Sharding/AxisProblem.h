//===- AxisProblem.h - layouts of a program on one axis ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The assignment of layouts on one mesh axis, free of IR: ops with choices,
// values between them, and the cost of converting a value from the layout its
// producer makes to the layouts its uses require.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_AXISPROBLEM_H
#define TP_SHARDING_AXISPROBLEM_H

#include "tp/Sharding/SharedList.h"
#include "tp/Sharding/StepCost.h"
#include "llvm/ADT/SmallVector.h"
#include <string>

namespace tp {

/// What one axis does to a value. A *pending* partial is one that a pin
/// requires replicated. It may pass through linear ops, alone or with other
/// partials, until one all_reduce replicates it. No other conversion of it is
/// allowed.
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

/// The state that a use requires. Pending and plain partials both satisfy a
/// pending one.
struct Requirement {
  AxisState state;
  /// Whether a collective may be made for it. If not, only local conversions
  /// are allowed, and the all_reduce of a pending partial.
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
  /// Breaks ties between equally good solutions; does not depend on the order
  /// of ops.
  uint64_t key = 0;
};

struct AxisValue {
  /// Bytes of the value where this axis does not split it.
  int64_t bytes = 0;
  /// Multiplies the cost of every collective on it. Large for weights, so that
  /// they are used in the layout they are stored in.
  int64_t collectiveFactor = 1;
  /// Multiplies the cost of every conversion of it: how often they run,
  /// relative to those of other values.
  int64_t calls = 1;
  /// A placement that no collective may convert the value to. It finds the next
  /// best solution.
  std::optional<Placement> forbidden;
  /// Dimensions that an axis minor to this one shards. Its shards are then
  /// parts of this axis's shards. A slice, gather or scatter over this axis
  /// leaves the two in the wrong order, and a permute has to exchange whole
  /// shards.
  llvm::SmallVector<int64_t, 1> shardedByMinor = {};
  /// Primary cost of every byte of it that a rank holds, in the layout it is
  /// made in and in those it is converted to.
  double bytePrice = 0;

  /// Added to the cost of every collective on it that reduces nothing.
  int64_t gatherPenalty = 0;
  /// How many ranks it is reduced over on axes decided before, by a collective
  /// of this kind. Reducing it on this axis too is one collective over all.
  int64_t reducedOver = 1;
  CollectiveKind reducedBy = CollectiveKind::AllReduce;

  bool isShardedByMinor(const Placement &placement) const;
};

/// One axis: its size and its costs.
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

/// The states that a value exists in: the one its producer makes, and those it
/// is converted to. Each conversion is paid for once, however many uses it has.
struct MaterializedLayouts {
  AxisState made;
  llvm::SmallVector<AxisState, 2> converted;
};

/// The cheapest collectives from `made` to all of `converted`.
Cost costOfConversions(const MaterializedLayouts &materialization,
                       const AxisValue &value, const AxisCosts &costs);
/// The cost of one use of a materialized value: nothing if its state exists,
/// local work if a replicated copy exists, else infinite.
Cost costOfUse(const MaterializedLayouts &materialization,
               const Requirement &need, const AxisValue &value,
               const AxisCosts &costs);
/// All materializations that can be optimal for a value that is made as `made`
/// and used `uses` times, each use requiring one of `needs`. Every other set of
/// conversions costs more than one of these.
std::vector<MaterializedLayouts>
materializations(const AxisState &made, llvm::ArrayRef<Requirement> needs,
                 size_t uses, const AxisValue &value, const AxisCosts &costs);

/// Two ops that make or take one value each and have to have the same
/// placement. A choice of one whose placement no choice of the other has is
/// ruled out.
struct TiedOps {
  unsigned first = 0, second = 0;
};

struct AxisProblem {
  std::vector<AxisOp> ops;
  std::vector<AxisValue> values;
  std::vector<TiedOps> tied;
  AxisCosts costs;

  /// The cost of one choice per op, with the cheapest materialization of every
  /// value.
  Cost costOf(const std::vector<unsigned> &choices) const;
};

struct AxisSolution {
  AssignmentResult::Outcome outcome = AssignmentResult::Outcome::Optimal;
  Cost cost;
  /// Feasible: the least that any choices can cost.
  Cost bound;
  /// A choice per op, and the layouts that every value is materialized in.
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

/// A collective that a solution needs: it converts `value` from one state to
/// another.
struct PlannedCollective {
  unsigned value = 0;
  AxisState from, to;
  CollectiveKind kind = CollectiveKind::AllReduce;
};
/// All of them, in the order of the values.
std::vector<PlannedCollective> collectivesOf(const AxisProblem &problem,
                                             const AxisSolution &solution);

/// The cheapest choices; `outcome` says whether they are proved to be optimal.
AxisSolution solve(const AxisProblem &problem,
                   const AssignmentLimits &limits = {});

} // namespace tp

#endif // TP_SHARDING_AXISPROBLEM_H
