//===- AxisModel.h - the assignment problem of one axis part ----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_AXISMODEL_H
#define TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_AXISMODEL_H

#include "Graph/AssignmentGraph.h"
#include "tp/Sharding/AxisProblem.h"
#include "tp/Sharding/Hardware.h"

namespace tp::propagate {

struct AssignmentOptions {
  Hardware hardware;
  Objective objective = Objective::Communication;
  bool allowSplitAllReduce = false;
  bool noImplicitCollectives = false;
  /// What a byte costs that a rank holds for the whole step.
  double bytePrice = 0;
};

/// The decision for one node on one axis part.
struct Decision {
  /// Ops and constrains.
  Choice choice;
  /// Arguments and results.
  Placement port;
  bool operator==(const Decision &) const = default;
};

/// What was chosen on the axis parts solved so far; one entry per node, and in
/// each one per part.
struct Decisions {
  std::vector<llvm::SmallVector<std::optional<Decision>, 2>> of;

  /// How each of these parts reduces each value; one entry per value.
  std::vector<llvm::SmallVector<std::optional<CollectiveKind>, 2>> reduced;

  explicit Decisions(const AssignmentGraph &graph)
      : of(graph.nodes.size(),
           llvm::SmallVector<std::optional<Decision>, 2>(graph.parts.size())),
        reduced(graph.values.size(),
                llvm::SmallVector<std::optional<CollectiveKind>, 2>(
                    graph.parts.size())) {}

  /// Of a part that was decided: the collectives it makes.
  void recordReductions(unsigned part, llvm::ArrayRef<PlannedCollective> made);

  /// The choices of a node on the parts solved so far, major first, with
  /// `choice` on `part`.
  Strategy strategyWith(const AssignmentGraph &graph, unsigned node,
                        unsigned part, const Choice &choice) const;
};

/// The program of one axis part; ops and values have the numbers of nodes and
/// values.
struct AxisModel {
  AxisProblem problem;
  /// What the choices of every node are, in the order of the layout program's.
  std::vector<SharedList<Decision>> decisions;
};

/// `relaxed` nodes forget their pins on this part (empty: none does).
AxisModel buildAxisModel(const AssignmentGraph &graph, unsigned part,
                         const Decisions &decided,
                         const AssignmentOptions &options,
                         llvm::ArrayRef<bool> relaxed = {});

/// Explains why the part has no assignment: an error at a pin, with notes at
/// the other pins that contradict it.
void reportConflict(const AssignmentGraph &graph, unsigned part,
                    const Decisions &decided, const AssignmentOptions &options,
                    const AssignmentLimits &limits, unsigned emptiedNode);

/// Whether a plan asks for collectives on the node's operand: at a pinned
/// result, and at a pin that is not an expected layout. (A plan always asks for
/// the all_reduce of a pending value.)
bool asksForCollectives(const Node &node, unsigned part);

/// One remark per layout change that `solution` makes on `part`.
void remarkRedistributions(const AssignmentGraph &graph, unsigned part,
                           const AxisModel &model,
                           const AxisSolution &solution);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_AXISMODEL_H
