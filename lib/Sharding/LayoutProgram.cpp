//===- LayoutProgram.cpp - layouts of a program on one axis ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/LayoutProgram.h"
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
struct Wiring {
  explicit Wiring(const LayoutProgram &program)
      : makers(program.values.size()), uses(program.values.size()) {
    for (auto [op, node] : llvm::enumerate(program.ops)) {
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
  unsigned add(const std::vector<Need> &needs) {
    std::vector<unsigned> list;
    for (const Need &need : needs)
      list.push_back(add(need));
    return lists.try_emplace(std::move(list), lists.size()).first->second;
  }

private:
  unsigned add(const Need &need) {
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

/// The ways to supply a value that several ops use, and what goes with each: a
/// cost, a table with the choices of the maker and one with those of each use.
struct SupplyVariable {
  std::vector<Supply> supplies;
  std::vector<Cost> costs;
  unsigned agrees = 0;
  std::vector<unsigned> met;
};

/// The program as an assignment problem: a variable per op, and one per value
/// that is used by several ops and is not replicated for certain.
class Formulation {
public:
  explicit Formulation(const LayoutProgram &program);
  ProgramSolution solution(const AssignmentLimits &limits) const;

private:
  void addValue(unsigned value);
  void addAlike(const AlikeOps &ops);
  void chargeUsesOfReplicated(unsigned value);
  void relateMakerAndUser(unsigned value);
  void addSupplyVariable(unsigned value);
  Cost supplyFor(unsigned value, const AxisState &made, unsigned choice,
                 Supply *best = nullptr) const;
  std::vector<Need> needsOf(unsigned value) const;
  SupplyVariable supplyVariable(unsigned value);
  /// All that the costs of supplying the value depend on.
  std::vector<int64_t> surroundingsOf(unsigned value);

  const LayoutProgram &program;
  Wiring wiring;
  AssignmentProblem problem;
  StateLists lists;
  /// By op: what its choices make of every result, and need of every slot, as
  /// numbers of lists.
  std::vector<llvm::SmallVector<unsigned, 4>> made, needed;
  /// By surroundings: values that are alike, as in layers that do the same, are
  /// looked at once.
  std::map<std::vector<int64_t>, unsigned> related;
  std::map<std::vector<int64_t>, SupplyVariable> variables;
  /// Op variables come first and have the ops' numbers.
  std::vector<unsigned> variableOf;
  std::vector<const std::vector<Supply> *> suppliesOf;
  /// What op each variable belongs to.
  std::vector<unsigned> opOf;
  static constexpr unsigned none = ~0u;
};

/// Does not depend on the order of the extras.
uint64_t keyOf(const Supply &supply) {
  uint64_t key = llvm::xxh3_64bits(toString(supply.made));
  for (const AxisState &extra : supply.extra)
    key += combineKeys(0, llvm::xxh3_64bits(toString(extra)));
  return key;
}
} // namespace

Formulation::Formulation(const LayoutProgram &program)
    : program(program), wiring(program),
      variableOf(program.values.size(), none),
      suppliesOf(program.values.size()) {
  // Ops that share their choices share these numbers.
  llvm::DenseMap<const void *, unsigned> first;
  for (auto [op, node] : llvm::enumerate(program.ops)) {
    opOf.push_back(op);
    auto [like, isNew] = first.try_emplace(node.choices.identity(), op);
    if (!isNew && !node.choices.empty()) {
      problem.addVariable(problem.states[like->second], node.key);
      made.push_back(made[like->second]);
      needed.push_back(needed[like->second]);
      continue;
    }
    std::vector<Cost> costs;
    for (const OpChoice &choice : node.choices)
      costs.push_back(choice.cost);
    problem.addVariable(std::move(costs), node.key);
    auto number = [&](auto &numbers, size_t count, auto needOf) {
      for (size_t i = 0; i < count; ++i) {
        std::vector<Need> list;
        for (const OpChoice &choice : node.choices)
          list.push_back(needOf(choice, i));
        numbers.push_back(lists.add(list));
      }
    };
    number(
        made.emplace_back(), node.results.size(),
        [](const OpChoice &choice, size_t i) { return Need{choice.makes[i]}; });
    number(needed.emplace_back(), node.slots.size(),
           [](const OpChoice &choice, size_t i) { return choice.needs[i]; });
  }
  for (unsigned value = 0; value < program.values.size(); ++value)
    addValue(value);
  for (const AlikeOps &ops : program.alike)
    addAlike(ops);
}

static const Placement &placementOf(const OpChoice &choice) {
  return choice.makes.empty() ? choice.needs.front().state.placement
                              : choice.makes.front().placement;
}

void Formulation::addAlike(const AlikeOps &ops) {
  std::vector<Cost> costs;
  for (const OpChoice &first : program.ops[ops.first].choices)
    for (const OpChoice &second : program.ops[ops.second].choices)
      costs.push_back(placementOf(first) == placementOf(second)
                          ? Cost()
                          : Cost::infinite());
  problem.addPair(ops.first, ops.second, std::move(costs));
}

void Formulation::addValue(unsigned value) {
  const std::vector<Use> &uses = wiring.uses[value];
  if (uses.empty())
    return;
  const Use &maker = wiring.makers[value];
  const ProgramOp &op = program.ops[maker.op];
  if (op.choices.size() == 1 && program.values[value].shardedByMinor.empty() &&
      op.choices.front().makes[maker.slot] == AxisState::replicate())
    return chargeUsesOfReplicated(value);
  if (llvm::all_of(uses,
                   [&](const Use &use) { return use.op == uses.front().op; }))
    return relateMakerAndUser(value);
  addSupplyVariable(value);
}

void Formulation::chargeUsesOfReplicated(unsigned value) {
  Supply supply = {AxisState::replicate(), {}};
  problem.states[wiring.makers[value].op].front() +=
      costOfExtras(supply, program.values[value], program.costs);
  for (const Use &use : wiring.uses[value])
    for (auto [i, choice] : llvm::enumerate(program.ops[use.op].choices))
      problem.states[use.op][i] += costOfUse(
          supply, choice.needs[use.slot], program.values[value], program.costs);
}

/// The cheapest way to serve all slots of the one op that uses the value.
Cost Formulation::supplyFor(unsigned value, const AxisState &made,
                            unsigned choice, Supply *best) const {
  const std::vector<Use> &uses = wiring.uses[value];
  const OpChoice &user = program.ops[uses.front().op].choices[choice];
  llvm::SmallVector<Need, 2> needs;
  for (const Use &use : uses)
    needs.push_back(user.needs[use.slot]);
  const ProgramValue &node = program.values[value];
  Cost least = Cost::infinite();
  for (Supply &supply :
       supplies(made, needs, wiring.uses[value].size(), node, program.costs)) {
    Cost cost = costOfExtras(supply, node, program.costs);
    for (const Need &need : needs)
      cost += costOfUse(supply, need, node, program.costs);
    if (!(cost < least))
      continue;
    least = cost;
    if (best)
      *best = std::move(supply);
  }
  return least;
}

std::vector<int64_t> Formulation::surroundingsOf(unsigned value) {
  const ProgramValue &node = program.values[value];
  const Use &maker = wiring.makers[value];
  std::vector<int64_t> found = {node.bytes,
                                node.collectiveFactor,
                                node.gatherCharge,
                                llvm::bit_cast<int64_t>(node.bytePrice),
                                node.reducedOver,
                                static_cast<int64_t>(node.reducedBy),
                                made[maker.op][maker.slot]};
  found.push_back(
      node.forbidden ? lists.add(std::vector{Need{{*node.forbidden}}}) : -1);
  found.push_back(node.shardedByMinor.size());
  llvm::append_range(found, node.shardedByMinor);
  for (const Use &use : wiring.uses[value])
    found.push_back(needed[use.op][use.slot]);
  return found;
}

void Formulation::relateMakerAndUser(unsigned value) {
  const Use &maker = wiring.makers[value];
  unsigned user = wiring.uses[value].front().op;
  auto [at, isNew] = related.try_emplace(surroundingsOf(value));
  if (isNew) {
    std::vector<Cost> costs;
    for (const OpChoice &choice : program.ops[maker.op].choices)
      for (unsigned i = 0; i < program.ops[user].choices.size(); ++i)
        costs.push_back(supplyFor(value, choice.makes[maker.slot], i));
    at->second = problem.tables.add(std::move(costs));
  }
  problem.addPair(maker.op, user, at->second);
}

std::vector<Need> Formulation::needsOf(unsigned value) const {
  std::vector<Need> needs;
  for (const Use &use : wiring.uses[value])
    for (const OpChoice &choice : program.ops[use.op].choices)
      if (!llvm::is_contained(needs, choice.needs[use.slot]))
        needs.push_back(choice.needs[use.slot]);
  return needs;
}

SupplyVariable Formulation::supplyVariable(unsigned value) {
  const Use &maker = wiring.makers[value];
  const ProgramOp &op = program.ops[maker.op];
  const ProgramValue &node = program.values[value];
  std::vector<Need> needs = needsOf(value);
  SupplyVariable found;
  std::vector<Supply> &all = found.supplies;
  llvm::SmallVector<AxisState, 4> seen;
  for (const OpChoice &choice : op.choices) {
    const AxisState &made = choice.makes[maker.slot];
    if (llvm::is_contained(seen, made))
      continue;
    seen.push_back(made);
    llvm::append_range(all, supplies(made, needs, wiring.uses[value].size(),
                                     node, program.costs));
  }

  // Needs are listed as users stand in the program; of equally good supplies
  // the first is taken.
  std::vector<std::pair<uint64_t, size_t>> order;
  for (auto [i, supply] : llvm::enumerate(all))
    order.push_back({keyOf(supply), i});
  llvm::sort(order);
  std::vector<Supply> sorted;
  for (auto [key, i] : order)
    sorted.push_back(std::move(all[i]));
  all = std::move(sorted);
  for (const Supply &supply : all)
    found.costs.push_back(costOfExtras(supply, node, program.costs));

  std::vector<Cost> agrees;
  for (const OpChoice &choice : op.choices)
    for (const Supply &supply : all)
      agrees.push_back(
          supply.made == choice.makes[maker.slot] ? Cost() : Cost::infinite());
  found.agrees = problem.tables.add(std::move(agrees));
  for (const Use &use : wiring.uses[value]) {
    std::vector<Cost> met;
    for (const Supply &supply : all)
      for (const OpChoice &choice : program.ops[use.op].choices)
        met.push_back(
            costOfUse(supply, choice.needs[use.slot], node, program.costs));
    found.met.push_back(problem.tables.add(std::move(met)));
  }
  return found;
}

void Formulation::addSupplyVariable(unsigned value) {
  auto [at, isNew] = variables.try_emplace(surroundingsOf(value));
  if (isNew)
    at->second = supplyVariable(value);
  const SupplyVariable &found = at->second;
  const Use &maker = wiring.makers[value];
  unsigned variable = problem.addVariable(
      found.costs, combineKeys(program.ops[maker.op].key, maker.slot));
  variableOf[value] = variable;
  suppliesOf[value] = &found.supplies;
  opOf.push_back(maker.op);
  problem.addPair(maker.op, variable, found.agrees);
  for (auto [use, met] : llvm::zip_equal(wiring.uses[value], found.met))
    problem.addPair(variable, use.op, met);
}

ProgramSolution Formulation::solution(const AssignmentLimits &limits) const {
  AssignmentResult result = solve(problem, limits);
  ProgramSolution solution;
  solution.outcome = result.outcome;
  solution.variables = problem.states.size();
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
                          result.assignment.begin() + program.ops.size());
  for (unsigned value = 0; value < program.values.size(); ++value) {
    const Use &maker = wiring.makers[value];
    Supply supply = {program.ops[maker.op]
                         .choices[solution.choices[maker.op]]
                         .makes[maker.slot],
                     {}};
    if (variableOf[value] != none)
      supply = (*suppliesOf[value])[result.assignment[variableOf[value]]];
    else if (!wiring.uses[value].empty() &&
             (!supply.made.placement.isReplicate() ||
              !program.values[value].shardedByMinor.empty()))
      supplyFor(value, AxisState(supply.made),
                solution.choices[wiring.uses[value].front().op], &supply);
    solution.supplies.push_back(std::move(supply));
  }
  return solution;
}

Cost LayoutProgram::costOf(const std::vector<unsigned> &choices) const {
  Cost sum;
  for (auto [op, choice] : llvm::zip(ops, choices))
    sum += op.choices[choice].cost;
  for (const AlikeOps &both : alike)
    if (!(placementOf(ops[both.first].choices[choices[both.first]]) ==
          placementOf(ops[both.second].choices[choices[both.second]])))
      return Cost::infinite();
  Wiring wiring(*this);
  for (auto [value, node] : llvm::enumerate(values)) {
    if (wiring.uses[value].empty())
      continue;
    const Use &maker = wiring.makers[value];
    std::vector<Need> needs;
    for (const Use &use : wiring.uses[value])
      needs.push_back(ops[use.op].choices[choices[use.op]].needs[use.slot]);
    Cost least = Cost::infinite();
    for (const Supply &supply :
         supplies(ops[maker.op].choices[choices[maker.op]].makes[maker.slot],
                  needs, needs.size(), node, costs)) {
      Cost cost = costOfExtras(supply, node, costs);
      for (const Need &need : needs)
        cost += costOfUse(supply, need, node, costs);
      least = std::min(least, cost);
    }
    sum += least;
  }
  return sum;
}

ProgramSolution tp::solve(const LayoutProgram &program,
                          const AssignmentLimits &limits) {
  return Formulation(program).solution(limits);
}
