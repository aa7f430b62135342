//===- NextBest.cpp - what else could be done -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CollectiveCauses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::propagate;

/// Beyond what any op takes in picoseconds.
static constexpr int64_t changedOp = 1'000'000'000;

/// The value and what pins make of it: one value to the user.
static llvm::SetVector<unsigned> acrossPins(const AssignmentGraph &graph,
                                            unsigned value) {
  llvm::SetVector<unsigned> same;
  same.insert(value);
  for (size_t i = 0; i < same.size(); ++i)
    for (const Node &node : graph.nodes)
      if (node.kind == Node::Kind::Constrain &&
          (node.slots.front() == same[i] || node.results.front() == same[i])) {
        same.insert(node.slots.front());
        same.insert(node.results.front());
      }
  return same;
}

/// Picoseconds of computing, where `layouts` are solved so.
static int64_t computingOf(const AxisProblem &problem,
                           const AxisSolution &solution) {
  bool isSecondary = problem.costs.objective == Objective::Communication;
  int64_t time = 0;
  for (auto [op, choice] : llvm::zip(problem.ops, solution.choices)) {
    const Cost &cost = op.choices[choice].cost;
    time = saturatingAdd(time, isSecondary ? cost.secondary : cost.primary);
  }
  return time;
}

/// Adds what `solved` has to `best`, times `sign`.
static void account(NextBest &best, const AssignmentGraph &graph,
                    const PartSolution &solved, int sign) {
  best.picoseconds += sign * computingOf(solved.model.problem, solved.solution);
  for (const CostedCollective &collective : costedCollectives(graph, solved)) {
    best.picoseconds += sign * collective.times * collective.picoseconds;
    best.ringBytes += sign * collective.times * collective.ringBytes;
    (sign > 0 ? best.added : best.removed).push_back(collective);
  }
}

static bool isSame(const CostedCollective &a, const CostedCollective &b) {
  return a.part == b.part && a.made.value == b.made.value &&
         a.made.kind == b.made.kind &&
         a.made.from.placement == b.made.from.placement &&
         a.made.to.placement == b.made.to.placement &&
         a.ringBytes == b.ringBytes;
}

/// Takes what is in both lists out of both.
static void cancel(NextBest &best) {
  std::vector<CostedCollective> added;
  for (const CostedCollective &collective : best.added) {
    auto it = llvm::find_if(best.removed, [&](const CostedCollective &other) {
      return isSame(collective, other);
    });
    if (it == best.removed.end())
      added.push_back(collective);
    else
      best.removed.erase(it);
  }
  best.added = std::move(added);
}

/// Of choices that send equally many bytes those that do the fewest ops
/// otherwise than `solution` are to be found: what is shown is what has to
/// change. (Under the objective `time`, of those that take equally long.)
static void prefer(AxisProblem &problem, const AxisSolution &solution) {
  for (auto [op, kept] : llvm::zip(problem.ops, solution.choices)) {
    SharedList<OpChoice> choices;
    for (auto [number, choice] : llvm::enumerate(op.choices)) {
      choices.push_back(choice);
      if (number != kept)
        choices.back().cost += Cost{0, changedOp};
    }
    op.choices = std::move(choices);
  }
}

static void decide(Decisions &decisions, const PartSolution &solved) {
  for (auto [node, made] : llvm::enumerate(decisions.of))
    made[solved.part] =
        solved.model.decisions[node][solved.solution.choices[node]];
}

NextBest propagate::nextBest(const AssignmentGraph &graph,
                             ArrayRef<PartSolution> solved, size_t at,
                             const Cause &cause,
                             const AssignmentOptions &options,
                             const AssignmentLimits &limits) {
  NextBest best;
  Decisions decisions(graph);
  for (auto [part, axis] : llvm::enumerate(graph.parts))
    if (axis.size == 1)
      for (auto &made : decisions.of)
        made[part] = Decision();
  for (const PartSolution &before : solved.take_front(at))
    decide(decisions, before);

  for (size_t i = at; i < solved.size(); ++i) {
    PartSolution other;
    other.part = solved[i].part;
    if (i == at) {
      other.model = solved[i].model;
      for (unsigned value : acrossPins(graph, cause.collective.made.value))
        other.model.problem.values[value].forbidden =
            cause.collective.made.to.placement;
      prefer(other.model.problem, solved[i].solution);
    } else {
      other.model = buildAxisModel(graph, other.part, decisions, options);
    }
    other.solution = tp::solve(other.model.problem, limits);
    if (other.solution.outcome != AssignmentResult::Outcome::Optimal) {
      NextBest none;
      none.outcome =
          other.solution.outcome == AssignmentResult::Outcome::Infeasible
              ? NextBest::Outcome::None
              : NextBest::Outcome::TooLarge;
      return none;
    }
    decide(decisions, other);
    if (i == at)
      for (auto [op, exact] :
           llvm::zip(other.model.problem.ops, solved[i].model.problem.ops))
        op.choices = exact.choices;
    account(best, graph, solved[i], -1);
    account(best, graph, other, 1);
  }
  cancel(best);
  best.outcome = NextBest::Outcome::Found;
  return best;
}
