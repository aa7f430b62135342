//===- WrittenBuffers.cpp - what commands have written --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WrittenBuffers.h"
#include <algorithm>

using namespace tp::runtime;

std::optional<size_t> WrittenBuffers::spaceOf(const BufferRef &buffer) const {
  if (buffer.space == Space::Arena)
    return spaces.size() - 1;
  if (buffer.space == Space::Result)
    return buffer.index;
  return std::nullopt;
}

void WrittenBuffers::write(const BufferRef &buffer,
                           std::optional<int64_t> bytes) {
  std::optional<size_t> number = spaceOf(buffer);
  if (!number)
    return;
  Bytes *space = &spaces[*number];
  int64_t begin = buffer.offset;
  if (!bytes) {
    space->openFrom = std::min(begin, space->openFrom.value_or(begin));
    return;
  }
  int64_t end = begin + *bytes;
  if (begin == end)
    return;
  // Takes in what it meets.
  auto next = space->ranges.upper_bound(begin);
  if (next != space->ranges.begin() && std::prev(next)->second >= begin)
    --next;
  while (next != space->ranges.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->second);
    next = space->ranges.erase(next);
  }
  space->ranges.emplace(begin, end);
}

bool WrittenBuffers::mayHold(const BufferRef &buffer, int64_t bytes) const {
  std::optional<size_t> number = spaceOf(buffer);
  if (!number || bytes == 0)
    return true;
  const Bytes *space = &spaces[*number];
  int64_t end = buffer.offset + bytes;
  if (space->openFrom && *space->openFrom < end)
    return true;
  auto next = space->ranges.lower_bound(end);
  return next != space->ranges.begin() &&
         std::prev(next)->second > buffer.offset;
}
