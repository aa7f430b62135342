//===- EliminationOrder.cpp - which variable goes first -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elimination is played on the graph before any table is made: how large tables
// become depends on the order only.
//
//===----------------------------------------------------------------------===//

#include "tp/Solver/AssignmentSteps.h"
#include "llvm/ADT/BitVector.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace tp;
using namespace tp::detail;

/// Bytes of one entry of a table, and of the state that was best there.
static constexpr double bytesPerEntry = sizeof(Cost) + sizeof(uint32_t);

namespace {
/// What is taken first.
enum class Preference {
  /// The variable that makes the smallest table.
  SmallestTable,
  /// The one that relates the fewest variables anew, each two weighted by their
  /// joint states; then the smallest table.
  FewestNewPairs
};

class OrderFinder {
public:
  OrderFinder(const AssignmentProblem &core, const std::vector<uint64_t> &like,
              Preference preference);
  EliminationOrder run();

private:
  using Rank = std::tuple<double, double, uint64_t, uint64_t, unsigned>;
  double tableSize(unsigned v) const;
  double newPairs(unsigned v) const;
  Rank rankOf(unsigned v) const {
    double size = tableSize(v);
    bool bySize = preference == Preference::SmallestTable;
    return {bySize ? size : newPairs(v), size, like[v], core.key(v), v};
  }
  double numStates(unsigned v) const {
    return static_cast<double>(core.states[v].size());
  }
  bool areRelated(unsigned v, unsigned w) const {
    return related.empty()
               ? std::binary_search(neighbors[v].begin(), neighbors[v].end(), w)
               : related[v].test(w);
  }
  /// Removes the variable and relates its neighbours.
  void eliminate(unsigned v);

  const AssignmentProblem &core;
  const std::vector<uint64_t> &like;
  Preference preference;
  /// Ascending.
  std::vector<std::vector<unsigned>> neighbors;
  /// The same, where new pairs are counted and that takes little memory.
  std::vector<llvm::BitVector> related;
  EliminationOrder result;
};
} // namespace

OrderFinder::OrderFinder(const AssignmentProblem &core,
                         const std::vector<uint64_t> &like,
                         Preference preference)
    : core(core), like(like), preference(preference),
      neighbors(core.states.size()) {
  for (const AssignmentProblem::Pair &pair : core.pairs) {
    neighbors[pair.first].push_back(pair.second);
    neighbors[pair.second].push_back(pair.first);
  }
  for (std::vector<unsigned> &others : neighbors)
    std::sort(others.begin(), others.end());
  constexpr size_t mostBits = size_t(1) << 26;
  if (preference != Preference::FewestNewPairs ||
      neighbors.size() * neighbors.size() > mostBits)
    return;
  related.resize(neighbors.size(), llvm::BitVector(neighbors.size()));
  for (unsigned v = 0; v < neighbors.size(); ++v)
    for (unsigned other : neighbors[v])
      related[v].set(other);
}

double OrderFinder::tableSize(unsigned v) const {
  double size = 1;
  for (unsigned neighbor : neighbors[v])
    size *= numStates(neighbor);
  return size;
}

double OrderFinder::newPairs(unsigned v) const {
  double sum = 0;
  for (size_t i = 0; i < neighbors[v].size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (unsigned a = neighbors[v][i], b = neighbors[v][j]; !areRelated(a, b))
        sum += numStates(a) * numStates(b);
  return sum;
}

void OrderFinder::eliminate(unsigned v) {
  std::vector<unsigned> others = std::move(neighbors[v]);
  neighbors[v].clear();
  for (unsigned other : others) {
    std::vector<unsigned> merged;
    std::set_union(neighbors[other].begin(), neighbors[other].end(),
                   others.begin(), others.end(), std::back_inserter(merged));
    std::erase_if(merged, [&](unsigned w) { return w == v || w == other; });
    if (!related.empty())
      for (unsigned w : others)
        related[other].set(w);
    neighbors[other] = std::move(merged);
  }
}

EliminationOrder OrderFinder::run() {
  std::set<Rank> queue;
  std::set<std::pair<uint64_t, double>> counted;
  std::vector<Rank> ranks;
  for (unsigned v = 0; v < neighbors.size(); ++v) {
    ranks.push_back(rankOf(v));
    queue.insert(ranks.back());
  }
  while (!queue.empty()) {
    unsigned v = std::get<unsigned>(*queue.begin());
    queue.erase(queue.begin());
    double size = tableSize(v);
    if (size > result.tableEntries || result.variables.empty()) {
      result.tableEntries = size;
      result.largestAt = v;
      result.largestJoin = neighbors[v];
    }
    result.variables.push_back(v);
    // At least the variable's own costs and one table per neighbour; once for
    // all that are likely to be the same join.
    if (counted.insert({like[v], size}).second || size > cachedEntries) {
      result.work += size * numStates(v) *
                     (1 + static_cast<double>(neighbors[v].size()) / 2);
      result.bytes += size * bytesPerEntry;
    }
    std::vector<unsigned> touched = neighbors[v];
    eliminate(v);
    // New pairs are counted among neighbours of neighbours too.
    if (preference == Preference::FewestNewPairs) {
      std::vector<unsigned> all = touched;
      for (unsigned other : touched)
        all.insert(all.end(), neighbors[other].begin(), neighbors[other].end());
      std::sort(all.begin(), all.end());
      all.erase(std::unique(all.begin(), all.end()), all.end());
      touched = std::move(all);
    }
    for (unsigned other : touched) {
      queue.erase(ranks[other]);
      ranks[other] = rankOf(other);
      queue.insert(ranks[other]);
    }
  }
  return std::move(result);
}

std::vector<uint64_t>
detail::neighborhoodHashes(const AssignmentProblem &core) {
  constexpr unsigned radius = 4;
  CostTables unaries;
  std::vector<uint64_t> own, around;
  for (const std::vector<Cost> &costs : core.states)
    own.push_back(unaries.hash(unaries.add(costs)));
  around = own;
  for (unsigned round = 0; round < radius; ++round) {
    std::vector<uint64_t> next = own;
    for (const AssignmentProblem::Pair &pair : core.pairs) {
      uint64_t table = core.tables.hash(pair.table);
      next[pair.first] +=
          combineKeys(combineKeys(table, 1), around[pair.second]);
      next[pair.second] +=
          combineKeys(combineKeys(table, 2), around[pair.first]);
    }
    around = std::move(next);
  }
  return around;
}

EliminationOrder detail::eliminationOrder(const AssignmentProblem &core,
                                          const AssignmentLimits &limits) {
  std::vector<uint64_t> like = neighborhoodHashes(core);
  EliminationOrder first =
      OrderFinder(core, like, Preference::SmallestTable).run();
  if (first.fits(limits.easyBytes, limits.easyWork))
    return first;
  EliminationOrder other =
      OrderFinder(core, like, Preference::FewestNewPairs).run();
  return other.work < first.work ? other : first;
}
