//===- AxisModelBuilder.h - builds the problem of an axis part --*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_AXISMODELBUILDER_H
#define TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_AXISMODELBUILDER_H

#include "AxisModel.h"
#include "DataParallelism.h"
#include <map>

namespace tp::propagate {

/// Kinds of partial values, as a set.
using Kinds = unsigned;
inline Kinds bit(ReductionKind kind) {
  return 1u << static_cast<unsigned>(kind);
}

/// Collectives on weights count this many times, so that any collectives on
/// activations are cheaper.
inline constexpr int64_t weightPenalty = 1000;

/// The plan of the axis leaves layouts to tp.
bool isAutoAxis(const AssignmentGraph &graph, unsigned axis);

/// The part of the step for which every value is held: all of it for arguments,
/// for others from where they are made to their last use.
std::vector<double> sharesOfStep(const AssignmentGraph &graph);

/// Builds an AxisModel: what every op may do on the part (OpChoices.cpp), and
/// which layouts arguments, results and pinned values may have
/// (PortChoices.cpp).
class AxisModelBuilder {
public:
  AxisModelBuilder(const AssignmentGraph &graph, unsigned partNumber,
                   const Decisions &decided, const AssignmentOptions &options,
                   llvm::ArrayRef<bool> relaxed);
  AxisModel build();

  /// The compute cost of an op with `choice` on this part and its decisions on
  /// the others; nothing for other nodes.
  Cost costOf(unsigned number, const Choice &choice) const;

private:
  static std::vector<std::pair<unsigned, unsigned>>
  makersOf(const AssignmentGraph &graph);
  const Pin *pinOf(unsigned node) const {
    const std::optional<Pin> &pin = graph.nodes[node].pins[partNumber];
    return pin && (relaxed.empty() || !relaxed[node]) ? &*pin : nullptr;
  }
  int64_t bytesOf(unsigned value) const;
  /// By the parts solved so far.
  llvm::SmallVector<int64_t, 1> dimsShardedByMinor(unsigned value) const;
  void addArgument(unsigned number);
  void addResult(unsigned number);
  /// What tp chooses (FreePort).
  void addFreePort(unsigned number);
  std::vector<Placement> freeLayouts(unsigned parameter) const;
  /// The shard that the ranks of all parts for which it is fully sharded share
  /// most evenly, of a dimension that no other axis shards if there is one.
  Placement evenShard(unsigned parameter) const;
  void addConstrain(unsigned number);
  void addTiedPort(unsigned number);
  /// Of an argument that entries share.
  void addSharedPort(unsigned number);
  /// Whether some choices of both have the same port.
  bool canBeEqual(unsigned one, unsigned other) const;
  void addOp(unsigned number);

  /// The placements that an op or a constrain requires of its slots and gives
  /// its results, or nothing if the parts solved so far do not allow `choice`.
  struct Placements {
    llvm::SmallVector<Placement, 3> slots;
    llvm::SmallVector<Placement, 1> results;
  };
  std::optional<Placements> placementsOf(unsigned number,
                                         const Choice &choice) const;
  /// Whether ranks share heads on the part, and the major sub-axes of its axis
  /// leave nothing to split of what `choice` splits: one rank would do the work
  /// of its group, and the others nothing.
  bool leavesRanksIdle(unsigned number, const Choice &choice) const;
  bool portFits(unsigned number, const Placement &port) const;
  /// The shards of dimension `dim` that uses of a weight can take without
  /// cutting a head; with `cutsHeads` all that uses can take.
  std::vector<Placement> shardsOfUses(unsigned value, int64_t dim,
                                      bool cutsHeads = false) const;
  /// The shards in which the value's producer can produce it.
  std::vector<Placement> shardsOfMaker(unsigned value) const;

  Cost costOf(unsigned number, const Choice &choice,
              const Placements &placements) const;
  /// All that the choices of an op depend on.
  std::vector<int64_t> surroundingsOf(unsigned number) const;
  /// Adds a choice, and where pending partials may come in, its other version
  /// that takes and makes those.
  void add(unsigned number, const Choice &choice);
  void addPort(unsigned number, const Placement &port);
  /// The ports that a pin allows: where it may be in other chunks, those of
  /// `shards` that it allows, if there are any.
  void addPinnedPorts(unsigned number, const Pin &pin,
                      const std::vector<Placement> &shards);
  void addVersions(unsigned number, const Decision &decision,
                   const Placements &placements, Cost cost);
  void add(unsigned number, const Decision &decision, OpChoice costs);

  const AssignmentGraph &graph;
  unsigned partNumber;
  AxisPart part;
  const Decisions &decided;
  const AssignmentOptions &options;
  llvm::ArrayRef<bool> relaxed;
  AxisModel model;
  /// The producer of every value, as (node, result).
  std::vector<std::pair<unsigned, unsigned>> makers;
  /// By value: the result of `bytesOf`.
  std::vector<int64_t> bytes;
  /// By node: the result of `dividesData`.
  std::vector<bool> readsData;
  /// Kinds a value can be partial of without having been made so from a
  /// replicated one, and those in which it can be pending.
  std::vector<Kinds> partialKinds, pendingKinds;
  /// Known ops, by everything their choices depend on: equal ops of different
  /// layers are computed once. Kinds are those of the results.
  struct KnownOp {
    SharedList<OpChoice> choices;
    SharedList<Decision> decisions;
    llvm::SmallVector<std::pair<Kinds, Kinds>, 1> kinds;
  };
  std::map<std::vector<int64_t>, KnownOp> known;
};

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_AXISMODELBUILDER_H
