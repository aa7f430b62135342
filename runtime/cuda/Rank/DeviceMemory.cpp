//===- DeviceMemory.cpp - a rank's memory on a device ---------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/ArtifactFile.h"
#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>
#include <cstring>
#include <set>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

static constexpr int64_t deviceAlignment = 256;

DeviceRank::Layout::Layout(const EntryView &entry, int64_t constantBytes) {
  auto take = [&](int64_t size, bool forCollectives = false) {
    int64_t &bytes = forCollectives ? collectiveBytes : ownBytes;
    Place place = {forCollectives, bytes};
    bytes += (size + deviceAlignment - 1) / deviceAlignment * deviceAlignment;
    return place;
  };
  std::set<std::pair<Space, int64_t>> touched;
  for (const Command &command : entry.program)
    if (const auto *call = std::get_if<CollectiveCommand>(&command.what))
      for (const BufferRef &buffer : {call->input, call->output})
        touched.insert({buffer.space, buffer.index});
  auto forCollectives = [&](Space space, int64_t index) {
    return touched.contains({space, index});
  };
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    arguments.push_back(
        take(entry.places[i].memoryBytes, forCollectives(Space::Argument, i)));
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const ArgumentPlace &place = entry.places[i];
    arguments[i] = {arguments[place.first].forCollectives,
                    arguments[place.first].offset + place.offset};
  }
  for (size_t i = 0; i < entry.results.size(); ++i) {
    const Port &port = entry.results[i];
    results.push_back(
        port.update && port.update->inPlace
            ? arguments[port.update->argument]
            : take(port.localBytes(), forCollectives(Space::Result, i)));
  }
  constants = take(constantBytes, forCollectives(Space::Constant, 0));
  arena = take(entry.memory.arenaBytes, forCollectives(Space::Arena, 0));
  scratch = take(entry.memory.scratchBytes);
  context = take(sizeof(tp_kernel_context));
  status = take(sizeof(int32_t));
  bool multiplies = false;
  entry.forEachCommand([&](const Command &command, int64_t) {
    multiplies |= std::holds_alternative<GemmCommand>(command.what);
  });
  workspace = take(multiplies ? CublasLtGemms::workspaceBytes : 0);
}

uint64_t DeviceRank::Layout::checksum() const {
  std::string places;
  auto add = [&](const Place &place) {
    if (place.forCollectives)
      places += std::to_string(place.offset) + " ";
  };
  for (const std::vector<Place> *ports : {&arguments, &results})
    for (const Place &place : *ports)
      add(place);
  add(constants);
  add(arena);
  return runtime::checksum(places + std::to_string(collectiveBytes));
}

Status DeviceRank::allocate() {
  Status status = gpu.allocate(layout.ownBytes, ownMemory);
  uint64_t given = 0;
  if (status.ok() && layout.collectiveBytes)
    status = transport.deviceMemory(number, layout.collectiveBytes,
                                    layout.checksum(), given);
  collectiveMemory = given;
  if (status.ok() && layout.collectiveBytes && !collectiveMemory)
    status = gpu.allocate(layout.collectiveBytes, collectiveMemory);
  return status;
}

CUdeviceptr DeviceRank::address(const BufferRef &buffer) const {
  switch (buffer.space) {
  case Space::Argument:
    return at(layout.arguments[buffer.index]) + buffer.offset;
  case Space::Result:
    return at(layout.results[buffer.index]) + buffer.offset;
  case Space::Arena:
    return at(layout.arena) + buffer.offset;
  case Space::Constant:
    return at(layout.constants) + buffer.offset;
  case Space::Carried:
    // The manifest was checked: a program for devices has no parts.
    break;
  }
  return 0;
}
