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
  ConflictFinder(const Program &program, unsigned part,
                 const Decisions &decided, const ModelOptions &options,
                 const AssignmentLimits &limits)
      : program(program), part(part), decided(decided), options(options),
        limits(limits) {}

  SmallVector<unsigned> find() {
    SmallVector<unsigned> pins;
    for (auto [number, node] : llvm::enumerate(program.nodes))
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
    std::unique_ptr<bool[]> relaxed(new bool[program.nodes.size()]);
    for (size_t i = 0; i < program.nodes.size(); ++i)
      relaxed[i] = program.nodes[i].pins[part] && !llvm::is_contained(pins, i);
    AxisModel model =
        buildAxisModel(program, part, decided, options,
                       ArrayRef(relaxed.get(), program.nodes.size()));
    return solve(model.problem, limits).outcome ==
           AssignmentResult::Outcome::Infeasible;
  }

  const Program &program;
  unsigned part;
  const Decisions &decided;
  const ModelOptions &options;
  const AssignmentLimits &limits;
};
} // namespace

/// `node` itself if it is an op, else an op that uses it or makes what it uses.
static const Node *opNextTo(const Program &program, const Node &node) {
  if (node.kind == Node::Kind::Op)
    return &node;
  for (const Node &other : program.nodes) {
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

void propagate::reportConflict(const Program &program, unsigned part,
                               const Decisions &decided,
                               const ModelOptions &options,
                               const AssignmentLimits &limits,
                               unsigned emptiedNode) {
  std::string axisName = program.partName(part);
  SmallVector<unsigned> pins =
      ConflictFinder(program, part, decided, options, limits).find();
  const Node &place = program.nodes[emptiedNode];
  StringRef reason = options.noImplicitCollectives
                         ? " without a collective that no pin asks for"
                         : "";
  if (pins.empty()) {
    mlir::emitError(program.location(place))
        << program.describe(place) << " has no strategy on axis " << axisName
        << " that fits the ops around it" << reason;
    return;
  }
  auto text = [&](unsigned number) {
    const Node &node = program.nodes[number];
    return program.describe(node) + " is pinned to " +
           toString(node.pins[part]->placement);
  };
  InFlightDiagnostic error =
      mlir::emitError(program.location(program.nodes[pins.front()]));
  error << text(pins.front()) << " on axis " << axisName << ", which cannot "
        << (pins.size() == 1 ? "be met" : "hold together with other pins")
        << reason;
  for (unsigned number : llvm::drop_begin(pins))
    error.attachNote(program.location(program.nodes[number])) << text(number);
  if (const Node *op = opNextTo(program, place))
    error.attachNote(program.location(*op))
        << "no strategy of " << program.describe(*op) << " fits here";
}
