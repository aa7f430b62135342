//===- AxisProblem.cpp - layouts of a program on one axis -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/AxisProblem.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"
#include <map>

using namespace tp;

namespace {
/// One operand of one op.
struct Use {
  unsigned op = 0;
  unsigned slot = 0;
};

/// Where every value is made and used.
struct DefUses {
  explicit DefUses(const AxisProblem &problem)
      : makers(problem.values.size()), uses(problem.values.size()) {
    for (auto [op, node] : llvm::enumerate(problem.ops)) {
      for (auto [result, value] : llvm::enumerate(node.results))
        makers[value] = {static_cast<unsigned>(op),
                         static_cast<unsigned>(result)};
      for (auto [slot, value] : llvm::enumerate(node.slots))
        uses[value].push_back(
            {static_cast<unsigned>(op), static_cast<unsigned>(slot)});
    }
  }
  /// `slot` of a maker is the number of the result.
  std::vector<Use> makers;
  std::vector<std::vector<Use>> uses;
};

/// Numbers lists of states and needs, each once.
class StateLists {
public:
  unsigned add(const std::vector<Requirement> &needs) {
    std::vector<unsigned> list;
    for (const Requirement &need : needs)
      list.push_back(add(need));
    return lists.try_emplace(std::move(list), lists.size()).first->second;
  }

private:
  unsigned add(const Requirement &need) {
    const Placement &placement = need.state.placement;
    return states
        .try_emplace({placement.kind, placement.dim, placement.unit,
                      placement.segments, placement.reduction,
                      need.state.pending, need.mayCommunicate},
                     states.size())
        .first->second;
  }
  std::map<std::tuple<PlacementKind, int64_t, int64_t, std::vector<int64_t>,
                      ReductionKind, bool, bool>,
           unsigned>
      states;
  std::map<std::vector<unsigned>, unsigned> lists;
};

/// The materializations of a value that several ops use, and for each its cost,
/// a table with the choices of the maker and one with those of each use.
struct MaterializationVariable {
  std::vector<MaterializedLayouts> materializations;
  std::vector<Cost> costs;
  unsigned agrees = 0;
  std::vector<unsigned> met;
};

/// The program as an assignment problem: a variable per op, and one per value
/// that is used by several ops and is not replicated for certain.
class Formulation {
public:
  explicit Formulation(const AxisProblem &problem);
  AxisSolution solution(const AssignmentLimits &limits) const;

private:
  void addValue(unsigned value);
  void addTied(const TiedOps &ops);
  void chargeUsesOfReplicated(unsigned value);
  void relateMakerAndUser(unsigned value);
  void addSupplyVariable(unsigned value);
  Cost materializationFor(unsigned value, const AxisState &made,
                          unsigned choice,
                          MaterializedLayouts *best = nullptr) const;
  std::vector<Requirement> needsOf(unsigned value) const;
  MaterializationVariable materializationVariable(unsigned value);
  /// All that the costs of supplying the value depend on.
  std::vector<int64_t> surroundingsOf(unsigned value);

  const AxisProblem &problem;
  DefUses defUses;
  AssignmentProblem encoded;
  StateLists lists;
  /// By op: what its choices make of every result, and need of every slot, as
  /// numbers of lists.
  std::vector<llvm::SmallVector<unsigned, 4>> made, needed;
  /// By surroundings: values that are alike, as in layers that do the same, are
  /// looked at once.
  std::map<std::vector<int64_t>, unsigned> related;
  std::map<std::vector<int64_t>, MaterializationVariable> variables;
  /// Op variables come first and have the ops' numbers.
  std::vector<unsigned> variableOf;
  std::vector<const std::vector<MaterializedLayouts> *> materializationsOf;
  /// What op each variable belongs to.
  std::vector<unsigned> opOf;
  static constexpr unsigned none = ~0u;
};

/// Does not depend on the order of the conversions.
uint64_t keyOf(const MaterializedLayouts &materialization) {
  uint64_t key = llvm::xxh3_64bits(toString(materialization.made));
  for (const AxisState &converted : materialization.converted)
    key += combineKeys(0, llvm::xxh3_64bits(toString(converted)));
  return key;
}
} // namespace

Formulation::Formulation(const AxisProblem &problem)
    : problem(problem), defUses(problem),
      variableOf(problem.values.size(), none),
      materializationsOf(problem.values.size()) {
  // Ops that share their choices share these numbers.
  llvm::DenseMap<const void *, unsigned> first;
  for (auto [op, node] : llvm::enumerate(problem.ops)) {
    opOf.push_back(op);
    auto [like, isNew] = first.try_emplace(node.choices.identity(), op);
    if (!isNew && !node.choices.empty()) {
      encoded.addVariable(encoded.states[like->second], node.key);
      made.push_back(made[like->second]);
      needed.push_back(needed[like->second]);
      continue;
    }
    std::vector<Cost> costs;
    for (const OpChoice &choice : node.choices)
      costs.push_back(choice.cost);
    encoded.addVariable(std::move(costs), node.key);
    auto number = [&](auto &numbers, size_t count, auto needOf) {
      for (size_t i = 0; i < count; ++i) {
        std::vector<Requirement> list;
        for (const OpChoice &choice : node.choices)
          list.push_back(needOf(choice, i));
        numbers.push_back(lists.add(list));
      }
    };
    number(made.emplace_back(), node.results.size(),
           [](const OpChoice &choice, size_t i) {
             return Requirement{choice.makes[i]};
           });
    number(needed.emplace_back(), node.slots.size(),
           [](const OpChoice &choice, size_t i) { return choice.needs[i]; });
  }
  for (unsigned value = 0; value < problem.values.size(); ++value)
    addValue(value);
  for (const TiedOps &ops : problem.tied)
    addTied(ops);
}

static const Placement &placementOf(const OpChoice &choice) {
  return choice.makes.empty() ? choice.needs.front().state.placement
                              : choice.makes.front().placement;
}

void Formulation::addTied(const TiedOps &ops) {
  std::vector<Cost> costs;
  for (const OpChoice &first : problem.ops[ops.first].choices)
    for (const OpChoice &second : problem.ops[ops.second].choices)
      costs.push_back(placementOf(first) == placementOf(second)
                          ? Cost()
                          : Cost::infinite());
  encoded.addPair(ops.first, ops.second, std::move(costs));
}

void Formulation::addValue(unsigned value) {
  const std::vector<Use> &uses = defUses.uses[value];
  if (uses.empty())
    return;
  const Use &maker = defUses.makers[value];
  const AxisOp &op = problem.ops[maker.op];
  if (op.choices.size() == 1 && problem.values[value].shardedByMinor.empty() &&
      op.choices.front().makes[maker.slot] == AxisState::replicate())
    return chargeUsesOfReplicated(value);
  if (llvm::all_of(uses,
                   [&](const Use &use) { return use.op == uses.front().op; }))
    return relateMakerAndUser(value);
  addSupplyVariable(value);
}

void Formulation::chargeUsesOfReplicated(unsigned value) {
  MaterializedLayouts materialization = {AxisState::replicate(), {}};
  encoded.states[defUses.makers[value].op].front() +=
      costOfConversions(materialization, problem.values[value], problem.costs);
  for (const Use &use : defUses.uses[value])
    for (auto [i, choice] : llvm::enumerate(problem.ops[use.op].choices))
      encoded.states[use.op][i] +=
          costOfUse(materialization, choice.needs[use.slot],
                    problem.values[value], problem.costs);
}

/// The cheapest way to serve all slots of the one op that uses the value.
Cost Formulation::materializationFor(unsigned value, const AxisState &made,
                                     unsigned choice,
                                     MaterializedLayouts *best) const {
  const std::vector<Use> &uses = defUses.uses[value];
  const OpChoice &user = problem.ops[uses.front().op].choices[choice];
  llvm::SmallVector<Requirement, 2> needs;
  for (const Use &use : uses)
    needs.push_back(user.needs[use.slot]);
  const AxisValue &node = problem.values[value];
  Cost least = Cost::infinite();
  for (MaterializedLayouts &materialization : materializations(
           made, needs, defUses.uses[value].size(), node, problem.costs)) {
    Cost cost = costOfConversions(materialization, node, problem.costs);
    for (const Requirement &need : needs)
      cost += costOfUse(materialization, need, node, problem.costs);
    if (!(cost < least))
      continue;
    least = cost;
    if (best)
      *best = std::move(materialization);
  }
  return least;
}

std::vector<int64_t> Formulation::surroundingsOf(unsigned value) {
  const AxisValue &node = problem.values[value];
  const Use &maker = defUses.makers[value];
  std::vector<int64_t> found = {node.bytes,
                                node.calls,
                                node.collectiveFactor,
                                node.gatherPenalty,
                                llvm::bit_cast<int64_t>(node.bytePrice),
                                node.reducedOver,
                                static_cast<int64_t>(node.reducedBy),
                                made[maker.op][maker.slot]};
  found.push_back(node.forbidden
                      ? lists.add(std::vector{Requirement{{*node.forbidden}}})
                      : -1);
  found.push_back(node.shardedByMinor.size());
  llvm::append_range(found, node.shardedByMinor);
  for (const Use &use : defUses.uses[value])
    found.push_back(needed[use.op][use.slot]);
  return found;
}

void Formulation::relateMakerAndUser(unsigned value) {
  const Use &maker = defUses.makers[value];
  unsigned user = defUses.uses[value].front().op;
  auto [at, isNew] = related.try_emplace(surroundingsOf(value));
  if (isNew) {
    std::vector<Cost> costs;
    for (const OpChoice &choice : problem.ops[maker.op].choices)
      for (unsigned i = 0; i < problem.ops[user].choices.size(); ++i)
        costs.push_back(materializationFor(value, choice.makes[maker.slot], i));
    at->second = encoded.tables.add(std::move(costs));
  }
  encoded.addPair(maker.op, user, at->second);
}

std::vector<Requirement> Formulation::needsOf(unsigned value) const {
  std::vector<Requirement> needs;
  for (const Use &use : defUses.uses[value])
    for (const OpChoice &choice : problem.ops[use.op].choices)
      if (!llvm::is_contained(needs, choice.needs[use.slot]))
        needs.push_back(choice.needs[use.slot]);
  return needs;
}

MaterializationVariable Formulation::materializationVariable(unsigned value) {
  const Use &maker = defUses.makers[value];
  const AxisOp &op = problem.ops[maker.op];
  const AxisValue &node = problem.values[value];
  std::vector<Requirement> needs = needsOf(value);
  MaterializationVariable found;
  std::vector<MaterializedLayouts> &all = found.materializations;
  llvm::SmallVector<AxisState, 4> seen;
  for (const OpChoice &choice : op.choices) {
    const AxisState &made = choice.makes[maker.slot];
    if (llvm::is_contained(seen, made))
      continue;
    seen.push_back(made);
    llvm::append_range(all,
                       materializations(made, needs, defUses.uses[value].size(),
                                        node, problem.costs));
  }

  // Requirements are in the order of the users; of equally good
  // materializations the first wins.
  std::vector<std::pair<uint64_t, size_t>> order;
  for (auto [i, materialization] : llvm::enumerate(all))
    order.push_back({keyOf(materialization), i});
  llvm::sort(order);
  std::vector<MaterializedLayouts> sorted;
  for (auto [key, i] : order)
    sorted.push_back(std::move(all[i]));
  all = std::move(sorted);
  for (const MaterializedLayouts &materialization : all)
    found.costs.push_back(
        costOfConversions(materialization, node, problem.costs));

  std::vector<Cost> agrees;
  for (const OpChoice &choice : op.choices)
    for (const MaterializedLayouts &materialization : all)
      agrees.push_back(materialization.made == choice.makes[maker.slot]
                           ? Cost()
                           : Cost::infinite());
  found.agrees = encoded.tables.add(std::move(agrees));
  for (const Use &use : defUses.uses[value]) {
    std::vector<Cost> met;
    for (const MaterializedLayouts &materialization : all)
      for (const OpChoice &choice : problem.ops[use.op].choices)
        met.push_back(costOfUse(materialization, choice.needs[use.slot], node,
                                problem.costs));
    found.met.push_back(encoded.tables.add(std::move(met)));
  }
  return found;
}

void Formulation::addSupplyVariable(unsigned value) {
  auto [at, isNew] = variables.try_emplace(surroundingsOf(value));
  if (isNew)
    at->second = materializationVariable(value);
  const MaterializationVariable &found = at->second;
  const Use &maker = defUses.makers[value];
  unsigned variable = encoded.addVariable(
      found.costs, combineKeys(problem.ops[maker.op].key, maker.slot));
  variableOf[value] = variable;
  materializationsOf[value] = &found.materializations;
  opOf.push_back(maker.op);
  encoded.addPair(maker.op, variable, found.agrees);
  for (auto [use, met] : llvm::zip_equal(defUses.uses[value], found.met))
    encoded.addPair(variable, use.op, met);
}

AxisSolution Formulation::solution(const AssignmentLimits &limits) const {
  AssignmentResult result = solve(encoded, limits);
  AxisSolution solution;
  solution.outcome = result.outcome;
  solution.variables = encoded.states.size();
  solution.coreVariables = result.coreVariables;
  solution.tableEntries = result.tableEntries;
  solution.ascents = result.ascents;
  if (!result.hasAssignment()) {
    solution.op = opOf[result.variable];
    return solution;
  }
  solution.cost = result.cost;
  solution.bound = result.bound;
  solution.choices.assign(result.assignment.begin(),
                          result.assignment.begin() + problem.ops.size());
  for (unsigned value = 0; value < problem.values.size(); ++value) {
    const Use &maker = defUses.makers[value];
    MaterializedLayouts materialization = {
        problem.ops[maker.op]
            .choices[solution.choices[maker.op]]
            .makes[maker.slot],
        {}};
    if (variableOf[value] != none)
      materialization =
          (*materializationsOf[value])[result.assignment[variableOf[value]]];
    else if (!defUses.uses[value].empty() &&
             (!materialization.made.placement.isReplicate() ||
              !problem.values[value].shardedByMinor.empty()))
      materializationFor(value, AxisState(materialization.made),
                         solution.choices[defUses.uses[value].front().op],
                         &materialization);
    solution.materializations.push_back(std::move(materialization));
  }
  return solution;
}

Cost AxisProblem::costOf(const std::vector<unsigned> &choices) const {
  Cost sum;
  for (auto [op, choice] : llvm::zip(ops, choices))
    sum += op.choices[choice].cost;
  for (const TiedOps &both : tied)
    if (!(placementOf(ops[both.first].choices[choices[both.first]]) ==
          placementOf(ops[both.second].choices[choices[both.second]])))
      return Cost::infinite();
  DefUses defUses(*this);
  for (auto [value, node] : llvm::enumerate(values)) {
    if (defUses.uses[value].empty())
      continue;
    const Use &maker = defUses.makers[value];
    std::vector<Requirement> needs;
    for (const Use &use : defUses.uses[value])
      needs.push_back(ops[use.op].choices[choices[use.op]].needs[use.slot]);
    Cost least = Cost::infinite();
    for (const MaterializedLayouts &materialization : materializations(
             ops[maker.op].choices[choices[maker.op]].makes[maker.slot], needs,
             needs.size(), node, costs)) {
      Cost cost = costOfConversions(materialization, node, costs);
      for (const Requirement &need : needs)
        cost += costOfUse(materialization, need, node, costs);
      least = std::min(least, cost);
    }
    sum += least;
  }
  return sum;
}

AxisSolution tp::solve(const AxisProblem &problem,
                       const AssignmentLimits &limits) {
  return Formulation(problem).solution(limits);
}
