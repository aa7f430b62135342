//===- RingCostTest.cpp - bytes and time of collectives ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/RingCost.h"
#include "gtest/gtest.h"

using namespace tp;

TEST(RingCost, PayloadAndBytesSentPerRank) {
  const struct {
    CollectiveKind kind;
    int64_t bytes, ranks, payload, sent;
  } rows[] = {
      {CollectiveKind::AllReduce, 1000, 4, 1000, 1500},
      {CollectiveKind::AllReduce, 1000, 1, 1000, 0},
      {CollectiveKind::AllGather, 1000, 4, 1000, 750},
      {CollectiveKind::ReduceScatter, 1000, 2, 1000, 500},
      {CollectiveKind::AllToAll, 1250, 5, 250, 200},
      {CollectiveKind::AllToAll, 1001, 4, 251, 188},
      {CollectiveKind::Permute, 1250, 5, 250, 250},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(toString(row.kind).str());
    EXPECT_EQ(payloadBytes(row.kind, row.bytes, row.ranks), row.payload);
    EXPECT_EQ(ringBytes(row.kind, row.payload, row.ranks), row.sent);
  }
}

TEST(RingCost, TimesArePicoseconds) {
  Machine machine;
  machine.linkBandwidth = 1e9;
  machine.collectiveLatency = 1e-6;
  machine.computeRate[NumberClass::F32] = 1e9;
  machine.computeRate[NumberClass::F16] = 2e9;
  machine.memoryBandwidth = 2e9;
  EXPECT_EQ(collectiveTime(0, machine), 1000000);
  EXPECT_EQ(collectiveTime(1000, machine), 2000000);
  EXPECT_EQ(computeTime(1000, 4000, machine), 3000000);
  EXPECT_EQ(computeTime(1000, 4000, machine, numberClass(true, 16)), 2500000);
}

TEST(RingCost, Saturates) {
  EXPECT_EQ(saturatingAdd(saturatedCost, saturatedCost), saturatedCost);
  EXPECT_EQ(saturatingRound(1e300), saturatedCost);
  EXPECT_EQ(saturatingRound(-1.0), 0);
  EXPECT_EQ(collectiveTime(INT64_MAX, Machine{1e-30, 1, {}, 1}), saturatedCost);
}
