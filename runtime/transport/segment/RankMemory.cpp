//===- RankMemory.cpp - where a rank has what on the host -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Transport.h"
#include <algorithm>
#include <map>

using namespace tp::runtime;

RankMemory::RankMemory(const EntryView &entry) {
  auto take = [&](int64_t size) {
    int64_t offset = bytes;
    bytes += (size + 63) / 64 * 64;
    return offset;
  };
  bool host = !entry.isCuda();
  int64_t arenaBytes = 0, scratchBytes = 0;
  std::map<TensorNumber, int64_t> known;
  std::map<int64_t, std::vector<int64_t>> carriedOf;
  for (const Entry &each : entry.manifest.entries) {
    EntryView view(entry.manifest, each);
    std::vector<int64_t> taken;
    for (size_t i = 0; i < view.places.size(); ++i) {
      const ArgumentPlace &place = view.places[i];
      if (place.first != int64_t(i)) {
        taken.push_back(-1);
        continue;
      }
      auto [at, isNew] = known.try_emplace(view.tensorOf(int64_t(i)));
      if (isNew)
        at->second = take(host ? place.memoryBytes : 0);
      taken.push_back(at->second);
    }
    for (size_t i = 0; i < taken.size(); ++i)
      taken[i] = taken[view.places[i].first] + view.places[i].offset;
    std::vector<int64_t> made;
    for (const Port &port : view.results)
      made.push_back(host && port.isInPlace() ? taken[port.update->argument]
                                              : take(port.localBytes()));
    // Of an entry that is no part, before its parts ask for it.
    for (const CarriedValue &value : each.carried)
      carriedOf[view.index].push_back(take(host ? value.bytes : 0));
    arenaBytes = std::max(arenaBytes, view.memory.arenaBytes);
    scratchBytes = std::max(scratchBytes, view.memory.scratchBytes);
    if (view.index != entry.index)
      continue;
    arguments = std::move(taken);
    results = std::move(made);
    carried = carriedOf[each.part ? each.part->of : view.index];
  }
  arena = take(host ? arenaBytes : 0);
  scratch = take(host ? scratchBytes : 0);
}
