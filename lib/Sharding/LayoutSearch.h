//===- LayoutSearch.h - the cheapest way between layouts --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An A* search for the cheapest path. Layouts are expanded in the order of the
// cost to them plus a lower bound of the remaining cost.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_SHARDING_LAYOUTSEARCH_H
#define TP_LIB_SHARDING_LAYOUTSEARCH_H

#include "LayoutMoves.h"
#include "tp/Sharding/RedistributionPath.h"
#include <queue>

namespace tp {

/// A lower bound of the cost of any path from a layout to `target`:
///
/// - A rank receives in a collective no more than it sends. So it sends at
///   least the bytes that it needs and does not have: on average over all ranks
///   (the difference of the buffers' sizes), and for each sample rank.
/// - If a value is partial over n ranks and replicated over m, a rank sends (1
///   - 1/n) / m of its buffer to reduce it, and then has 1 / (n m) of it.
/// - There is one collective per kind that has to be reduced, and at least one
///   if anything is sent.
class CostBound {
public:
  CostBound(AxisChains &chains, int64_t elementBytes,
            const CanonicalLayout &target);

  /// Bytes and charges for collectives, as `Cost::primary` counts them.
  int64_t operator()(const CanonicalLayout &from) const;

private:
  /// The number of ranks over which the value is partial but the target is not.
  double ranksToReduce(const CanonicalLayout &from, size_t &kinds) const;
  double missingOnSamples(const CanonicalLayout &from) const;
  double average(const CanonicalLayout &at) const;

  AxisChains &chains;
  const Mesh &mesh;
  double elements = 1, elementBytes;
  CanonicalLayout target;
  /// The sample ranks that hold no identity of a partial value in the target.
  std::vector<size_t> samples;
};

class LayoutSearch {
public:
  LayoutSearch(const Mesh &mesh, llvm::ArrayRef<int64_t> shape,
               int64_t elementBytes, const Layout &from, const Layout &to,
               bool cutsAnywhere);

  /// A lower bound of the cost of a path.
  int64_t bound() const { return costBound(start); }
  /// The steps of the cheapest path, if it costs less than `cost`, or the same
  /// with fewer than `steps` steps; else none. If the search stops early, those
  /// of the cheapest path found.
  std::vector<LayoutStep> cheaperThan(const Cost &cost, size_t steps,
                                      PathSearchStats &stats);

private:
  struct ReachedLayout {
    Move move;
    Cost cost;
    size_t steps = 0;
    int64_t bound = 0;
    std::optional<size_t> previous;
    bool isExpanded = false;
  };
  /// The priority: least cost, then fewest steps, then reached first.
  using Rank = std::tuple<int64_t, int64_t, size_t, size_t>;

  void reach(const Move &move, std::optional<size_t> previous);
  Rank rankOf(size_t at) const;
  std::vector<LayoutStep> stepsTo(size_t at);
  /// The layout before `move`, written so that `move` can be made.
  Layout writtenFor(const CanonicalLayout &at, const Move &move,
                    std::map<int64_t, ChainForm> forms = {});
  LayoutStep stepOf(const Move &move) const;
  bool isLegal(const Layout &from, LayoutStep &step);
  bool findSources(const Layout &from, LayoutStep &step);

  const Mesh &mesh;
  llvm::ArrayRef<int64_t> shape;
  const Layout &from, &to;
  AxisChains chains;
  LayoutMoves moves;
  CanonicalLayout start, target;
  CostBound costBound;

  std::vector<ReachedLayout> reached;
  std::map<CanonicalLayout, size_t> numbers;
  std::priority_queue<Rank, std::vector<Rank>, std::greater<>> open;
  Cost limit;
  size_t limitSteps = 0;
};

} // namespace tp

#endif // TP_LIB_SHARDING_LAYOUTSEARCH_H
