//===- RedistributionPathTest.cpp - every way does what it says -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every path is executed on the buffers of all ranks. After every step each
// rank must hold what the step's layout says.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/RedistributionPath.h"
#include "LayoutFamilies.h"

using namespace tp;
using namespace tp::test;

namespace {
struct Case {
  Mesh mesh;
  /// Ways to cut the axes.
  std::vector<std::vector<AxisPart>> parts;
  std::vector<Placement> placements;
  std::vector<Shape> shapes;
};

/// Every pair of layouts, `stride` apart.
void checkAllPairs(const Case &test, int64_t stride = 1) {
  int64_t pairs = 0;
  for (const Shape &shape : test.shapes) {
    std::vector<Layout> layouts;
    for (const std::vector<AxisPart> &parts : test.parts)
      llvm::append_range(layouts,
                         layoutsOver(test.mesh, shape, parts, test.placements));
    for (const Layout &from : layouts)
      for (const Layout &to : layouts) {
        if (++pairs % stride)
          continue;
        // In turn the fixed order's way and the cheapest, where bytes count and
        // where the number of collectives does.
        int64_t elementBytes = pairs / stride % 4 == 1 ? 4096 : 4;
        std::vector<LayoutStep> path =
            pairs / stride % 2 == 0
                ? fixedOrderPath(test.mesh, shape, from, to)
                : redistributionPath(test.mesh, shape, elementBytes, from, to);
        ASSERT_EQ(wrongWith(test.mesh, shape, from, to, path), "")
            << describe(test.mesh, shape, from, to) << ": "
            << spelled(test.mesh, path);
      }
  }
}
} // namespace

TEST(RedistributionPath, OneAxis) {
  for (int64_t n : {1, 2, 3, 4, 5}) {
    Mesh mesh = meshOf({n});
    checkAllPairs({mesh, {wholeAxes(mesh)}, onDims(0, {sum(), max()}), {{}}});
    for (int64_t size = 0; size <= 7; ++size) {
      std::vector<Placement> units =
          onDims(1, {sum(), avg(), max(), min(), times()});
      units.push_back(Placement::shard(0, 2));
      units.push_back(Placement::shard(0, 3));
      checkAllPairs({mesh, {wholeAxes(mesh)}, units, {{size}}});
      checkAllPairs({mesh,
                     {wholeAxes(mesh)},
                     onDims(3, {sum()}),
                     {{size, 3, 2}, {4, size, 5}, {1, 6, size}}});
    }
  }
}

TEST(RedistributionPath, Segments) {
  for (int64_t n : {2, 3, 4}) {
    Mesh mesh = meshOf({n});
    std::vector<Placement> placements = onDims(2, {sum()});
    for (int64_t unit : {1, 2}) {
      placements.push_back(Placement::shard(0, unit, {2, 5}));
      placements.push_back(Placement::shard(0, unit, {3, 1, 3}));
      placements.push_back(Placement::shard(0, unit, {7}));
    }
    checkAllPairs({mesh, {wholeAxes(mesh)}, placements, {{7, 3}, {7, 4}}});
  }
  Mesh grid = meshOf({2, 3});
  std::vector<Placement> placements = onDims(2, {sum()});
  placements.push_back(Placement::shard(0, 1, {4, 4, 4}));
  placements.push_back(Placement::shard(0, 2, {4, 4, 4}));
  placements.push_back(Placement::shard(0, 1, {7, 5}));
  checkAllPairs({grid, {wholeAxes(grid)}, placements, {{12, 3}, {12, 6}}});
}

TEST(RedistributionPath, TwoAxes) {
  for (const Mesh &mesh : {meshOf({2, 2}), meshOf({2, 3}), meshOf({3, 1})}) {
    for (int64_t size = 0; size <= 7; ++size) {
      std::vector<Placement> units = onDims(1, {sum(), max()});
      units.push_back(Placement::shard(0, 2));
      checkAllPairs({mesh, {wholeAxes(mesh)}, units, {{size}}});
      checkAllPairs({mesh,
                     {wholeAxes(mesh)},
                     onDims(2, {sum(), avg()}),
                     {{size, 4}, {5, size}}});
    }
  }
}

TEST(RedistributionPath, DeviceOrder) {
  Mesh mesh = meshOf({2, 3});
  mesh.deviceOrder = {3, 0, 5, 1, 4, 2};
  checkAllPairs(
      {mesh, {wholeAxes(mesh)}, onDims(2, {sum()}), {{6, 6}, {5, 4}}});
}

TEST(RedistributionPath, KindsThatDiffer) {
  Mesh mesh = meshOf({2, 2});
  checkAllPairs({mesh,
                 {wholeAxes(mesh)},
                 onDims(1, {sum(), avg(), max(), min(), times()}),
                 {{3}, {4}}});
  Mesh cube = meshOf({2, 2, 2});
  checkAllPairs(
      {cube, {wholeAxes(cube)}, onDims(1, {sum(), max(), times()}), {{5}}}, 7);
}

TEST(RedistributionPath, PartsOfAnAxis) {
  Mesh four = meshOf({4});
  std::vector<std::vector<AxisPart>> halves = {wholeAxes(four),
                                               {{0, 1, 2}, {0, 2, 2}}};
  for (int64_t size = 0; size <= 9; ++size)
    checkAllPairs({four, halves, onDims(2, {sum(), max()}), {{size, 4}}});
  Mesh six = meshOf({6});
  std::vector<std::vector<AxisPart>> parts = {
      wholeAxes(six), {{0, 1, 2}, {0, 2, 3}}, {{0, 1, 3}, {0, 3, 2}}};
  std::vector<Placement> units = onDims(2, {sum()});
  units.push_back(Placement::shard(0, 2));
  for (int64_t size : {0, 1, 4, 5, 6, 7, 12})
    checkAllPairs({six, parts, units, {{size, 6}}});
  Mesh eight = meshOf({8});
  checkAllPairs({eight,
                 {wholeAxes(eight),
                  {{0, 1, 2}, {0, 2, 4}},
                  {{0, 1, 4}, {0, 4, 2}},
                  {{0, 1, 2}, {0, 2, 2}, {0, 4, 2}}},
                 onDims(1, {sum()}),
                 {{5}, {8}, {12}}});
  Mesh grid = meshOf({2, 4});
  checkAllPairs({grid,
                 {wholeAxes(grid), {{0, 1, 2}, {1, 1, 2}, {1, 2, 2}}},
                 onDims(2, {sum()}),
                 {{5, 3}, {8, 4}}},
                5);
}

TEST(RedistributionPath, ThreeAxes) {
  Mesh cube = meshOf({2, 2, 2});
  for (int64_t size : {1, 4, 5, 7, 8})
    checkAllPairs({cube, {wholeAxes(cube)}, onDims(1, {sum()}), {{size}}});
  checkAllPairs({cube, {wholeAxes(cube)}, onDims(2, {sum()}), {{8, 3}, {5, 4}}},
                13);
}

TEST(RedistributionPath, FourAxes) {
  Mesh mesh = meshOf({2, 2, 2, 2});
  checkAllPairs({mesh, {wholeAxes(mesh)}, onDims(2, {sum()}), {{13, 6}}}, 997);
}

//===----------------------------------------------------------------------===//
// Which steps the fixed order takes
//===----------------------------------------------------------------------===//

namespace {
std::string stepsOf(const Mesh &mesh, const Shape &shape,
                    std::vector<Placement> from, std::vector<Placement> to) {
  return spelled(mesh,
                 fixedOrderPath(mesh, shape, Layout::onWholeAxes(mesh, from),
                                Layout::onWholeAxes(mesh, to)));
}
} // namespace

TEST(FixedOrderPath, TakesDirectForms) {
  Mesh mesh = meshOf({2, 2});
  Placement r, s0 = Placement::shard(0), s1 = Placement::shard(1);
  for (int64_t size : {4, 5}) {
    Shape shape{size, 7};
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), sum()}, {r, r}), "all_reduce a b");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), sum()}, {s0, s0}),
              "reduce_scatter a b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, sum()}, {s0, r}), "all_reduce b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s0}, {r, r}), "all_gather a b");
    EXPECT_EQ(stepsOf(mesh, shape, {r, r}, {s1, s1}), "local_slice a b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s0}, {s1, s1}), "all_to_all a b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s0}, {s0, s1}), "all_to_all b");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, r}, {r, s1}),
              "local_slice b, all_gather a");
    EXPECT_EQ(stepsOf(mesh, shape, {s0, s1}, {s1, s1}),
              "all_gather b, all_to_all a, local_slice b");
    EXPECT_EQ(stepsOf(mesh, shape, {r, r}, {sum(), sum()}),
              "local_partial a b");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), max()}, {r, r}),
              "all_reduce b, all_reduce a");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), max()}, {sum(), r}), "all_reduce b");
    EXPECT_EQ(stepsOf(mesh, shape, {sum(), max()}, {r, max()}),
              "all_reduce b, all_reduce a, local_partial b");
  }
}

TEST(FixedOrderPath, AnotherOrderOfTheAxes) {
  Mesh mesh = meshOf({2, 2});
  Layout ab =
      Layout::onWholeAxes(mesh, {Placement::shard(0), Placement::shard(0)});
  Layout ba = ab;
  std::swap(ba.entries[0], ba.entries[1]);
  std::vector<LayoutStep> path = fixedOrderPath(mesh, {8}, ab, ba);
  ASSERT_EQ(path.size(), 1u);
  EXPECT_EQ(path[0].kind, StepKind::Permute);
  EXPECT_EQ(path[0].sources, (std::vector<int64_t>{0, 2, 1, 3}));
  // The same exchange between two dimensions, and to another axis.
  Placement r, s0 = Placement::shard(0), s1 = Placement::shard(1);
  EXPECT_EQ(stepsOf(mesh, {8, 5}, {s0, s1}, {s1, s0}), "permute a b");
  EXPECT_EQ(stepsOf(mesh, {5}, {s0, r}, {r, s0}), "permute a b");
  EXPECT_EQ(stepsOf(meshOf({2, 3}), {6, 6}, {s0, s1}, {s1, s0}),
            "all_gather a, all_to_all b, local_slice a");
}

TEST(FixedOrderPath, UnitsThatChangeNothing) {
  Mesh mesh = meshOf({2});
  EXPECT_EQ(stepsOf(mesh, {8}, {Placement::shard(0)}, {Placement::shard(0, 4)}),
            "reinterpret");
  EXPECT_EQ(stepsOf(mesh, {6}, {Placement::shard(0)}, {Placement::shard(0, 4)}),
            "all_gather a, local_slice a");
}
