//===- RankMemory.cpp - where a rank has what on the host -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Transport.h"

using namespace tp::runtime;

RankMemory::RankMemory(const EntryView &entry) {
  auto take = [&](int64_t size) {
    int64_t offset = bytes;
    bytes += (size + 63) / 64 * 64;
    return offset;
  };
  bool host = !entry.isCuda();
  for (const ArgumentPlace &place : entry.places)
    arguments.push_back(take(host ? place.memoryBytes : 0));
  for (size_t i = 0; i < arguments.size(); ++i)
    arguments[i] = arguments[entry.places[i].first] + entry.places[i].offset;
  for (const Port &port : entry.results)
    results.push_back(host && port.update && port.update->inPlace
                          ? arguments[port.update->argument]
                          : take(port.localBytes()));
  arena = take(host ? entry.memory.arenaBytes : 0);
  scratch = take(host ? entry.memory.scratchBytes : 0);
}
