//===- DevicePoison.cpp - fills that no valid element may come from -------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include "tp/Runtime/Slices.h"

using namespace tp::runtime;
using namespace tp::runtime::cuda;

/// A byte that, repeated, is NaN in the float type, and in integers a number
/// that no index can be.
static unsigned char poisonByte(DataType type) {
  switch (type) {
  case DataType::I1:
    // Any other byte is no i1 at all; code may rely on 0 or 1.
    return 1;
  case DataType::I64:
  case DataType::I32:
  case DataType::I16:
  case DataType::I8:
  case DataType::U64:
  case DataType::U32:
  case DataType::U16:
  case DataType::U8:
  case DataType::Index:
  case DataType::F8E4M3FNUZ:
  case DataType::F8E5M2FNUZ:
    return 0x80;
  default:
    return 0xff;
  }
}

void DeviceRank::findPadding() {
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const Port &port = entry.arguments[i];
    if (port.dead)
      continue;
    std::vector<uint8_t> mask =
        paddingMask(port.slice(entry.coordinates(number)));
    int64_t bytes = byteSize(port.dtype), size = mask.size();
    size_t first = padding.size();
    for (int64_t begin = 0; begin < size;) {
      int64_t end = begin;
      while (end < size && mask[end])
        ++end;
      if (end == begin) {
        ++begin;
        continue;
      }
      CUdeviceptr place = at(layout.arguments[i]) + begin * bytes;
      int64_t length = (end - begin) * bytes;
      // Runs of one length at one distance are one fill.
      Padding *last = padding.size() > first ? &padding.back() : nullptr;
      int64_t pitch =
          last ? place - last->address - (last->rows - 1) * last->pitch : 0;
      if (last && last->bytes == length &&
          (last->rows == 1 || last->pitch == pitch)) {
        last->pitch = pitch;
        ++last->rows;
      } else {
        padding.push_back({place, length, length, 1, poisonByte(port.dtype)});
      }
      begin = end;
    }
  }
}

Status DeviceRank::queuePoison() {
  const Driver &driver = gpu.driver();
  CUstream stream = gpu.stream(Queue::Compute);
  Status status;
  for (const Padding &fill : padding)
    if (status.ok())
      status = driver.cuMemsetD2D8Async(fill.address, fill.pitch, fill.pattern,
                                        fill.bytes, fill.rows, stream);
  // The arena and results hold all types: NaN in all floats but the FNUZ types,
  // where it is the largest negative number.
  for (size_t i = 0; i < entry.results.size() && status.ok(); ++i)
    if (int64_t bytes = entry.results[i].localBytes();
        bytes && !entry.results[i].isInPlace())
      status = driver.cuMemsetD8Async(
          at(layout.results[i]),
          entry.results[i].dtype == DataType::I1 ? 1 : 0xff, bytes, stream);
  if (status.ok() && entry.memory.arenaBytes)
    status = driver.cuMemsetD8Async(at(layout.arena), 0xff,
                                    entry.memory.arenaBytes, stream);
  return status;
}
