//===- ShardingPictureTest.cpp - pictures against slices ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/ShardingPicture.h"
#include "format/picture/ShardingGrid.h"
#include <gtest/gtest.h>

using namespace tp::runtime;

namespace {

/// `{"axes"...}` and the port's members but its type, as a manifest has them.
std::string described(const std::string &axes, const std::string &port) {
  return R"({"mesh": {"axes": [)" + axes + R"(]}, "port": {"dtype": "f32", )" +
         port + "}}";
}

std::string drawn(const std::string &description,
                  Picture picture = Picture::Text) {
  Mesh mesh;
  Port port;
  std::string text;
  Status status = parsePort(description, mesh, port);
  if (status.ok())
    status = drawSharding(port, mesh, picture, text);
  return status.ok() ? text : "error: " + status.message();
}

const char *const tp2 = R"({"name": "tp", "size": 2})";
const char *const tp4 = R"({"name": "tp", "size": 4})";
const char *const dp2tp2 =
    R"({"name": "dp", "size": 2}, {"name": "tp", "size": 2})";

TEST(ShardingPictureTest, UnevenRows) {
  EXPECT_EQ(drawn(described(tp4, R"("name": "w", "shape": [5, 3],
                                    "layout": [{"shard": 0}])")),
            "w: f32[5, 3], [shard<0>] on tp = 4\n"
            "\n"
            "            columns 0-2\n"
            "  rows 0-1  rank 0\n"
            "  rows 2-3  rank 1\n"
            "  row 4     rank 2\n"
            "\n"
            "  a rank's buffer is [2, 3]; rank 3 without a part\n");
}

TEST(ShardingPictureTest, TwoAxes) {
  EXPECT_EQ(drawn(described(dp2tp2, R"("name": "", "shape": [4, 6],
                                       "layout": [{"shard": 1}, {}])")),
            "[4, 6], [shard<1>, replicate] on dp = 2, tp = 2\n"
            "\n"
            "            columns 0-2  columns 3-5\n"
            "  rows 0-3  ranks 0-1    ranks 2-3\n"
            "\n"
            "  a rank's buffer is [4, 3]\n");
}

TEST(ShardingPictureTest, Partial) {
  EXPECT_EQ(
      drawn(described(dp2tp2, R"("name": "y", "shape": [4, 6],
                            "layout": [{"shard": 0}, {"partial": "max"}])")),
      "y: f32[4, 6], [shard<0>, partial<max>] on dp = 2, tp = 2\n"
      "\n"
      "            columns 0-5\n"
      "  rows 0-1  ranks 0-1\n"
      "  rows 2-3  ranks 2-3\n"
      "\n"
      "  a rank's buffer is [2, 6]; the numbers of the ranks along tp are "
      "reduced by max\n");
  EXPECT_EQ(drawn(described(dp2tp2, R"("name": "y", "shape": [4],
                            "layout": [{"partial": "avg"}, {"partial": "avg"}])")),
            "y: f32[4], [partial<avg>, partial<avg>] on dp = 2, tp = 2\n"
            "\n"
            "  elements 0-3\n"
            "  ranks 0-3\n"
            "\n"
            "  the numbers of the ranks along dp, tp are reduced by avg\n");
}

TEST(ShardingPictureTest, OneDimensionAndSegments) {
  EXPECT_EQ(drawn(described(tp2, R"("name": "b", "shape": [6],
                            "layout": [{"shard": 0, "segments": [4, 2]}])")),
            "b: f32[6], [shard<0, segments = [4, 2]>] on tp = 2\n"
            "\n"
            "  elements 0-1  elements 2-3  element 4  element 5\n"
            "  rank 0        rank 1        rank 0     rank 1\n"
            "\n"
            "  a rank's buffer is [3]\n");
}

TEST(ShardingPictureTest, SubAxes) {
  EXPECT_EQ(drawn(described(tp4, R"("name": "k", "shape": [2, 3], "layout": [
                   {"axis": ["tp", 1, 2], "shard": 0}, {"axis": ["tp", 2, 2]}])")),
            "k: f32[2, 3], [\"tp\":1:2 = shard<0>, \"tp\":2:2 = replicate] on "
            "tp = 4\n"
            "\n"
            "         columns 0-2\n"
            "  row 0  ranks 0-1\n"
            "  row 1  ranks 2-3\n"
            "\n"
            "  a rank's buffer is [1, 3]\n");
}

TEST(ShardingPictureTest, DimensionsBeyondTwo) {
  EXPECT_EQ(drawn(described(dp2tp2, R"("name": "x", "shape": [2, 4, 3],
                            "layout": [{"shard": 0}, {"shard": 1}])")),
            "x: f32[2, 4, 3], [shard<0>, shard<1>] on dp = 2, tp = 2\n"
            "\n"
            "            dim 1: 0-1  dim 1: 2-3\n"
            "  dim 0: 0  rank 0      rank 1\n"
            "  dim 0: 1  rank 2      rank 3\n"
            "\n"
            "  a rank's buffer is [1, 2, 3]\n");
}

TEST(ShardingPictureTest, WithoutCutsAndElements) {
  EXPECT_EQ(drawn(described(tp2, R"("name": "s", "shape": [])")),
            "s: f32[], [replicate] on tp = 2\n"
            "\n"
            "  ranks 0-1\n");
  EXPECT_EQ(drawn(described(tp2, R"("name": "e", "shape": [0, 2],
                                    "layout": [{"shard": 1}])")),
            "e: f32[0, 2], [shard<1>] on tp = 2\n"
            "\n"
            "  column 0  column 1\n"
            "\n"
            "  a rank's buffer is [0, 1]; ranks 0-1 without a part\n");
}

TEST(ShardingPictureTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(drawn(described(tp2, R"("name": "w", "shape": [4],
                                    "layout": [{"shard": 1}])")),
            "error: shard<1> needs that dimension, it has 1");
  EXPECT_EQ(drawn(described(tp2, R"("name": "w", "shape": [4],
                                    "layout": [{"share": 1}])"))
                .substr(0, 7),
            "error: ");
  std::string segments = "2";
  for (int i = 1; i < 2500; ++i)
    segments += ", 2";
  EXPECT_EQ(drawn(described(tp2, R"("name": "w", "shape": [5000],
                            "layout": [{"shard": 0, "segments": [)" +
                                     segments + "]}]")),
            "error: 'w' is cut into more than 4096 parts, too many for a "
            "picture");
}

/// Neighbours that the same ranks hold are one part.
TEST(ShardingPictureTest, SegmentsOfOneElement) {
  EXPECT_EQ(drawn(described(tp2, R"("name": "b", "shape": [4],
                            "layout": [{"shard": 0, "segments": [1, 1, 2]}])")),
            "b: f32[4], [shard<0, segments = [1, 1, 2]>] on tp = 2\n"
            "\n"
            "  elements 0-2  element 3\n"
            "  rank 0        rank 1\n"
            "\n"
            "  a rank's buffer is [3]\n");
}

/// Every rank's part by slices, and by the grid, element by element.
TEST(ShardingGridTest, EqualsSlices) {
  const std::vector<std::string> layouts = {
      R"([{}, {}])",
      R"([{"shard": 0}, {"shard": 0}])",
      R"([{"shard": 1, "unit": 2}, {"shard": 0}])",
      R"([{"shard": 0, "segments": [3, 4]}, {"shard": 1}])",
      R"([{"axis": "tp", "shard": 0}, {"axis": "dp", "shard": 0}])",
      R"([{"axis": ["tp", 1, 2], "shard": 1}, {"axis": ["tp", 2, 2], "shard": 0},
          {"axis": "dp"}])"};
  for (const std::string &layout : layouts) {
    Mesh mesh;
    Port port;
    Status status = parsePort(
        described(R"({"name": "dp", "size": 3}, {"name": "tp", "size": 4})",
                  R"("name": "w", "shape": [7, 9], "layout": )" + layout),
        mesh, port);
    ASSERT_TRUE(status.ok()) << status.message();
    ShardingGrid grid(port, mesh);
    ASSERT_FALSE(grid.isTooFine);
    int64_t total = 0, expected = 0;
    for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
      std::vector<bool> held(port.shape[0] * port.shape[1]);
      for (const Box &box : port.slice(mesh.coordinates(rank)).boxes)
        for (int64_t i = 0; i < box.size[0]; ++i)
          for (int64_t j = 0; j < box.size[1]; ++j)
            held[(box.global[0] + i) * port.shape[1] + box.global[1] + j] =
                true;
      for (const GridInterval &row : grid.dims[0])
        for (const GridInterval &column : grid.dims[1]) {
          bool isHeld = row.ranks[rank] && column.ranks[rank];
          total += isHeld * row.size * column.size;
          for (int64_t i = row.start; i < row.start + row.size; ++i)
            for (int64_t j = column.start; j < column.start + column.size; ++j)
              ASSERT_EQ(held[i * port.shape[1] + j], isHeld)
                  << layout << " rank " << rank << " at " << i << ", " << j;
        }
      for (bool one : held)
        expected += one;
    }
    EXPECT_EQ(total, expected) << layout;
  }
}

TEST(ShardingPictureTest, Drawing) {
  std::string svg = drawn(described(tp2, R"("name": "a<b", "shape": [4, 2],
                                            "layout": [{"shard": 0}])"),
                          Picture::Svg);
  EXPECT_EQ(svg.substr(0, 5), "<svg ");
  EXPECT_NE(svg.find(">a&lt;b: f32[4, 2], [shard&lt;0&gt;] on tp = 2</text>"),
            std::string::npos);
  EXPECT_NE(svg.find(">rows 2-3</text>"), std::string::npos);
  size_t rectangles = 0;
  for (size_t at = svg.find("<rect"); at != std::string::npos;
       at = svg.find("<rect", at + 1))
    ++rectangles;
  EXPECT_EQ(rectangles, 2u);
}

} // namespace
