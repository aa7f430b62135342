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
  if (mapping.nests.front().chunks() <= 128)
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
  int64_t columns = product(all.take_front(bundle.numParallel));
  int64_t vector = std::clamp<int64_t>(
      vectorAlong(plan, bundle, int(bundle.numParallel) - 1), 1, 8);
  // Columns enough to keep the device busy matter more than wide accesses.
  constexpr int64_t wantedBlocks = 128;
  while (vector > 1 && columns / (warpSize * vector) < wantedBlocks)
    vector /= 2;
  mapping.nests.push_back(
      cut(all.take_front(bundle.numParallel), splits, vector));
  int64_t rows = product(all.drop_front(bundle.numParallel));
  mapping.team =
      combinersOf(*bundle.stages.front())
          ? std::min<int64_t>(16, llvm::PowerOf2Ceil(std::max<int64_t>(
                                      llvm::divideCeil(rows, 8), 1)))
          : 1;
  mapping.block = warpSize * mapping.team;
  return mapping;
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
  else if (longest <= warpRow)
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
    mapping.held.push_back(mapping.nests.back().elementsPerThread(
                               mapping.team) <= mostHeldElements);
  }
  return mapping;
}
