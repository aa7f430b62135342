//===- Assignment.h - exact minimum-cost assignment -------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Variables with finitely many states, a cost for every state and for every
// pair of states of related variables: the assignment with the smallest sum,
// exactly. Knows nothing of layouts.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SUPPORT_ASSIGNMENT_H
#define TP_SUPPORT_ASSIGNMENT_H

#include "tp/Support/RingCost.h"
#include <compare>
#include <cstddef>
#include <cstdint>
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
  auto operator<=>(const Cost &) const = default;
};

struct AssignmentProblem {
  /// The costs of two variables' states together; entry `i * n + j` is that of
  /// state i of `first` and state j of `second`, which has n states.
  struct Pair {
    unsigned first = 0, second = 0;
    std::vector<Cost> costs;
  };

  /// One vector per variable: a cost per state.
  std::vector<std::vector<Cost>> states;
  /// One per variable. Of several optimal assignments which one is found
  /// depends on costs, states and keys only, not on the variables' numbers, as
  /// long as keys differ.
  std::vector<uint64_t> keys;
  /// Several pairs of the same variables add up.
  std::vector<Pair> pairs;

  /// The number of the new variable.
  unsigned addVariable(std::vector<Cost> costs, uint64_t key = 0);
  void addPair(unsigned first, unsigned second, std::vector<Cost> costs);
  uint64_t key(unsigned variable) const {
    return variable < keys.size() ? keys[variable] : 0;
  }
  /// The cost of a whole assignment.
  Cost costOf(const std::vector<unsigned> &assignment) const;
};

struct AssignmentResult {
  enum class Outcome {
    Optimal,
    /// Every assignment is infinite. `variable` is one whose states all
    /// turned out impossible.
    Infeasible,
    /// A table would have more than the largest number of entries allowed:
    /// `tableEntries`, when eliminating `variable`.
    TooLarge
  };
  Outcome outcome = Outcome::Optimal;
  Cost cost;
  /// A state per variable.
  std::vector<unsigned> assignment;
  unsigned variable = 0;
  double tableEntries = 0;
  /// Variables left after pruning, and additions done by elimination.
  size_t coreVariables = 0;
  double work = 0;
};

struct AssignmentLimits {
  /// Entries of the largest table that elimination may make.
  double tableEntries = double(1 << 22);
};

/// Prunes (arc consistency; states no better than another one whatever the
/// neighbours do), then eliminates variables one by one, always the one that
/// makes the smallest table. Of equally good states the first one is taken.
AssignmentResult solve(const AssignmentProblem &problem,
                       const AssignmentLimits &limits = {});

namespace detail {
/// The problem without states that cannot matter.
struct PrunedProblem {
  AssignmentProblem core;
  /// What variable of the core each original variable is, and which original
  /// state each of its states is. Variables with a single state left have no
  /// core variable.
  static constexpr unsigned fixed = ~0u;
  std::vector<unsigned> coreVariable;
  std::vector<std::vector<unsigned>> originalStates;
  bool infeasible = false;
  unsigned emptied = 0;
};
PrunedProblem prune(const AssignmentProblem &problem);
AssignmentResult eliminate(const AssignmentProblem &problem,
                           const AssignmentLimits &limits);
} // namespace detail
} // namespace tp

#endif // TP_SUPPORT_ASSIGNMENT_H
