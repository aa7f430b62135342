//===- RingCost.cpp - bytes and time of collectives -----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/RingCost.h"

using namespace tp;

static constexpr double picosecondsPerSecond = 1e12;

llvm::StringRef tp::toString(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Permute:
    return "permute";
  }
  return "";
}

llvm::StringRef tp::toString(NumberClass numbers) {
  static constexpr llvm::StringLiteral names[] = {"f64", "f32", "f16", "f8",
                                                  "integer"};
  static_assert(std::size(names) == std::size(allNumberClasses));
  return names[static_cast<size_t>(numbers)];
}

NumberClass tp::numberClass(bool isFloat, unsigned bits) {
  if (!isFloat)
    return NumberClass::Integer;
  if (bits > 32)
    return NumberClass::F64;
  if (bits > 16)
    return NumberClass::F32;
  return bits > 8 ? NumberClass::F16 : NumberClass::F8;
}

int64_t tp::payloadBytes(CollectiveKind kind, int64_t bytes, int64_t ranks) {
  switch (kind) {
  case CollectiveKind::AllReduce:
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return bytes;
  case CollectiveKind::AllToAll:
  case CollectiveKind::Permute:
    return bytes / ranks + (bytes % ranks != 0);
  }
  return bytes;
}

int64_t tp::ringBytes(CollectiveKind kind, int64_t payload, int64_t ranks) {
  double share = static_cast<double>(payload) * static_cast<double>(ranks - 1) /
                 static_cast<double>(ranks);
  switch (kind) {
  case CollectiveKind::AllReduce:
    return saturatingRound(2 * share);
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return saturatingRound(share);
  case CollectiveKind::Permute:
    return payload;
  }
  return payload;
}

int64_t tp::collectiveTime(int64_t ringBytes, const Machine &machine) {
  return saturatingRound(
      (static_cast<double>(ringBytes) / machine.linkBandwidth +
       machine.collectiveLatency) *
      picosecondsPerSecond);
}

int64_t tp::computeTime(double operations, double bytes, const Machine &machine,
                        NumberClass numbers) {
  return saturatingRound((operations / machine.computeRate[numbers] +
                          bytes / machine.memoryBandwidth) *
                         picosecondsPerSecond);
}
