//===- PortSlices.cpp - a rank's buffer in pieces -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>

using namespace tp::runtime;

/// Rows [first, last) of the port's dimension `d`, of rank `rank` alone.
static Port rowsOf(const Port &port, int64_t rank, int64_t d, int64_t first,
                   int64_t last) {
  Port slice = port;
  slice.localShape[d] = last - first;
  std::vector<Box> &boxes = slice.boxes[rank];
  boxes.clear();
  for (Box box : port.boxes[rank]) {
    int64_t begin = std::max(box.local[d], first);
    int64_t end = std::min(box.local[d] + box.size[d], last);
    if (begin >= end)
      continue;
    box.global[d] += begin - box.local[d];
    box.local[d] = begin - first;
    box.size[d] = end - begin;
    boxes.push_back(std::move(box));
  }
  return slice;
}

/// `depth`: the first dimension in storage order that may be larger than 1.
static Status
visitSlices(const Port &port, int64_t rank, int64_t mostBytes, size_t depth,
            int64_t offset,
            const std::function<Status(const Port &, int64_t)> &visit) {
  int64_t bytes = port.localBytes();
  if (bytes == 0)
    return {};
  if (bytes <= mostBytes || depth == port.permutation.size())
    return visit(port, offset);
  int64_t d = port.permutation[depth];
  int64_t size = port.localShape[d], rowBytes = bytes / size;
  int64_t rows = std::max<int64_t>(mostBytes / rowBytes, 1);
  for (int64_t first = 0; first < size; first += rows) {
    int64_t last = std::min(first + rows, size);
    if (Status status =
            visitSlices(rowsOf(port, rank, d, first, last), rank, mostBytes,
                        depth + 1, offset + first * rowBytes, visit);
        !status.ok())
      return status;
  }
  return {};
}

Status
cuda::forEachSlice(const Port &port, int64_t rank, int64_t mostBytes,
                   const std::function<Status(const Port &, int64_t)> &visit) {
  // Boxes of other ranks would be copied with every slice.
  Port own = port;
  own.boxes.assign(rank + 1, {});
  own.boxes[rank] = port.boxes[rank];
  return visitSlices(own, rank, mostBytes, 0, 0, visit);
}
