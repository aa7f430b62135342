//===- Conflicts.cpp - why no assignment exists ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problem/AxisModel.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

namespace {
/// Finds a smallest set of pins that cannot hold together: one from which no
/// pin can be left out.
class ConflictFinder {
public:
  ConflictFinder(const AssignmentGraph &graph, unsigned part,
                 const Decisions &decided, const AssignmentOptions &options,
                 const AssignmentLimits &limits)
      : graph(graph), part(part), decided(decided), options(options),
        limits(limits) {}

  SmallVector<unsigned> find() {
    SmallVector<unsigned> pins;
    for (auto [number, node] : llvm::enumerate(graph.nodes))
      if (node.pins[part])
        pins.push_back(number);
    // Leave out large parts first, then smaller ones.
    for (size_t part = std::max<size_t>(1, pins.size() / 2);; part /= 2) {
      for (size_t at = 0; at < pins.size();) {
        SmallVector<unsigned> fewer(pins.begin(), pins.begin() + at);
        fewer.append(pins.begin() + std::min(at + part, pins.size()),
                     pins.end());
        if (isInfeasible(fewer))
          pins = fewer;
        else
          at += part;
      }
      if (part <= 1)
        return pins;
    }
  }

private:
  bool isInfeasible(ArrayRef<unsigned> pins) const {
    std::unique_ptr<bool[]> relaxed(new bool[graph.nodes.size()]);
    for (size_t i = 0; i < graph.nodes.size(); ++i)
      relaxed[i] = graph.nodes[i].pins[part] && !llvm::is_contained(pins, i);
    AxisModel model =
        buildAxisModel(graph, part, decided, options,
                       ArrayRef(relaxed.get(), graph.nodes.size()));
    return solve(model.problem, limits).outcome ==
           AssignmentResult::Outcome::Infeasible;
  }

  const AssignmentGraph &graph;
  unsigned part;
  const Decisions &decided;
  const AssignmentOptions &options;
  const AssignmentLimits &limits;
};
} // namespace

/// `node` itself if it is an op, else an op that uses it or makes what it uses.
static const Node *opNextTo(const AssignmentGraph &graph, const Node &node) {
  if (node.kind == Node::Kind::Op)
    return &node;
  for (const Node &other : graph.nodes) {
    auto meets = [&](ArrayRef<unsigned> made, ArrayRef<unsigned> used) {
      return llvm::any_of(used, [&](unsigned value) {
        return llvm::is_contained(made, value);
      });
    };
    if (other.kind == Node::Kind::Op &&
        (meets(node.results, other.slots) || meets(other.results, node.slots)))
      return &other;
  }
  return nullptr;
}

void propagate::reportConflict(const AssignmentGraph &graph, unsigned part,
                               const Decisions &decided,
                               const AssignmentOptions &options,
                               const AssignmentLimits &limits,
                               unsigned emptiedNode) {
  std::string axisName = graph.partName(part);
  SmallVector<unsigned> pins =
      ConflictFinder(graph, part, decided, options, limits).find();
  const Node &place = graph.nodes[emptiedNode];
  StringRef reason = options.noImplicitCollectives
                         ? " without a collective that no pin asks for"
                         : "";
  if (pins.empty()) {
    mlir::emitError(graph.location(place))
        << graph.describe(place) << " has no strategy on axis " << axisName
        << " that fits the ops around it" << reason;
    return;
  }
  auto text = [&](unsigned number) {
    const Node &node = graph.nodes[number];
    return graph.describe(node) + " is pinned to " +
           toString(node.pins[part]->placement);
  };
  InFlightDiagnostic error =
      mlir::emitError(graph.location(graph.nodes[pins.front()]));
  error << text(pins.front()) << " on axis " << axisName << ", which cannot "
        << (pins.size() == 1 ? "be met" : "hold together with other pins")
        << reason;
  for (unsigned number : llvm::drop_begin(pins))
    error.attachNote(graph.location(graph.nodes[number])) << text(number);
  if (const Node *op = opNextTo(graph, place))
    error.attachNote(graph.location(*op))
        << "no strategy of " << graph.describe(*op) << " fits here";
}
