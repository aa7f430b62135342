//===- MeshCosts.h - what an assignment on all axes costs -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An AxisModel counts the bytes sent on one axis, after the axes decided before
// have sharded the value. Several axes together send something else: a value
// that is gathered on one axis may still be sharded on the next, or no more.
// Here the costs are those of the paths that layout changes take in the end.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_MESHCOSTS_H
#define TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_MESHCOSTS_H

#include "AxisModel.h"
#include "tp/Sharding/RedistributionPath.h"

namespace tp::propagate {

/// The layout of an argument or result that has `made` on the program's parts.
Layout portLayout(const AssignmentGraph &graph,
                  llvm::ArrayRef<std::optional<Decision>> made);

class MeshCosts {
public:
  MeshCosts(const AssignmentGraph &graph, const AssignmentOptions &options);

  /// Of computing all ops, and of bringing every value from the layout in which
  /// it is made to those in which it is used, each once, as tp-materialize and
  /// tp-insert-collectives do it, and of holding it. All parts are decided.
  Cost of(const Decisions &decided);

private:
  /// The layouts in which a node makes and takes its values.
  struct Layouts {
    llvm::SmallVector<Layout, 3> slots;
    llvm::SmallVector<Layout, 3> results;
  };
  Layouts layoutsOf(unsigned number, const Decisions &decided) const;
  bool movesData(const LayoutStep &step) const;
  Cost ofComputing(Decisions decided) const;
  /// From `made` to all of `needed`.
  Cost ofValue(unsigned value, const Layout &made,
               llvm::ArrayRef<Layout> needed);
  Cost ofChange(unsigned value, const Layout &from, const Layout &to);

  const AssignmentGraph &graph;
  const AssignmentOptions &options;
  RedistributionPaths paths;
  /// Per axis.
  llvm::SmallVector<bool, 3> isOfData;
  /// How long every value is held, as a part of the step.
  std::vector<double> held;
};

} // namespace tp::propagate

#endif // TP_LIB_TRANSFORMS_PROPAGATE_PROBLEM_MESHCOSTS_H
