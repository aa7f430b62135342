//===- KernelMapping.cpp - loops among the threads of a grid --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMapping.h"
#include "Access.h"
#include "Team.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Blocks of 256 threads that keep every chip busy: as many as run at once.
static constexpr int64_t blocksOfDevice = 1024;

/// How many chunks a thread takes at once so that the loads in flight hide the
/// memory's latency.
static int64_t chunksInFlight(int64_t bytesOfChunk, int64_t most) {
  constexpr int64_t wantedBytes = 32;
  int64_t chunks = 1;
  while (chunks < most && bytesOfChunk > 0 &&
         bytesOfChunk * chunks < wantedBytes)
    chunks *= 2;
  return chunks;
}

/// Finds the loop of a nest along which most of what does not lie along the
/// last one lies. False if there is none worth a tile.
static bool tileOf(const StoragePlan &plan, const Group &group,
                   KernelMapping &mapping) {
  constexpr int64_t least = 8, most = 64, wantedBytes = 32 * 1024;
  ArrayRef<int64_t> extents = mapping.nests.front().extents;
  if (extents.empty() || extents.back() < least)
    return false;
  unsigned numRows = group.rowExtents.size();
  SmallVector<int64_t> traffic(extents.size(), 0), bytes(extents.size(), 0);
  for (Stage *stage : group.stages) {
    int last = numRows == extents.size()
                   ? int(stage->slots.back())
                   : dimOfLoop(*stage, int(extents.size() - numRows) - 1);
    for (const Access &access : accessesOf(plan, *stage)) {
      int dim = access.contiguousDim();
      if (access.isWrite || dim < 0 || last < 0 || dim == last ||
          access.form.dimStrides[last] == 0)
        continue;
      auto slot = llvm::find(stage->slots, unsigned(dim));
      size_t loop = slot != stage->slots.end()
                        ? slot - stage->slots.begin()
                        : numRows + stage->loopOfDim[dim];
      traffic[loop] += access.traffic(stage->extents);
      bytes[loop] += access.bytes;
    }
  }
  unsigned loop = llvm::max_element(traffic) - traffic.begin();
  if (traffic[loop] == 0 || extents[loop] < least)
    return false;
  mapping.kind = Mapping::Tiles;
  mapping.tileLoop = loop;
  mapping.tile = most;
  while (mapping.tile > 16 &&
         bytes[loop] * mapping.tile * mapping.tile > wantedBytes)
    mapping.tile /= 2;
  return true;
}

static KernelMapping mapPointwise(const StoragePlan &plan, const Group &group) {
  KernelMapping mapping;
  const Bundle &bundle = group.bundles.front();
  SmallVector<int64_t> extents(group.rowExtents);
  llvm::append_range(extents, bundle.extents);
  int64_t vector = std::max<int64_t>(
      vectorAlong(plan, bundle, int(bundle.extents.size()) - 1,
                  int(group.rowExtents.size()) - 1),
      1);
  mapping.nests.push_back(
      cut(extents, splitsOf(group, bundle, /*rows=*/true), vector));
  if (tileOf(plan, group, mapping))
    return mapping;
  int64_t chunks = mapping.nests.front().chunks();
  mapping.perThread = chunksInFlight(readBytes(plan, bundle) * vector, 4);
  while (mapping.perThread > 1 &&
         chunks / (mapping.block * mapping.perThread) < blocksOfDevice)
    mapping.perThread /= 2;
  if (chunks <= 128)
    mapping.block = 128;
  return mapping;
}

static KernelMapping mapColumns(const StoragePlan &plan, const Group &group) {
  KernelMapping mapping;
  mapping.kind = Mapping::Columns;
  const Bundle &bundle = group.bundles.front();
  ArrayRef<int64_t> all = bundle.extents;
  auto splits = splitsOf(group, bundle, /*rows=*/false);
  splits.resize(bundle.numParallel);
  int64_t vector = std::clamp<int64_t>(
      vectorAlong(plan, bundle, int(bundle.numParallel) - 1), 1, 8);
  int64_t rows = product(all.drop_front(bundle.numParallel));
  int64_t results = bundle.stages.front()->targets.size();
  if (combinersOf(*bundle.stages.front())) {
    // Threads of large blocks have few registers.
    int64_t most = vector * results > 1 ? 8 : 16;
    mapping.team = std::min<int64_t>(most, llvm::PowerOf2Ceil(std::max<int64_t>(
                                               llvm::divideCeil(rows, 8), 1)));
  }
  // All warps' results lie in shared memory at once.
  while (vector > 1 && vector * results * mapping.team * warpSize * slotBytes >
                           mostSharedBytes)
    vector /= 2;
  mapping.nests.push_back(
      cut(all.take_front(bundle.numParallel), splits, vector));
  mapping.block = warpSize * mapping.team;
  if (mapping.team > 1) {
    mapping.perThread = chunksInFlight(readBytes(plan, bundle) * vector, 8);
    int64_t blocks = 0;
    for (const Segment &segment : mapping.nests.front().segments)
      blocks += llvm::divideCeil(segment.chunks(), warpSize);
    int64_t most = rows / (mapping.team * mapping.perThread);
    constexpr int64_t wantedThreads = blocksOfDevice * 256;
    if (blocks > 0 && blocks <= mostTickets)
      mapping.parts =
          std::clamp<int64_t>(wantedThreads / (mapping.block * blocks), 1,
                              std::max<int64_t>(most, 1));
  }
  return mapping;
}

/// How many blocks share a row: more than one where few long rows are reduced
/// once, and what comes after has no loops.
static int64_t partsOfRows(const StoragePlan &plan, const Group &group) {
  constexpr int64_t longRow = 32 * 1024, elementsOfBlock = 4096;
  const Bundle &first = group.bundles.front();
  int64_t rows = product(group.rowExtents), length = product(first.extents);
  if (rows == 0 || rows > blocksOfDevice / 8 || length < longRow ||
      first.numParallel)
    return 1;
  for (const Bundle &bundle : ArrayRef(group.bundles).drop_front())
    if (product(bundle.extents) != 1 || bundle.numParallel)
      return 1;
  for (Stage *stage : group.stages) {
    if (stage->isReduction() && !combinersOf(*stage))
      return 1;
    // What the loop computes and does not leave in memory stays there.
    for (const Read &read : stage->reads.reads)
      for (Stage *maker : first.stages)
        if (stage->bundle != 0 && !maker->isReduction() &&
            llvm::is_contained(maker->targets, read.root))
          return 1;
  }
  return std::min(blocksOfDevice / rows, length / elementsOfBlock);
}

KernelMapping tp::cuda::mapKernel(const StoragePlan &plan, const Group &group) {
  bool reduces = llvm::any_of(
      group.stages, [](Stage *stage) { return stage->isReduction(); });
  if (!reduces && group.bundles.size() == 1)
    return mapPointwise(plan, group);
  if (group.bundles.size() == 1 && group.rowExtents.empty() &&
      group.bundles.front().numParallel > 0)
    return mapColumns(plan, group);

  KernelMapping mapping;
  mapping.kind = Mapping::Rows;
  int64_t longest = 1;
  bool serial = false, across = movesAcrossRows(plan, group);
  for (const Bundle &bundle : group.bundles) {
    longest = std::max(longest, product(bundle.extents));
    if (bundle.numParallel == 0)
      for (Stage *stage : bundle.stages)
        serial |= stage->isReduction() && !combinersOf(*stage);
  }
  int64_t rows = product(group.rowExtents);
  constexpr int64_t shortRow = 8, warpRow = 1024, perThread = 16;
  // Neighbouring threads on neighbouring rows read what lies side by side.
  if (serial || longest <= shortRow ||
      (across && rows >= warpSize && longest <= 4096))
    mapping.team = 1;
  else if (int64_t parts = partsOfRows(plan, group); parts > 1) {
    mapping.parts = parts;
    mapping.team = 256;
  } else if (longest <= warpRow)
    mapping.team = warpSize;
  else
    mapping.team = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(longest, perThread)), 64,
        mostThreads);
  mapping.block = mapping.team > warpSize ? mapping.team : 128;
  for (const Bundle &bundle : group.bundles) {
    ArrayRef<int64_t> extents = bundle.extents;
    auto splits = splitsOf(group, bundle, /*rows=*/false);
    if (bundle.numParallel) {
      // A thread per element of the parallel loops.
      splits.resize(bundle.numParallel);
      mapping.nests.push_back(
          cut(extents.take_front(bundle.numParallel), splits, 1));
      mapping.held.push_back(false);
      continue;
    }
    // Bundles over the same loops are cut alike, so that threads keep what they
    // computed.
    int64_t vector = 16;
    bool any = false;
    for (const Bundle &other : group.bundles) {
      if (other.numParallel || other.extents != bundle.extents)
        continue;
      if (int64_t most = vectorAlong(plan, other, int(extents.size()) - 1)) {
        vector = std::min(vector, most);
        any = true;
      }
      auto more = splitsOf(group, other, /*rows=*/false);
      for (auto [mine, others] : llvm::zip_equal(splits, more)) {
        llvm::append_range(mine, others);
        sortUnique(mine);
      }
    }
    if (!any || mapping.team == 1)
      vector = 1;
    // Half-filled vectors leave threads without work.
    while (vector > 1 && product(extents) < mapping.team * vector)
      vector /= 2;
    mapping.nests.push_back(cut(extents, splits, vector));
    mapping.held.push_back(mapping.parts == 1 &&
                           mapping.nests.back().elementsPerThread(
                               mapping.team) <= mostHeldElements);
    if (!mapping.held.back() && mapping.team > 1)
      mapping.perThread =
          std::max(mapping.perThread,
                   chunksInFlight(readBytes(plan, bundle) * vector, 8));
  }
  return mapping;
}
