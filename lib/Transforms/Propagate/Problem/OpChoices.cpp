//===- OpChoices.cpp - what ops may do on an axis part --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AxisModelBuilder.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

bool AxisModelBuilder::leavesRanksIdle(unsigned number,
                                       const Choice &choice) const {
  if (choice.kind != ChoiceKind::Split || !graph.sharesHeads[partNumber])
    return false;
  int64_t ranks = 1;
  for (auto [other, made] : llvm::enumerate(decided.of[number]))
    if (made && graph.parts[other].axis == part.axis &&
        graph.parts[other].major < part.major &&
        made->choice.kind == ChoiceKind::Split &&
        made->choice.factor == choice.factor)
      ranks *= graph.parts[other].size;
  return ranks > 1 &&
         ranks >= graph.nodes[number].rule.factors[choice.factor].size;
}

void AxisModelBuilder::add(unsigned number, const Decision &decision,
                           OpChoice costs) {
  model.problem.ops[number].choices.push_back(std::move(costs));
  model.decisions[number].push_back(decision);
}

void AxisModelBuilder::add(unsigned number, const Choice &choice) {
  std::optional<Placements> placements = placementsOf(number, choice);
  if (!placements)
    return;
  // A pin computes nothing.
  Cost cost = graph.nodes[number].kind == Node::Kind::Op
                  ? costOf(number, choice, *placements)
                  : Cost();
  addVersions(number, {choice, {}}, *placements, cost);
}

void AxisModelBuilder::addVersions(unsigned number, const Decision &decision,
                                   const Placements &placements, Cost cost) {
  const Node &node = graph.nodes[number];
  // What is kept is what the forward pass has made, not what it has brought
  // together.
  bool mayCommunicate =
      !isa_and_present<KeptOp>(node.op) &&
      (!options.noImplicitCollectives || asksForCollectives(node, partNumber));
  OpChoice costs;
  costs.cost = cost;
  bool takesPartial = false, takesPending = false;
  for (auto [value, placement] : llvm::zip(node.slots, placements.slots)) {
    costs.needs.push_back({{placement}, mayCommunicate});
    if (!placement.isPartial())
      continue;
    takesPartial |= (partialKinds[value] & bit(placement.reduction)) != 0;
    takesPending |= (pendingKinds[value] & bit(placement.reduction)) != 0;
  }
  for (const Placement &placement : placements.results)
    costs.makes.push_back({placement});
  // Making partials of replicated values only, to pass them on, gains nothing.
  const Choice &choice = decision.choice;
  bool isPass = choice.kind == ChoiceKind::Passthrough && !choice.slots.empty();
  if (isPass && !takesPartial && !takesPending)
    return;
  auto note = [&](std::vector<Kinds> &kinds) {
    for (auto [result, value] : llvm::enumerate(node.results))
      if (costs.makes[result].placement.isPartial())
        kinds[value] |= bit(costs.makes[result].placement.reduction);
  };
  if (!isPass || takesPartial) {
    if (choice.kind != ChoiceKind::Passthrough || isPass)
      note(partialKinds);
    add(number, decision, costs);
  }
  if (!takesPending)
    return;
  note(pendingKinds);
  for (Requirement &need : costs.needs)
    need.state.pending = need.state.placement.isPartial();
  for (AxisState &state : costs.makes)
    state.pending = state.placement.isPartial();
  // Of equally good choices the one that replicates at the pin is taken.
  costs.cost.secondary = saturatingAdd(costs.cost.secondary, 1);
  add(number, decision, std::move(costs));
}

std::vector<int64_t> AxisModelBuilder::surroundingsOf(unsigned number) const {
  const Node &node = graph.nodes[number];
  std::vector<int64_t> found = {node.equivalenceClass, graph.callsOf(node)};
  for (unsigned value : node.slots)
    llvm::append_values(found, bytes[value], partialKinds[value],
                        pendingKinds[value]);
  for (unsigned value : node.results)
    found.push_back(bytes[value]);
  found.push_back(readsData[number]);
  for (const std::optional<Decision> &made : decided.of[number]) {
    found.push_back(made.has_value());
    if (!made)
      continue;
    const Choice &choice = made->choice;
    llvm::append_values(found, static_cast<int64_t>(choice.kind), choice.factor,
                        static_cast<int64_t>(choice.reduction),
                        choice.slots.size());
    llvm::append_range(found, choice.slots);
    found.push_back(choice.segments.size());
    llvm::append_range(found, choice.segments);
  }
  return found;
}

void AxisModelBuilder::addOp(unsigned number) {
  const Node &node = graph.nodes[number];
  SharedList<OpChoice> &choices = model.problem.ops[number].choices;
  auto [at, isNew] = known.try_emplace(surroundingsOf(number));
  KnownOp &op = at->second;
  if (isNew) {
    for (const Choice &choice : node.rule.legalChoices(part, graph.mesh()))
      if (!leavesRanksIdle(number, choice))
        add(number, choice);
    op.choices = choices;
    op.decisions = model.decisions[number];
    for (unsigned value : node.results)
      op.kinds.push_back({partialKinds[value], pendingKinds[value]});
    return;
  }
  choices = op.choices;
  model.decisions[number] = op.decisions;
  for (auto [value, kinds] : llvm::zip_equal(node.results, op.kinds))
    std::tie(partialKinds[value], pendingKinds[value]) = kinds;
}
