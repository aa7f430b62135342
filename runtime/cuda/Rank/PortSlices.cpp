//===- PortSlices.cpp - a rank's buffer in pieces -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>

using namespace tp::runtime;

/// Rows [first, last) of dimension `d`.
static RankSlice rowsOf(const RankSlice &whole, int64_t d, int64_t first,
                        int64_t last) {
  RankSlice slice = whole;
  slice.localShape[d] = last - first;
  slice.boxes.clear();
  for (Box box : whole.boxes) {
    int64_t begin = std::max(box.local[d], first);
    int64_t end = std::min(box.local[d] + box.size[d], last);
    if (begin >= end)
      continue;
    box.global[d] += begin - box.local[d];
    box.local[d] = begin - first;
    box.size[d] = end - begin;
    slice.boxes.push_back(std::move(box));
  }
  return slice;
}

/// `depth`: the first dimension in storage order that may be larger than 1.
static Status
visitSlices(const RankSlice &whole, int64_t mostBytes, size_t depth,
            int64_t offset,
            const std::function<Status(const RankSlice &, int64_t)> &visit) {
  int64_t bytes = whole.localBytes();
  if (bytes == 0)
    return {};
  if (bytes <= mostBytes || depth == whole.permutation.size())
    return visit(whole, offset);
  int64_t d = whole.permutation[depth];
  int64_t size = whole.localShape[d], rowBytes = bytes / size;
  int64_t rows = std::max<int64_t>(mostBytes / rowBytes, 1);
  for (int64_t first = 0; first < size; first += rows) {
    int64_t last = std::min(first + rows, size);
    if (Status status =
            visitSlices(rowsOf(whole, d, first, last), mostBytes, depth + 1,
                        offset + first * rowBytes, visit);
        !status.ok())
      return status;
  }
  return {};
}

Status cuda::forEachSlice(
    const RankSlice &whole, int64_t mostBytes,
    const std::function<Status(const RankSlice &, int64_t)> &visit) {
  return visitSlices(whole, mostBytes, 0, 0, visit);
}
