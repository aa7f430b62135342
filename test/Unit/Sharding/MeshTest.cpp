//===- MeshTest.cpp -------------------------------------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Mesh.h"
#include <gtest/gtest.h>

using namespace tp;

TEST(Mesh, CountsTheLastAxisFastest) {
  Mesh mesh{{{"dp", 2}, {"tp", 3}}, {}};
  EXPECT_EQ(mesh.numRanks(), 6);
  EXPECT_EQ(mesh.coordinates(4), (std::vector<int64_t>{1, 1}));
  for (int64_t rank = 0; rank < 6; ++rank)
    EXPECT_EQ(mesh.rankAt(mesh.coordinates(rank)), rank);
}

TEST(Mesh, DeviceOrderPlacesRanks) {
  Mesh mesh{{{"a", 2}, {"b", 2}}, {0, 2, 1, 3}};
  EXPECT_EQ(mesh.coordinates(2), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(mesh.rankAt({1, 0}), 1);
  EXPECT_EQ(mesh.groups({mesh.wholeAxis(1)}),
            (std::vector<std::vector<int64_t>>{{0, 2}, {1, 3}}));
}

TEST(Mesh, GroupsOfAnAxisAndOfItsParts) {
  Mesh mesh{{{"dp", 2}, {"tp", 4}}, {}};
  EXPECT_EQ(mesh.groups({mesh.wholeAxis(1)}),
            (std::vector<std::vector<int64_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}}));
  // Major half of tp: ranks two apart; minor half: neighbours.
  EXPECT_EQ(
      mesh.groups({AxisPart{1, 1, 2}}),
      (std::vector<std::vector<int64_t>>{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  EXPECT_EQ(
      mesh.groups({AxisPart{1, 2, 2}}),
      (std::vector<std::vector<int64_t>>{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  // Order of the axes is order in the group.
  EXPECT_EQ(mesh.groups({mesh.wholeAxis(1), mesh.wholeAxis(0)})[0],
            (std::vector<int64_t>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Mesh, VerifyNamesTheBrokenRule) {
  EXPECT_EQ((Mesh{{{"tp", 4}}, {}}).verify(), "");
  EXPECT_EQ((Mesh{{}, {}}).verify(), "a mesh has at least one axis");
  EXPECT_EQ((Mesh{{{"tp", 0}}, {}}).verify(),
            "mesh axis 'tp' has size 0, expected at least 1");
  EXPECT_EQ((Mesh{{{"tp", 2}, {"tp", 2}}, {}}).verify(),
            "mesh axis 'tp' is named twice");
  EXPECT_EQ((Mesh{{{"tp", 2}}, {0, 0}}).verify(),
            "the device order is a permutation of the 2 ranks");
  EXPECT_EQ((Mesh{{{"a", 1 << 20}, {"b", 1 << 20}}, {}}).verify(),
            "a mesh has at most 16777216 ranks");
}
