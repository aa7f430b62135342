//===- CheapestPathTest.cpp - no way is cheaper ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cost of the way that is found against that of the shortest path through
// the graph of all layouts (LayoutGraph.h), by Dijkstra's algorithm.
//
// TP_CHEAPEST_PATH_STRIDE=1 in the environment tries all pairs of the families
// that are sampled else (minutes to hours).
//
//===----------------------------------------------------------------------===//

#include "LayoutGraph.h"
#include "tp/Sharding/RedistributionPath.h"
#include <chrono>
#include <cstdlib>

using namespace tp;
using namespace tp::test;

namespace {
int64_t strideOr(int64_t stride) {
  const char *given = std::getenv("TP_CHEAPEST_PATH_STRIDE");
  return given ? std::atoll(given) : stride;
}

struct Tally {
  int64_t pairs = 0, checked = 0, cheaper = 0, searched = 0, executed = 0;
  size_t mostTried = 0, mostExpanded = 0;
  double seconds = 0;
  ~Tally() {
    std::printf(
        "             %lld pairs of layouts, %lld checked, %lld "
        "executed; %lld cheaper than in the fixed order, %lld searched "
        "(at most %zu layouts expanded, %zu parts tried), %.1f us each\n",
        (long long)pairs, (long long)checked, (long long)executed,
        (long long)cheaper, (long long)searched, mostExpanded, mostTried,
        seconds / std::max<int64_t>(checked, 1) * 1e6);
  }
};

/// Every pair of layouts, `stride` apart; every tenth way is executed.
void checkCosts(LayoutGraph &all, Tally &tally, int64_t stride, size_t size) {
  int64_t elementBytes = LayoutGraph::elementBytes[size];
  for (auto [i, from] : llvm::enumerate(all.layouts)) {
    std::map<uint64_t, std::vector<Price>> pricesWith;
    for (auto [j, to] : llvm::enumerate(all.layouts)) {
      if (!all.mayEnd[i] || !all.mayEnd[j] || ++tally.pairs % stride)
        continue;
      uint64_t allowed =
          all.maskOf(all.chunkingsOf(from)) | all.maskOf(all.chunkingsOf(to));
      std::vector<Price> &prices = pricesWith[allowed];
      if (prices.empty())
        prices = all.pricesFrom(all.classes[i], size, allowed);
      PathSearchStats stats;
      auto start = std::chrono::steady_clock::now();
      std::vector<LayoutStep> path = redistributionPath(
          all.mesh, all.shape, elementBytes, from, to, &stats);
      tally.seconds += std::chrono::duration<double>(
                           std::chrono::steady_clock::now() - start)
                           .count();
      ++tally.checked;
      tally.searched += stats.expanded > 0;
      tally.mostTried = std::max(tally.mostTried, stats.partsTried);
      tally.mostExpanded = std::max(tally.mostExpanded, stats.expanded);
      ASSERT_FALSE(stats.stopped) << describe(all.mesh, all.shape, from, to);
      Cost cost = pathCost(all.shape, elementBytes, from, path);
      ASSERT_EQ(Price(cost.primary, cost.secondary), prices[all.classes[j]])
          << describe(all.mesh, all.shape, from, to) << " of " << elementBytes
          << " bytes: " << spelled(all.mesh, path) << "; the graph has "
          << (all.pricesFrom(all.classes[i], size, allowed),
              all.wayTo(all.classes[j]));
      std::vector<LayoutStep> fixed =
          fixedOrderPath(all.mesh, all.shape, from, to);
      Cost fixedCost = pathCost(all.shape, elementBytes, from, fixed);
      ASSERT_FALSE(fixedCost < cost);
      tally.cheaper += cost < fixedCost;
      if (tally.checked % 10)
        continue;
      ++tally.executed;
      ASSERT_EQ(wrongWith(all.mesh, all.shape, from, to, path), "")
          << describe(all.mesh, all.shape, from, to) << ": "
          << spelled(all.mesh, path);
    }
  }
}

void checkFamily(const Mesh &mesh, const std::vector<Shape> &shapes,
                 const std::vector<Placement> &others, int64_t stride) {
  Tally tally;
  for (const Shape &shape : shapes) {
    std::vector<Placement> placements = onDims(shape.size(), {});
    for (const Placement &other : others)
      if (!other.isShard() || other.dim < static_cast<int64_t>(shape.size()))
        placements.push_back(other);
    LayoutGraph all(mesh, allCuts(mesh), placements, shape);
    for (size_t size = 0; size < LayoutGraph::elementBytes.size(); ++size)
      checkCosts(all, tally, strideOr(stride), size);
  }
}
} // namespace

TEST(CheapestPath, OneAxis) {
  for (int64_t n : {1, 2, 3, 4})
    checkFamily(meshOf({n}),
                {{}, {0}, {1}, {3}, {4}, {5}, {4, 6}, {5, 3}, {2, 3, 4}},
                {sum(), max()}, 1);
}

TEST(CheapestPath, UnitsAndSegments) {
  for (int64_t n : {2, 3, 4}) {
    checkFamily(meshOf({n}), {{6}, {7}, {6, 4}, {7, 5}},
                {sum(), Placement::shard(0, 2), Placement::shard(0, 3)}, 1);
    checkFamily(meshOf({n}), {{7}, {7, 4}},
                {sum(), Placement::shard(0, 1, {2, 5}),
                 Placement::shard(0, 2, {3, 1, 3})},
                1);
  }
}

TEST(CheapestPath, TwoAxes) {
  for (const Mesh &mesh : {meshOf({2, 2}), meshOf({2, 3}), meshOf({3, 3})})
    checkFamily(mesh, {{}, {1}, {4}, {5}, {6}, {4, 6}, {5, 3}, {6, 2, 5}},
                {sum(), max()}, 1);
}

TEST(CheapestPath, PartsOfAnAxis) {
  checkFamily(meshOf({4}), {{8}, {5}, {8, 4}, {5, 4}}, {sum(), max()}, 1);
  for (int64_t n : {6, 8})
    checkFamily(meshOf({n}), {{n}, {n, 2 * n}}, {sum()}, 7);
  checkFamily(meshOf({4, 2}), {{}, {8}, {5}, {8, 4}}, {sum(), max()}, 37);
  checkFamily(meshOf({2, 4}), {{4, 8, 2}}, {sum()}, 997);
}

TEST(CheapestPath, ThreeAxes) {
  for (const Mesh &mesh : {meshOf({2, 2, 2}), meshOf({2, 3, 2})}) {
    checkFamily(mesh, {{}, {5}, {6}, {12}}, {sum(), max()}, 17);
    checkFamily(mesh, {{12, 6}}, {sum(), max()}, 997);
  }
  checkFamily(meshOf({2, 2, 2}), {{8, 5}}, {sum()}, 997);
  checkFamily(meshOf({2, 2, 2}), {{2, 4, 8}}, {sum(), max()}, 4999);
}

//===----------------------------------------------------------------------===//
// Examples
//===----------------------------------------------------------------------===//

namespace {
/// A change of a 1024 x 1024 tensor of f32 (docs/redistribution.md has these in
/// a table). The costs are bytes sent and 1024 per collective.
struct Example {
  std::vector<int64_t> mesh;
  std::vector<Placement> from, to;
  const char *fixed;
  int64_t fixedCost;
  const char *cheapest;
  int64_t cheapestCost;
};
} // namespace

TEST(CheapestPath, Examples) {
  Placement r, s0 = Placement::shard(0), s1 = Placement::shard(1);
  Placement packed = Placement::shard(0, 1, {512, 256, 256});
  for (const Example &example : std::vector<Example>{
           {{2, 2},
            {s0, s0},
            {r, s0},
            "all_gather a b, local_slice b",
            3146752,
            "permute a b, all_gather a",
            2099200},
           {{2, 2},
            {s0, s1},
            {s1, s1},
            "all_gather b, all_to_all a, local_slice b",
            2099200,
            "all_to_all b, all_to_all a b",
            1312768},
           {{4, 2},
            {s0, s1},
            {s1, s0},
            "all_gather a, all_to_all b, local_slice a",
            2623488,
            "all_to_all a:2:2, permute a b",
            788480},
           {{4},
            {s0},
            {packed},
            "all_gather a, local_slice a",
            3146752,
            "all_to_all a, all_to_all a",
            1574912},
           {{2, 2},
            {sum(), s0},
            {s0, s0},
            "all_reduce a, all_gather b, local_slice a b",
            4196352,
            "reduce_scatter a, permute a b",
            2099200},
           {{4, 2},
            {sum(), r},
            {s0, r},
            "reduce_scatter a",
            3146752,
            "local_slice b, reduce_scatter a, all_gather b",
            2099200},
           {{2, 2},
            {sum(), max()},
            {r, max()},
            "all_reduce b, all_reduce a, local_partial b",
            8390656,
            "reduce_scatter b, reduce_scatter a, all_gather b a, local_partial "
            "b",
            6294528},
           {{8, 8},
            {sum(), r},
            {r, r},
            "all_reduce a",
            7341056,
            "local_slice b, reduce_scatter a, all_gather b a",
            4589568},
           {{8, 8, 8},
            {s0, s0, s0},
            {r, s0, s1},
            "all_to_all c, all_gather a b, local_slice b",
            525312,
            "all_to_all c, permute a b, all_gather a",
            75776}}) {
    Mesh mesh = meshOf(example.mesh);
    Shape shape = {1024, 1024};
    Layout from = Layout::onWholeAxes(mesh, example.from);
    Layout to = Layout::onWholeAxes(mesh, example.to);
    std::vector<LayoutStep> fixed = fixedOrderPath(mesh, shape, from, to);
    EXPECT_EQ(spelled(mesh, fixed), example.fixed);
    EXPECT_EQ(pathCost(shape, 4, from, fixed).primary, example.fixedCost);
    std::vector<LayoutStep> cheapest =
        redistributionPath(mesh, shape, 4, from, to);
    EXPECT_EQ(spelled(mesh, cheapest), example.cheapest);
    EXPECT_EQ(pathCost(shape, 4, from, cheapest).primary, example.cheapestCost);
  }
}

TEST(CheapestPath, OneStepIsSeenToBeCheapest) {
  Mesh mesh = meshOf({64});
  Placement r, s0 = Placement::shard(0), s1 = Placement::shard(1);
  for (auto [from, to] : std::vector<std::pair<Placement, Placement>>{
           {sum(), r}, {sum(), s0}, {s0, r}, {s0, s1}, {r, s0}, {r, sum()}}) {
    PathSearchStats stats;
    std::vector<LayoutStep> path = redistributionPath(
        mesh, {1024, 1024}, 4, Layout::onWholeAxes(mesh, {from}),
        Layout::onWholeAxes(mesh, {to}), &stats);
    EXPECT_EQ(path.size(), 1u);
    EXPECT_EQ(stats.expanded, 0u);
  }
}

/// Where a search stops the way is right, and no dearer than the fixed order's.
TEST(CheapestPath, StopsOnLargeMeshes) {
  Mesh mesh = meshOf({8, 8, 8});
  Placement r, s0 = Placement::shard(0), s1 = Placement::shard(1);
  Layout from = Layout::onWholeAxes(mesh, {s0, s1, s0});
  Layout to = Layout::onWholeAxes(mesh, {s1, s0, sum()});
  Shape shape = {64, 64};
  PathSearchStats stats;
  std::vector<LayoutStep> path =
      redistributionPath(mesh, shape, 4096, from, to, &stats);
  EXPECT_TRUE(stats.stopped);
  EXPECT_LT(pathCost(shape, 4096, from, path),
            pathCost(shape, 4096, from, fixedOrderPath(mesh, shape, from, to)));
  EXPECT_EQ(wrongWith(mesh, shape, from, to, path), "");
}
