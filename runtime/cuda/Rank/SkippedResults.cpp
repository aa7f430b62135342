//===- SkippedResults.cpp - what collectives that are left out leave ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A device multiplies zeros faster than other numbers, because it takes less
// power. Without collectives their results, and all that is computed from them,
// would be zeros.
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/DeviceRank.h"
#include <algorithm>
#include <random>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

namespace {
struct ByteInterval {
  int64_t offset, bytes;
};
} // namespace

/// What collectives of floats write into the arena.
static std::vector<ByteInterval> skippedResults(const EntryView &entry) {
  std::vector<ByteInterval> ranges;
  for (const Command &command : entry.program) {
    const auto *call = std::get_if<CollectiveCommand>(&command.what);
    if (!call || call->output.space != Space::Arena)
      continue;
    const Collective &row = entry.collectives[call->collective];
    if (!isFloat(row.dtype))
      continue;
    // Its larger side; a reduce_scatter writes the smaller one.
    int64_t bytes = row.wireBytes;
    if (row.kind == CollectiveKind::ReduceScatter)
      bytes /= entry.groups[row.group].size();
    int64_t offset = call->output.offset;
    ranges.push_back(
        {offset, std::min(bytes, entry.memory.arenaBytes - offset)});
  }
  return ranges;
}

Status DeviceRank::fillSkippedResults(uint64_t seed) {
  if (Status status = usable(); !status.ok())
    return status;
  Device::Current current(gpu);
  constexpr int64_t pieceBytes = int64_t(1) << 20;
  void *host = nullptr;
  CUdeviceptr ignored = 0;
  if (Status status = gpu.allocateHost(pieceBytes, host, ignored); !status.ok())
    return status.within("rank " + std::to_string(number));
  // Numbers of either sign between 0.06 and 0.5 as bf16, and so as f32, whose
  // upper half they are; of f16 between 1.3 and 1.8, of f64 smaller ones.
  std::mt19937_64 random(seed);
  auto *words = static_cast<uint16_t *>(host);
  for (int64_t i = 0; i < pieceBytes / int64_t(sizeof(uint16_t)); ++i) {
    uint64_t bits = random();
    words[i] = uint16_t((bits & 0x8000) | (0x3d80 + (bits & 0x0fff) % 0x180));
  }
  Status status;
  for (const ByteInterval &range : skippedResults(entry))
    for (int64_t done = 0; done < range.bytes && status.ok();
         done += pieceBytes)
      status = gpu.driver().cuMemcpyHtoDAsync(
          at(layout.arena) + range.offset + done, host,
          std::min(pieceBytes, range.bytes - done), gpu.stream(Queue::Compute));
  if (status.ok())
    status = watch(gpu.stream(Queue::Compute), /*step=*/false);
  return failed(status.within("rank " + std::to_string(number) +
                              ", what skipped collectives would have "
                              "written"));
}
