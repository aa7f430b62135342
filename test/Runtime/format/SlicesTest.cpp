//===- SlicesTest.cpp - boxes against element-by-element copies -----------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Slices.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace tp::runtime;

namespace {

/// Every permutation of three dimensions, and sizes around the tile's.
TEST(CopyStridedTest, EqualsElementByElement) {
  const std::vector<std::vector<int64_t>> shapes = {
      {},        {5},         {1, 1},     {3, 4},    {33, 65},
      {2, 3, 4}, {1, 40, 33}, {40, 1, 3}, {2, 0, 3}, {3, 2, 70}};
  for (const std::vector<int64_t> &shape : shapes) {
    std::vector<int64_t> order(shape.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      int64_t count = elementCount(shape).value();
      // Rows of the target are longer than what is copied.
      std::vector<int64_t> stored(shape.size());
      for (size_t i = 0; i < shape.size(); ++i)
        stored[i] = shape[order[i]] + 1;
      std::vector<int64_t> from = rowMajorStrides(shape),
                           dense = rowMajorStrides(stored), to(shape.size());
      for (size_t i = 0; i < shape.size(); ++i)
        to[order[i]] = dense[i];
      int64_t room = elementCount(stored).value();
      for (int64_t bytes : {1, 2, 4, 8}) {
        std::vector<char> source(count * bytes), target(room * bytes, -1);
        for (size_t i = 0; i < source.size(); ++i)
          source[i] = char(i * 31 + i / 251);
        copyStrided(shape, bytes, source.data(), from, target.data(), to);
        for (int64_t i = 0; i < count; ++i) {
          int64_t rest = i, place = 0;
          for (size_t d = shape.size(); d-- > 0;) {
            place += rest % shape[d] * to[d];
            rest /= shape[d];
          }
          for (int64_t b = 0; b < bytes; ++b)
            ASSERT_EQ(target[place * bytes + b], source[i * bytes + b]);
        }
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

/// 7 x 5 over three ranks along rows in chunks of 3: 3, 3 and 1 rows; kept
/// transposed in memory.
Port unevenPort() {
  Port port;
  port.name = "w";
  port.kind = "parameter";
  port.dtype = DataType::I32;
  port.shape = {7, 5};
  port.layout = {{{0, 3, 1}, Sharded{0}}};
  port.permutation = {1, 0};
  return port;
}

TEST(SlicesTest, ScatterAndAssembleUnevenTransposed) {
  Port port = unevenPort();
  std::vector<int32_t> global(35), back(35, -1);
  std::iota(global.begin(), global.end(), 100);
  for (int64_t rank = 0; rank < 3; ++rank) {
    std::vector<int32_t> local(15, -7);
    scatter(port.slice({rank}), global.data(), {5, 1}, local.data());
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 5; ++j) {
        int64_t row = rank * 3 + i;
        EXPECT_EQ(local[j * 3 + i], row < 7 ? global[row * 5 + j] : -7);
      }
    assemble(port.slice({rank}), local.data(), back.data(), {5, 1});
  }
  EXPECT_EQ(back, global);
}

/// Two tensors, one beside the other, that are the array together fill a buffer
/// as the whole array does.
TEST(SlicesTest, TensorsThatAreOneArray) {
  Port port = unevenPort();
  std::vector<int32_t> global(35);
  std::iota(global.begin(), global.end(), 100);
  for (const std::vector<std::vector<int64_t>> &boxes :
       {std::vector<std::vector<int64_t>>{{0, 0, 4, 5}, {4, 0, 3, 5}},
        {{0, 0, 7, 2}, {0, 2, 7, 3}}})
    for (int64_t rank = 0; rank < 3; ++rank) {
      std::vector<int32_t> local(15, -7), expected(15, -7);
      RankSlice slice = port.slice({rank});
      scatter(slice, global.data(), {5, 1}, expected.data());
      for (const std::vector<int64_t> &box : boxes) {
        std::vector<int32_t> part(box[2] * box[3]);
        for (int64_t i = 0; i < box[2]; ++i)
          for (int64_t j = 0; j < box[3]; ++j)
            part[i * box[3] + j] = global[(box[0] + i) * 5 + box[1] + j];
        scatter(sliceWithin(slice, {box[0], box[1]}, {box[2], box[3]}),
                part.data(), {box[3], 1}, local.data());
      }
      EXPECT_EQ(local, expected);
    }
}

/// Rows 0 to 2 and 3 to 5 are two segments, each in chunks of 2 over two ranks;
/// the storage order is not its own inverse.
TEST(SlicesTest, SegmentsInAnyStorage) {
  Port port;
  port.dtype = DataType::I16;
  port.shape = {6, 2, 5};
  port.layout = {{{0, 2, 1}, Sharded{0, 1, {3, 3}}}};
  port.permutation = {1, 2, 0};
  EXPECT_EQ(port.localShape(), (std::vector<int64_t>{4, 2, 5}));
  const int64_t rows[2][4] = {{0, 1, 3, 4}, {2, -1, 5, -1}};
  std::vector<int16_t> global(60), back(60, -1);
  std::iota(global.begin(), global.end(), 1);
  for (int64_t rank = 0; rank < 2; ++rank) {
    std::vector<int16_t> local(40, -7), expected(40, -7);
    for (int64_t i = 0; i < 4; ++i)
      for (int64_t j = 0; j < 2; ++j)
        for (int64_t k = 0; k < 5; ++k)
          if (rows[rank][i] >= 0)
            expected[(j * 5 + k) * 4 + i] =
                global[(rows[rank][i] * 2 + j) * 5 + k];
    RankSlice slice = port.slice({rank});
    scatter(slice, global.data(), {10, 5, 1}, local.data());
    EXPECT_EQ(local, expected);
    assemble(slice, local.data(), back.data(), {10, 5, 1});
    std::vector<uint8_t> mask = paddingMask(slice);
    ASSERT_EQ(mask.size(), rank ? 40u : 0u);
    for (size_t i = 0; i < mask.size(); ++i)
      EXPECT_EQ(mask[i], expected[i] == -7);
  }
  EXPECT_EQ(back, global);
}

TEST(SlicesTest, ScatterFromAnyStrides) {
  Port port = unevenPort();
  std::vector<int32_t> columnMajor(35), local(15);
  std::iota(columnMajor.begin(), columnMajor.end(), 0);
  scatter(port.slice({1}), columnMajor.data(), {1, 7}, local.data());
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_EQ(local[j * 3 + i], j * 7 + 3 + i);
}

TEST(SlicesTest, PaddingMaskFollowsStorage) {
  Port port = unevenPort();
  RankSlice slice = port.slice({0});
  EXPECT_TRUE(paddingMask(slice).empty());
  std::vector<uint8_t> mask = paddingMask(port.slice({2}));
  ASSERT_EQ(mask.size(), 15u);
  for (int64_t i = 0; i < 3; ++i)
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_EQ(mask[j * 3 + i], i > 0);
  // Two boxes that together cover everything leave no padding.
  slice.boxes = {{{0, 0}, {0, 0}, {1, 5}}, {{1, 0}, {1, 0}, {2, 5}}};
  EXPECT_TRUE(paddingMask(slice).empty());
  slice.boxes.clear();
  EXPECT_EQ(paddingMask(slice), std::vector<uint8_t>(15, 1));
}

/// 2 x 4 over two ranks along columns in chunks of 3: every rank has all rows.
TEST(SlicesTest, PaddingInALaterDimension) {
  Port port;
  port.dtype = DataType::I32;
  port.shape = {2, 4};
  port.layout = {{{0, 2, 1}, Sharded{1, 3}}};
  port.permutation = {0, 1};
  EXPECT_TRUE(paddingMask(port.slice({0})).empty());
  EXPECT_EQ(paddingMask(port.slice({1})),
            (std::vector<uint8_t>{0, 1, 1, 0, 1, 1}));
}

TEST(SlicesTest, ScalarsAndEmptyParts) {
  Port port;
  port.dtype = DataType::F64;
  RankSlice held = port.slice({}), empty = held;
  empty.boxes.clear();
  double value = 4, local = 0;
  scatter(empty, &value, {}, &local);
  EXPECT_EQ(local, 0);
  scatter(held, &value, {}, &local);
  EXPECT_EQ(local, 4);
  int visits = 0;
  forEachValid(held, [&](int64_t, int64_t) { ++visits; });
  EXPECT_EQ(visits, 1);
}

/// What ranks hold of an array of the type, and the array that they make.
TEST(SlicesTest, PartialIdentitiesKeepEveryBit) {
  Mesh mesh{{{"dp", 2}, {"tp", 3}}, {}};
  for (int type = 0; type < numDataTypes; ++type)
    for (int kind = 0; kind < numReductions; ++kind) {
      Port port;
      port.dtype = DataType(type);
      Reduction reduction = Reduction(kind);
      if (!whyNotReduced(port.dtype, reduction).empty())
        continue;
      SCOPED_TRACE(std::string(spelling(port.dtype)) + " " +
                   spelling(reduction));
      port.shape = {3};
      port.permutation = {0};
      port.layout = {{mesh.whole(0), Partial{reduction}},
                     {mesh.whole(1), Partial{reduction}}};
      int64_t bytes = byteSize(port.dtype);
      // Zeros of both signs, or 0 and the least number; and another.
      std::vector<char> global(3 * bytes), back(3 * bytes, 7);
      global[2 * bytes - 1] = char(port.dtype == DataType::I1 ? 1 : 0x80);
      global[3 * bytes - 1] = char(port.dtype == DataType::I1 ? 0 : 0x3c);
      std::vector<std::vector<char>> buffers(6, std::vector<char>(3 * bytes));
      std::vector<const char *> group;
      for (int64_t rank : mesh.groupOf(0, partialParts(port.layout))) {
        scatter(port.slice(mesh.coordinates(rank)), global.data(), {1},
                buffers[rank].data());
        group.push_back(buffers[rank].data());
        if (rank > 0)
          EXPECT_EQ(buffers[rank] == global, combinesCopies(reduction));
      }
      ASSERT_EQ(group.size(), 6u);
      assemble(port.slice({}), ReducedBuffer(port, group).data(), back.data(),
               {1});
      // The one zero of the formats without -0.0 has no sign; what looks so is
      // NaN, which may have any bits.
      bool isNan = port.dtype == DataType::F8E4M3FNUZ ||
                   port.dtype == DataType::F8E5M2FNUZ;
      for (int64_t i = 0; i < 3 * bytes; ++i)
        if (!isNan || i != 1)
          EXPECT_EQ(back[i], global[i]) << "byte " << i;
    }
}

TEST(SlicesTest, PartialOnOneAxisAndShardedOnAnother) {
  Mesh mesh{{{"dp", 2}, {"tp", 2}}, {}};
  Port port;
  port.dtype = DataType::I32;
  port.shape = {5};
  port.permutation = {0};
  port.layout = {{mesh.whole(0), Sharded{0}},
                 {mesh.whole(1), Partial{Reduction::Sum}}};
  std::vector<int32_t> global = {1, 2, 3, 4, 5};
  std::vector<std::vector<int32_t>> expected = {
      {1, 2, 3}, {0, 0, 0}, {4, 5, -7}, {0, 0, -7}};
  for (int64_t rank = 0; rank < 4; ++rank) {
    std::vector<int32_t> local(3, -7);
    scatter(port.slice(mesh.coordinates(rank)), global.data(), {1},
            local.data());
    EXPECT_EQ(local, expected[rank]);
  }
  EXPECT_EQ(layoutText(port.layout, mesh), "[shard<0>, partial<sum>]");
}

} // namespace
