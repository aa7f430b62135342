//===- LayoutTest.cpp -----------------------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Layout.h"
#include <gtest/gtest.h>

using namespace tp;

namespace {
const Mesh grid{{{"dp", 2}, {"tp", 3}}, {}};

Layout layoutOf(std::vector<AxisPlacement> entries) {
  Layout layout{std::move(entries)};
  layout.canonicalize();
  return layout;
}

/// torch.chunk, written down by itself: rank c of n holds [c*chunk, ...).
std::pair<int64_t, int64_t> torchChunk(int64_t size, int64_t n, int64_t c) {
  int64_t chunk = (size + n - 1) / n;
  int64_t start = std::min(c * chunk, size);
  return {start, std::min(chunk, size - start)};
}
} // namespace

TEST(Layout, OneAxisFollowsTorchChunk) {
  for (int64_t n = 1; n <= 8; ++n)
    for (int64_t size = 0; size <= 20; ++size) {
      Mesh mesh{{{"tp", n}}, {}};
      Layout layout = Layout::onWholeAxes(mesh, {Placement::shard(0)});
      EXPECT_EQ(layout.localSize(0, size), (size + n - 1) / n);
      for (int64_t rank = 0; rank < n; ++rank) {
        auto [start, valid] = torchChunk(size, n, rank);
        auto intervals = layout.intervals(mesh, 0, size, rank);
        if (valid == 0)
          EXPECT_TRUE(intervals.empty());
        else
          EXPECT_EQ(intervals, (std::vector<Interval>{{start, 0, valid}}));
      }
    }
}

TEST(Layout, EveryElementIsHeldExactlyOnce) {
  for (int64_t unit : {1, 2, 3})
    for (int64_t size = 0; size <= 24; ++size)
      for (bool swapped : {false, true}) {
        Placement shard = Placement::shard(0, unit);
        std::vector<AxisPlacement> entries = {{grid.wholeAxis(0), shard},
                                              {grid.wholeAxis(1), shard}};
        if (swapped)
          std::swap(entries[0], entries[1]);
        Layout layout = layoutOf(entries);
        std::vector<int> count(size);
        for (int64_t rank = 0; rank < 6; ++rank)
          for (Interval piece : layout.intervals(grid, 0, size, rank)) {
            EXPECT_LE(piece.localOffset + piece.size,
                      layout.localSize(0, size));
            for (int64_t i = 0; i < piece.size; ++i)
              ++count[piece.globalOffset + i];
          }
        EXPECT_EQ(count, std::vector<int>(size, 1))
            << "size " << size << " unit " << unit;
      }
}

TEST(Layout, NestOrderIsPartOfTheLayout) {
  Placement shard = Placement::shard(0);
  Layout meshOrder =
      layoutOf({{grid.wholeAxis(0), shard}, {grid.wholeAxis(1), shard}});
  Layout swapped =
      layoutOf({{grid.wholeAxis(1), shard}, {grid.wholeAxis(0), shard}});
  EXPECT_NE(meshOrder, swapped);
  EXPECT_EQ(meshOrder.intervals(grid, 0, 6, 1)[0].globalOffset, 1);
  EXPECT_EQ(swapped.intervals(grid, 0, 6, 1)[0].globalOffset, 2);
  EXPECT_EQ(swapped.toString(grid), "[\"tp\" = shard<0>, \"dp\" = shard<0>]");
  // Of axes on different dimensions no order is kept.
  EXPECT_EQ(layoutOf({{grid.wholeAxis(1), Placement::shard(1)},
                      {grid.wholeAxis(0), shard}}),
            layoutOf({{grid.wholeAxis(0), shard},
                      {grid.wholeAxis(1), Placement::shard(1)}}));
}

TEST(Layout, SegmentsAreShardedEach) {
  Mesh mesh{{{"tp", 2}}, {}};
  Layout layout =
      Layout::onWholeAxes(mesh, {Placement::shard(0, 1, {4, 2, 2})});
  EXPECT_EQ(layout.localSize(0, 8), 4);
  EXPECT_EQ(layout.intervals(mesh, 0, 8, 1),
            (std::vector<Interval>{{2, 0, 2}, {5, 2, 1}, {7, 3, 1}}));
}

TEST(Layout, SubAxes) {
  Mesh mesh{{{"tp", 4}}, {}};
  Layout layout = layoutOf({{AxisPart{0, 1, 2}, Placement::shard(0)},
                            {AxisPart{0, 2, 2}, Placement::replicate()}});
  EXPECT_EQ(layout.verify(mesh, {6}), "");
  EXPECT_EQ(layout.localSize(0, 6), 3);
  EXPECT_EQ(layout.intervals(mesh, 0, 6, 1)[0].globalOffset, 0);
  EXPECT_EQ(layout.intervals(mesh, 0, 6, 2)[0].globalOffset, 3);
  EXPECT_EQ(layout.toString(mesh),
            "[\"tp\":1:2 = shard<0>, \"tp\":2:2 = replicate]");
}

TEST(Layout, PlaceMakesTheMinorMostShard) {
  Layout layout = Layout::replicated(grid);
  EXPECT_TRUE(layout.place({grid.wholeAxis(1)}, Placement::shard(0)));
  EXPECT_TRUE(layout.place({grid.wholeAxis(0)}, Placement::shard(0)));
  EXPECT_EQ(layout.toString(grid), "[\"tp\" = shard<0>, \"dp\" = shard<0>]");
  EXPECT_FALSE(layout.place({AxisPart{1, 1, 1}}, Placement::replicate()));
}

TEST(Layout, VerifyNamesTheBrokenRule) {
  Mesh mesh{{{"tp", 2}}, {}};
  auto verify = [&](Placement placement, std::vector<int64_t> shape) {
    return Layout::onWholeAxes(mesh, {placement}).verify(mesh, shape);
  };
  EXPECT_EQ(verify(Placement::shard(1), {4, 4}), "");
  EXPECT_EQ(verify(Placement::shard(2), {4, 4}),
            "shard<2> needs that dimension, the tensor has rank 2");
  EXPECT_EQ(verify(Placement::shard(0, 0), {4}),
            "the unit of a shard is at least 1, got 0");
  EXPECT_EQ(verify(Placement::shard(0, 1, {2, 3}), {4}),
            "segments add up to 5, dimension 0 has size 4");
  EXPECT_EQ(Layout{}.verify(mesh, {4}), "axis 'tp' has no placement");
  EXPECT_EQ(layoutOf({{mesh.wholeAxis(0), Placement::shard(0)},
                      {mesh.wholeAxis(0), Placement::shard(1)}})
                .verify(mesh, {4, 4}),
            "axis 'tp' is used twice or with a gap between its parts");
}
