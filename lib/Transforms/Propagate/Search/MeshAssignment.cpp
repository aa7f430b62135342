//===- MeshAssignment.cpp - layouts on all axes of a mesh -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MeshAssignment.h"
#include "Problem/AxisModelBuilder.h"
#include "Problem/MeshCosts.h"
#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
class AxisOrders {
public:
  AxisOrders(const AssignmentGraph &graph, const AssignmentOptions &options,
             const AssignmentLimits &limits)
      : graph(graph), options(options), limits(limits), costs(graph, options) {
    for (auto [number, part] : llvm::enumerate(graph.parts))
      if (part.size > 1)
        divided.push_back(number);
  }

  FailureOr<MeshAssignment> cheapest();

private:
  /// Of an axis that splits data alone it is plain what it does. The others
  /// are to see what it leaves to a rank, so such axes come first.
  std::vector<unsigned> dataAxesFirst() const;
  FailureOr<MeshAssignment> solveInOrder(ArrayRef<unsigned> order);
  LogicalResult decidePart(unsigned part, MeshAssignment &assignment);
  PartSolution solvePart(unsigned part, const Decisions &decisions,
                         const AssignmentOptions &with) const;
  /// Takes over what was found for a part.
  static void decide(PartSolution found, MeshAssignment &assignment);
  /// Decides parts again as long as that makes the assignment, which costs
  /// `cost`, cheaper.
  void improve(MeshAssignment &assignment, Cost &cost);

  const AssignmentGraph &graph;
  const AssignmentOptions &options;
  const AssignmentLimits &limits;
  MeshCosts costs;
  /// Parts over more than one rank.
  SmallVector<unsigned> divided;
};
} // namespace

std::vector<unsigned> AxisOrders::dataAxesFirst() const {
  std::vector<unsigned> order, others;
  for (unsigned axis = 0; axis < graph.mesh().axes.size(); ++axis) {
    bool isOfData = llvm::any_of(divided, [&](unsigned part) {
      return graph.parts[part].axis == axis && isDataParallel(graph, part);
    });
    (isOfData ? order : others).push_back(axis);
  }
  llvm::append_range(order, others);
  return order;
}

FailureOr<MeshAssignment> AxisOrders::cheapest() {
  std::vector<unsigned> order = dataAxesFirst();
  auto others = llvm::find_if(order, [&](unsigned axis) {
    return llvm::none_of(divided, [&](unsigned part) {
      return graph.parts[part].axis == axis && isDataParallel(graph, part);
    });
  });
  constexpr ptrdiff_t triedInAllOrders = 3;
  bool all = order.end() - others <= triedInAllOrders;
  std::vector<MeshAssignment> orders;
  do {
    FailureOr<MeshAssignment> found = solveInOrder(order);
    // Another order may do without what no entry asks for.
    if (failed(found) && options.noImplicitCollectives && divided.size() > 1)
      continue;
    if (failed(found) || divided.size() < 2)
      return found;
    if (llvm::none_of(orders, [&](const MeshAssignment &other) {
          return other.decisions.of == found->decisions.of;
        }))
      orders.push_back(std::move(*found));
  } while (all && std::next_permutation(others, order.end()));
  if (orders.empty())
    return failure();
  // Of larger programs every solution takes its time.
  constexpr size_t mostNodes = 1000;
  bool improves = graph.nodes.size() <= mostNodes;
  if (orders.size() == 1 && !improves)
    return std::move(orders.front());
  std::optional<MeshAssignment> best;
  Cost least;
  for (MeshAssignment &found : orders) {
    Cost cost = costs.of(found.decisions);
    if (improves)
      improve(found, cost);
    if (best && !(cost < least))
      continue;
    least = cost;
    best = std::move(found);
  }
  return std::move(*best);
}

void AxisOrders::improve(MeshAssignment &assignment, Cost &cost) {
  // The part that was decided last has seen all others.
  size_t unchanged = 1;
  for (size_t next = 0; unchanged < divided.size(); ++next) {
    unsigned part = assignment.parts[next % divided.size()].part;
    MeshAssignment other = assignment;
    for (auto &ofNode : other.decisions.of)
      ofNode[part].reset();
    PartSolution found = solvePart(part, other.decisions, options);
    ++unchanged;
    if (!found.solution.hasAssignment())
      continue;
    decide(std::move(found), other);
    Cost otherCost = costs.of(other.decisions);
    if (!(otherCost < cost))
      continue;
    cost = otherCost;
    assignment = std::move(other);
    unchanged = 1;
  }
}

FailureOr<MeshAssignment> AxisOrders::solveInOrder(ArrayRef<unsigned> order) {
  MeshAssignment assignment{Decisions(graph), {}};
  // A minor sub-axis divides what the major one leaves.
  for (unsigned axis : order)
    for (auto [number, part] : llvm::enumerate(graph.parts))
      if (part.axis == axis && failed(decidePart(number, assignment)))
        return failure();
  return assignment;
}

PartSolution AxisOrders::solvePart(unsigned part, const Decisions &decisions,
                                   const AssignmentOptions &with) const {
  PartSolution found;
  found.part = part;
  found.model = buildAxisModel(graph, part, decisions, with);
  found.solution = tp::solve(found.model.problem, limits);
  return found;
}

void AxisOrders::decide(PartSolution found, MeshAssignment &assignment) {
  for (auto [node, ofNode] : llvm::enumerate(assignment.decisions.of))
    ofNode[found.part] =
        found.model.decisions[node][found.solution.choices[node]];
  assignment.decisions.recordReductions(
      found.part, collectivesOf(found.model.problem, found.solution));
  for (PartSolution &earlier : assignment.parts)
    if (earlier.part == found.part) {
      earlier = std::move(found);
      return;
    }
  assignment.parts.push_back(std::move(found));
}

LogicalResult AxisOrders::decidePart(unsigned part,
                                     MeshAssignment &assignment) {
  Decisions &decisions = assignment.decisions;
  // On one rank all layouts are the same.
  if (graph.parts[part].size == 1) {
    for (auto &ofNode : decisions.of)
      ofNode[part] = Decision();
    return success();
  }
  PartSolution found = solvePart(part, decisions, options);
  switch (found.solution.outcome) {
  case AssignmentResult::Outcome::Optimal:
  case AssignmentResult::Outcome::Feasible:
    break;
  case AssignmentResult::Outcome::Infeasible:
    if (options.noImplicitCollectives) {
      // What there would be, and whether somebody asks for all of it after
      // all: a copy that is asked for may serve other uses too.
      AssignmentOptions freely = options;
      freely.noImplicitCollectives = false;
      PartSolution there = solvePart(part, decisions, freely);
      if (there.solution.hasAssignment()) {
        if (hasImplicitCollectives(graph, there))
          return failure();
        found = std::move(there);
        break;
      }
    }
    reportConflict(graph, part, decisions, options, limits, found.solution.op);
    return failure();
  case AssignmentResult::Outcome::TooLarge: {
    const Node &node = graph.nodes[found.solution.op];
    return mlir::emitError(graph.location(node))
           << "found no assignment on axis " << graph.partName(part)
           << ": neither is one near at hand nor is there room to try all, "
              "which takes a table of "
           << found.solution.tableEntries << " entries at "
           << graph.describe(node)
           << "; pins on values near it make it smaller";
  }
  }
  decide(std::move(found), assignment);
  return success();
}

FailureOr<MeshAssignment>
propagate::assignLayouts(const AssignmentGraph &graph,
                         const AssignmentOptions &options,
                         const AssignmentLimits &limits) {
  if (!options.noImplicitCollectives)
    return AxisOrders(graph, options, limits).cheapest();
  // What the program has without the restriction decides, and not what the axes
  // have one at a time: if all of it is asked for, that is the program.
  AssignmentOptions freely = options;
  freely.noImplicitCollectives = false;
  FailureOr<MeshAssignment> free = AxisOrders(graph, freely, limits).cheapest();
  if (failed(free) || llvm::none_of(free->parts, [&](const PartSolution &part) {
        return hasImplicitCollectives(graph, part);
      }))
    return free;
  FailureOr<MeshAssignment> restricted = failure();
  {
    ScopedDiagnosticHandler silence(graph.meshAttr.getContext(),
                                    [](Diagnostic &) { return success(); });
    restricted = AxisOrders(graph, options, limits).cheapest();
  }
  if (failed(restricted))
    for (const PartSolution &part : free->parts)
      reportImplicitCollectives(graph, part);
  return restricted;
}
