//===- KernelMapping.cpp - loops among the threads of a grid --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelMapping.h"
#include "Access.h"
#include "ThreadGroup.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Blocks of 256 threads that keep every chip busy: as many as run at once.
static constexpr int64_t blocksOfDevice = 1024;

/// How many packets a thread takes at once so that the loads in flight hide the
/// memory's latency.
static int64_t packetsInFlight(int64_t bytesOfPacket, int64_t most) {
  constexpr int64_t wantedBytes = 32;
  int64_t packets = 1;
  while (packets < most && bytesOfPacket > 0 &&
         bytesOfPacket * packets < wantedBytes)
    packets *= 2;
  return packets;
}

/// Adds a nest in packets of at most `vector` elements.
static void addNest(const FusedKernel &fusedKernel, int64_t vector,
                    KernelMapping &mapping) {
  unsigned number = mapping.nests.size();
  mapping.vectors.push_back(vector);
  const LoopNest &loopNest = fusedKernel.loopNests[number];
  ArrayRef<int64_t> extents = loopNest.extents;
  if (mapping.kind == Mapping::Pointwise || mapping.kind == Mapping::Tiles) {
    SmallVector<int64_t> all(fusedKernel.rowExtents);
    llvm::append_range(all, extents);
    mapping.nests.push_back(
        cut(all, splitsOf(fusedKernel, loopNest, /*rows=*/true), vector));
    return;
  }
  if (mapping.kind == Mapping::Scatter) {
    SmallVector<int64_t> free;
    for (unsigned level : scatterLevels(loopNest).free)
      free.push_back(extents[level]);
    mapping.nests.push_back(
        cut(free, std::vector<SmallVector<int64_t>>(free.size()), vector));
    return;
  }
  auto splits = splitsOf(fusedKernel, loopNest, /*rows=*/false);
  if (loopNest.numParallel) {
    splits.resize(loopNest.numParallel);
    mapping.nests.push_back(
        cut(extents.take_front(loopNest.numParallel), splits, vector));
    return;
  }
  // Loop nests over the same loops are cut alike, so that threads keep what
  // they computed.
  for (const LoopNest &other : fusedKernel.loopNests) {
    if (other.numParallel || other.extents != loopNest.extents)
      continue;
    auto more = splitsOf(fusedKernel, other, /*rows=*/false);
    for (auto [mine, others] : llvm::zip_equal(splits, more)) {
      llvm::append_range(mine, others);
      sortUnique(mine);
    }
  }
  // What has to be visited in order is not cut but along the outermost loop: a
  // thread goes through one box after the other.
  if (llvm::any_of(fusedKernel.computeLoops, [](ComputeLoop *computeLoop) {
        return computeLoop->isReduction() && !combinersOf(*computeLoop);
      }))
    for (SmallVector<int64_t> &inner :
         MutableArrayRef(splits).drop_front(std::min<size_t>(splits.size(), 1)))
      inner.clear();
  mapping.nests.push_back(cut(extents, splits, vector));
}

std::vector<SegmentedNest> tp::cuda::nestsOf(const FusedKernel &fusedKernel,
                                             const KernelMapping &mapping) {
  KernelMapping made;
  made.kind = mapping.kind;
  for (int64_t vector : mapping.vectors)
    addNest(fusedKernel, vector, made);
  return std::move(made.nests);
}

/// Finds the loop of a nest along which most of what does not lie along the
/// last one lies. False if there is none worth a tile.
static bool tileOf(const StoredValues &plan, const FusedKernel &fusedKernel,
                   KernelMapping &mapping) {
  constexpr int64_t least = 8, most = 64, wantedBytes = 32 * 1024;
  ArrayRef<int64_t> extents = mapping.nests.front().extents;
  if (extents.empty() || extents.back() < least)
    return false;
  unsigned numRows = fusedKernel.rowExtents.size();
  SmallVector<int64_t> traffic(extents.size(), 0), bytes(extents.size(), 0);
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops) {
    int last = numRows == extents.size()
                   ? int(computeLoop->slots.back())
                   : dimOfLoop(*computeLoop, int(extents.size() - numRows) - 1);
    for (const Access &access : accessesOf(plan, *computeLoop)) {
      int dim = access.contiguousDim();
      if (access.isWrite || dim < 0 || last < 0 || dim == last ||
          access.form.dimStrides[last] == 0)
        continue;
      auto slot = llvm::find(computeLoop->slots, unsigned(dim));
      size_t loop = slot != computeLoop->slots.end()
                        ? slot - computeLoop->slots.begin()
                        : numRows + computeLoop->loopOfDim[dim];
      traffic[loop] += access.traffic(computeLoop->extents);
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

static KernelMapping mapPointwise(const StoredValues &plan,
                                  const FusedKernel &fusedKernel) {
  KernelMapping mapping;
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  int64_t vector = std::max<int64_t>(
      vectorAlong(plan, loopNest, int(loopNest.extents.size()) - 1,
                  int(fusedKernel.rowExtents.size()) - 1),
      1);
  addNest(fusedKernel, vector, mapping);
  if (tileOf(plan, fusedKernel, mapping))
    return mapping;
  int64_t packets = mapping.nests.front().packets();
  mapping.perThread = packetsInFlight(readBytes(plan, loopNest) * vector, 4);
  while (mapping.perThread > 1 &&
         packets / (mapping.block * mapping.perThread) < blocksOfDevice)
    mapping.perThread /= 2;
  if (packets <= 128)
    mapping.block = 128;
  return mapping;
}

static KernelMapping mapColumns(const StoredValues &plan,
                                const FusedKernel &fusedKernel) {
  KernelMapping mapping;
  mapping.kind = Mapping::Columns;
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  ArrayRef<int64_t> all = loopNest.extents;
  int64_t vector = std::clamp<int64_t>(
      vectorAlong(plan, loopNest, int(loopNest.numParallel) - 1), 1, 8);
  int64_t rows = product(all.drop_front(loopNest.numParallel));
  int64_t results = loopNest.computeLoops.front()->targets.size();
  if (combinersOf(*loopNest.computeLoops.front())) {
    // Threads of large blocks have few registers.
    int64_t most = vector * results > 1 ? 8 : 16;
    mapping.groupSize = std::min<int64_t>(
        most,
        llvm::PowerOf2Ceil(std::max<int64_t>(llvm::divideCeil(rows, 8), 1)));
  }
  // All warps' results lie in shared memory at once.
  while (vector > 1 &&
         vector * results * mapping.groupSize * warpSize * slotBytes >
             mostSharedBytes)
    vector /= 2;
  addNest(fusedKernel, vector, mapping);
  mapping.block = warpSize * mapping.groupSize;
  if (mapping.groupSize > 1) {
    mapping.perThread = packetsInFlight(readBytes(plan, loopNest) * vector, 8);
    int64_t blocks = 0;
    for (const NestBox &box : mapping.nests.front().boxes)
      blocks += llvm::divideCeil(box.packets(), warpSize);
    int64_t most = rows / (mapping.groupSize * mapping.perThread);
    constexpr int64_t wantedThreads = blocksOfDevice * 256;
    if (blocks > 0 && blocks <= mostTickets)
      mapping.splitFactor =
          std::clamp<int64_t>(wantedThreads / (mapping.block * blocks), 1,
                              std::max<int64_t>(most, 1));
  }
  return mapping;
}

ScatterLevels tp::cuda::scatterLevels(const LoopNest &loopNest) {
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  ScatterLevels levels;
  for (const ComputeLoop::ScatteredLoop &scattered : computeLoop.scattered)
    levels.scattered.push_back(computeLoop.loopOfDim[scattered.loop]);
  for (unsigned level = 0; level < loopNest.extents.size(); ++level)
    if (level >= loopNest.numParallel)
      levels.updates.push_back(level);
    else if (!llvm::is_contained(levels.scattered, level))
      levels.free.push_back(level);
  return levels;
}

static KernelMapping mapScatter(const StoredValues &plan,
                                const FusedKernel &fusedKernel) {
  KernelMapping mapping;
  mapping.kind = Mapping::Scatter;
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  const ComputeLoop &computeLoop = *loopNest.computeLoops.front();
  ScatterLevels levels = scatterLevels(loopNest);
  int64_t vector = 1;
  if (!levels.free.empty()) {
    // Neighbours in a packet have one place.
    unsigned last = levels.free.back();
    int dim = dimOfLoop(computeLoop, last);
    bool isOne = llvm::none_of(
        computeLoop.scattered, [&](const ComputeLoop::ScatteredLoop &loop) {
          return llvm::any_of(loop.index, [&](AffineExpr expr) {
            return expr.isFunctionOfDim(dim);
          });
        });
    if (isOne)
      vector = std::clamp<int64_t>(vectorAlong(plan, loopNest, last), 1, 8);
    while (vector > 1 && loopNest.extents[last] % vector)
      vector /= 2;
  }
  addNest(fusedKernel, vector, mapping);
  constexpr int64_t wantedThreads = blocksOfDevice * 256;
  int64_t packets = mapping.nests.front().packets();
  mapping.splitFactor =
      std::clamp<int64_t>(wantedThreads / std::max<int64_t>(packets, 1), 1,
                          loopNest.extents[levels.scattered.front()]);
  if (packets * mapping.splitFactor <= 128)
    mapping.block = 128;
  return mapping;
}

/// How many blocks share a row: more than one where few long rows are reduced
/// once, and what comes after has no loops.
static int64_t splitFactorOfRows(const StoredValues &plan,
                                 const FusedKernel &fusedKernel) {
  constexpr int64_t longRow = 32 * 1024, elementsOfBlock = 4096;
  const LoopNest &first = fusedKernel.loopNests.front();
  int64_t rows = product(fusedKernel.rowExtents),
          length = product(first.extents);
  if (rows == 0 || rows > blocksOfDevice / 8 || length < longRow ||
      first.numParallel)
    return 1;
  for (const LoopNest &loopNest : ArrayRef(fusedKernel.loopNests).drop_front())
    if (product(loopNest.extents) != 1 || loopNest.numParallel)
      return 1;
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops) {
    if (computeLoop->isReduction() && !combinersOf(*computeLoop))
      return 1;
    // What the loop computes and does not leave in memory stays there.
    for (const Read &read : computeLoop->reads.reads)
      for (ComputeLoop *maker : first.computeLoops)
        if (computeLoop->loopNest != 0 && !maker->isReduction() &&
            llvm::is_contained(maker->targets, read.root))
          return 1;
  }
  return std::min(blocksOfDevice / rows, length / elementsOfBlock);
}

KernelMapping tp::cuda::mapKernel(const StoredValues &plan,
                                  const FusedKernel &fusedKernel) {
  bool reduces =
      llvm::any_of(fusedKernel.computeLoops, [](ComputeLoop *computeLoop) {
        return computeLoop->isReduction();
      });
  if (!reduces && fusedKernel.loopNests.size() == 1)
    return mapPointwise(plan, fusedKernel);
  if (!fusedKernel.computeLoops.front()->scattered.empty())
    return mapScatter(plan, fusedKernel);
  if (fusedKernel.loopNests.size() == 1 && fusedKernel.rowExtents.empty() &&
      fusedKernel.loopNests.front().numParallel > 0)
    return mapColumns(plan, fusedKernel);

  KernelMapping mapping;
  mapping.kind = Mapping::Rows;
  int64_t longest = 1;
  bool serial = false, across = movesAcrossRows(plan, fusedKernel);
  for (const LoopNest &loopNest : fusedKernel.loopNests) {
    longest = std::max(longest, product(loopNest.extents));
    if (loopNest.numParallel == 0)
      for (ComputeLoop *computeLoop : loopNest.computeLoops)
        serial |= computeLoop->isReduction() && !combinersOf(*computeLoop);
  }
  int64_t rows = product(fusedKernel.rowExtents);
  constexpr int64_t shortRow = 8, warpRow = 1024, perThread = 16;
  // Neighbouring threads on neighbouring rows read what lies side by side.
  if (serial || longest <= shortRow ||
      (across && rows >= warpSize && longest <= 4096))
    mapping.groupSize = 1;
  else if (int64_t splitFactor = splitFactorOfRows(plan, fusedKernel);
           splitFactor > 1) {
    mapping.splitFactor = splitFactor;
    mapping.groupSize = 256;
  } else if (longest <= warpRow)
    mapping.groupSize = warpSize;
  else
    mapping.groupSize = std::clamp<int64_t>(
        llvm::PowerOf2Ceil(llvm::divideCeil(longest, perThread)), 64,
        mostThreads);
  mapping.block = mapping.groupSize > warpSize ? mapping.groupSize : 128;
  for (const LoopNest &loopNest : fusedKernel.loopNests) {
    ArrayRef<int64_t> extents = loopNest.extents;
    if (loopNest.numParallel) {
      // A thread per element of the parallel loops.
      addNest(fusedKernel, 1, mapping);
      mapping.held.push_back(false);
      continue;
    }
    int64_t vector = 16;
    bool any = false;
    for (const LoopNest &other : fusedKernel.loopNests) {
      if (other.numParallel || other.extents != loopNest.extents)
        continue;
      if (int64_t most = vectorAlong(plan, other, int(extents.size()) - 1)) {
        vector = std::min(vector, most);
        any = true;
      }
    }
    if (!any || mapping.groupSize == 1)
      vector = 1;
    // Half-filled vectors leave threads without work.
    while (vector > 1 && product(extents) < mapping.groupSize * vector)
      vector /= 2;
    addNest(fusedKernel, vector, mapping);
    mapping.held.push_back(mapping.splitFactor == 1 &&
                           mapping.nests.back().elementsPerThread(
                               mapping.groupSize) <= mostHeldElements);
    if (!mapping.held.back() && mapping.groupSize > 1)
      mapping.perThread =
          std::max(mapping.perThread,
                   packetsInFlight(readBytes(plan, loopNest) * vector, 8));
  }
  return mapping;
}
