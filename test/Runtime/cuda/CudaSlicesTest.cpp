//===- CudaSlicesTest.cpp - buffers in pieces -----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Slices.h"
#include <cstring>

using namespace tp::test;
using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {

RankSlice heldBoxes() {
  RankSlice held;
  held.shape = {6, 10, 4};
  held.localShape = {4, 5, 4};
  held.permutation = {2, 0, 1};
  held.dtype = DataType::I32;
  held.boxes = {{{2, 5, 0}, {0, 0, 0}, {2, 5, 3}},
                {{5, 0, 0}, {3, 0, 1}, {1, 4, 3}}};
  return held;
}

/// Slices put together are what scatter writes in one piece.
void expectSlicesAreTheWhole(const RankSlice &held) {
  std::vector<int32_t> global(240);
  for (size_t i = 0; i < global.size(); ++i)
    global[i] = int32_t(i + 1);
  std::vector<int64_t> strides = rowMajorStrides(held.shape);
  std::vector<int32_t> whole(80);
  scatter(held, global.data(), strides, whole.data());
  for (int64_t most : {4, 12, 20, 84, 1000}) {
    std::vector<int32_t> pieces(80, -1);
    int64_t next = 0;
    ASSERT_OK(forEachSlice(held, most, [&](const RankSlice &slice, int64_t at) {
      EXPECT_EQ(at, next) << "in the order of memory";
      EXPECT_LE(slice.localBytes(), std::max<int64_t>(most, 4));
      next = at + slice.localBytes();
      std::memset(pieces.data() + at / 4, 0, slice.localBytes());
      scatter(slice, global.data(), strides, pieces.data() + at / 4);
      return Status();
    }));
    EXPECT_EQ(next, 320);
    EXPECT_EQ(pieces, whole) << most;
  }
}

TEST(CudaSlicesTest, SlicesAreTheWhole) {
  expectSlicesAreTheWhole(heldBoxes());
}

TEST(CudaSlicesTest, SlicesHoldTheIdentity) {
  RankSlice held = heldBoxes();
  held.identity = identityOf(DataType::I32, Reduction::Product);
  expectSlicesAreTheWhole(held);
}

} // namespace
