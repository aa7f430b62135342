//===- AxisModel.h - the assignment problem of one axis ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_AXISMODEL_H
#define TP_LIB_TRANSFORMS_PROPAGATE_AXISMODEL_H

#include "Program.h"
#include "tp/Support/LayoutProgram.h"

namespace tp::propagate {

struct ModelOptions {
  Machine machine;
  Objective objective = Objective::Communication;
  bool allowSplitAllReduce = false;
  bool noImplicitCollectives = false;
  bool autoParameters = false;
  /// Every rank computes all of every table. That costs no communication,
  /// because all uses find what they need on their own rank, and makes smaller
  /// problems.
  bool replicateTables = false;
};

/// What was chosen on the axes solved so far; one entry per node, and in each
/// one per axis. Of an argument or result the choice splits the number of the
/// dimension that is sharded, or passes partial values through no slot.
struct Decisions {
  std::vector<llvm::SmallVector<std::optional<Choice>, 2>> choices;

  explicit Decisions(const Program &program)
      : choices(program.nodes.size(),
                llvm::SmallVector<std::optional<Choice>, 2>(
                    program.mesh().axes.size())) {}
};

/// What a choice of `node` asks of slot `slot` and makes of result `result`.
Placement slotPlacement(const Node &node, unsigned slot, const Choice &choice);
Placement resultPlacement(const Node &node, unsigned result,
                          const Choice &choice);

/// The program of one axis; ops and values have the numbers of nodes and
/// values.
struct AxisModel {
  LayoutProgram layouts;
  /// The choices of every node, in the order of the layout program's.
  std::vector<llvm::SmallVector<Choice>> choices;
};

/// `relaxed` nodes forget their pins on this axis (empty: none does).
AxisModel buildAxisModel(const Program &program, unsigned axis,
                         const Decisions &decided, const ModelOptions &options,
                         llvm::ArrayRef<bool> relaxed = {});

/// Explains why the axis has no assignment: an error at a pin, with notes at
/// the others that cannot hold with it.
void reportConflict(const Program &program, unsigned axis,
                    const Decisions &decided, const ModelOptions &options,
                    const AssignmentLimits &limits, unsigned emptiedNode);

/// One remark per layout change that `solution` makes on `axis`.
void remarkRedistributions(const Program &program, unsigned axis,
                           const AxisModel &model,
                           const ProgramSolution &solution);

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_AXISMODEL_H
