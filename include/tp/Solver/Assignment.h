//===- Assignment.h - exact minimum-cost assignment -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables with finitely many states, a cost for every state and for every
// pair of states of related variables: the assignment with the smallest sum.
// Knows nothing of layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SOLVER_ASSIGNMENT_H
#define TP_SOLVER_ASSIGNMENT_H

#include "tp/Solver/SaturatedCost.h"
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

namespace tp {

/// Never negative; the primary cost is compared first. Sums saturate; an
/// infinite cost forbids.
struct Cost {
  int64_t primary = 0;
  int64_t secondary = 0;

  static constexpr Cost infinite() { return {saturatedCost, 0}; }
  bool isInfinite() const { return primary >= saturatedCost; }
  Cost &operator+=(const Cost &other) {
    primary += other.primary;
    if (primary >= saturatedCost)
      return *this = infinite();
    secondary = saturatingAdd(secondary, other.secondary);
    return *this;
  }
  friend Cost operator+(Cost a, const Cost &b) { return a += b; }
  Cost times(int64_t count) const {
    if (count == 1 || isInfinite())
      return *this;
    double factor = static_cast<double>(count);
    return {saturatingRound(static_cast<double>(primary) * factor),
            saturatingRound(static_cast<double>(secondary) * factor)};
  }
  auto operator<=>(const Cost &) const = default;
};

/// Hashes two keys into one, equally on every host and in every run.
uint64_t combineKeys(uint64_t a, uint64_t b);

/// Lists of costs, each kept once.
class CostTables {
public:
  /// The number of the table with these costs.
  unsigned add(std::vector<Cost> costs);
  const std::vector<Cost> &operator[](unsigned table) const {
    return tables[table];
  }
  size_t size() const { return tables.size(); }
  /// A hash of the costs. It does not depend on the other tables, as a table's
  /// number does.
  uint64_t hash(unsigned table) const { return hashes[table]; }

private:
  std::deque<std::vector<Cost>> tables;
  std::vector<uint64_t> hashes;
  std::unordered_multimap<uint64_t, unsigned> numbers;
};

struct AssignmentProblem {
  /// What two variables' states cost together; entry `i * n + j` of the table
  /// is for state i of `first` and state j of `second`, which has n states.
  struct Pair {
    unsigned first = 0, second = 0;
    /// In `tables`.
    unsigned table = 0;
  };

  /// One vector per variable: a cost per state.
  std::vector<std::vector<Cost>> states;
  /// One per variable. They break ties: as long as keys differ, which of
  /// several optimal assignments is found depends on costs, states and keys,
  /// not on the order of variables.
  std::vector<uint64_t> keys;
  /// Several pairs of the same variables add up.
  std::vector<Pair> pairs;
  /// Each distinct table is stored once, so that equal parts of a problem are
  /// solved once.
  CostTables tables;

  /// The number of the new variable.
  unsigned addVariable(std::vector<Cost> costs, uint64_t key = 0);
  void addPair(unsigned first, unsigned second, std::vector<Cost> costs);
  void addPair(unsigned first, unsigned second, unsigned table);
  uint64_t key(unsigned variable) const {
    return variable < keys.size() ? keys[variable] : 0;
  }
  const std::vector<Cost> &costs(const Pair &pair) const {
    return tables[pair.table];
  }
  /// The cost of a whole assignment.
  Cost costOf(const std::vector<unsigned> &assignment) const;
};

struct AssignmentLimits {
  /// Bytes of the tables that elimination may hold at a time, and additions it
  /// may do, before bounds are asked for help.
  double easyBytes = double(1 << 26);
  double easyWork = double(1 << 26);
  /// The same where bounds do not help.
  double bytes = double(1 << 30);
  double work = double(int64_t(1) << 35);
};

struct AssignmentResult {
  enum class Outcome {
    Optimal,
    /// The best assignment that was found; none costs less than `bound`.
    Feasible,
    /// Every assignment is infinite. `variable` is one that has no possible
    /// state.
    Infeasible,
    /// The search gave up without an assignment; there may be one. Eliminating
    /// `variable` would need tables of `tableEntries` entries.
    TooLarge
  };
  Outcome outcome = Outcome::Optimal;
  Cost cost;
  /// Feasible: the least that any assignment can cost.
  Cost bound;
  /// A state per variable.
  std::vector<unsigned> assignment;
  unsigned variable = 0;
  /// The largest table that was made.
  double tableEntries = 0;
  /// Variables left after pruning, and additions done by elimination.
  size_t coreVariables = 0;
  double work = 0;
  /// Passes of the dual ascent; none where elimination alone was enough.
  unsigned ascents = 0;

  bool hasAssignment() const {
    return outcome == Outcome::Optimal || outcome == Outcome::Feasible;
  }
};

/// Prunes (arc consistency; dominated states), then eliminates variables one by
/// one in the better of several orders. If that exceeds the limits, a lower
/// bound (DualAscent.h) rules out states that no optimum contains, and
/// elimination runs on the rest. Of equally good states the first wins.
AssignmentResult solve(const AssignmentProblem &problem,
                       const AssignmentLimits &limits = {});

} // namespace tp

#endif // TP_SOLVER_ASSIGNMENT_H
