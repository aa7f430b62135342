//===- Access.cpp - what a stage reads and writes -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Access.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

int Access::contiguousDim() const {
  for (auto [dim, stride] : llvm::enumerate(form.dimStrides))
    if (stride == 1)
      return dim;
  return -1;
}

int64_t Access::alignmentAlong(int dim) const {
  int64_t alignment = std::gcd(accessBytes, form.constant);
  for (auto [other, stride] : llvm::enumerate(form.dimStrides))
    if (int(other) != dim)
      alignment = std::gcd(alignment, stride);
  for (int64_t stride : form.symbolStrides)
    alignment = std::gcd(alignment, stride);
  return alignment;
}

int64_t Access::traffic(ArrayRef<int64_t> extents) const {
  int64_t elements = 1;
  for (auto [stride, extent] : llvm::zip_equal(form.dimStrides, extents))
    if (stride != 0)
      elements *= extent;
  return elements * bytes;
}

SmallVector<Access> tp::cuda::accessesOf(const StoragePlan &plan,
                                         const Stage &stage) {
  SmallVector<Access> accesses;
  IndexSpace space = IndexSpace::ofExtents(stage.extents);
  space.symbols = stage.reads.symbols;
  auto add = [&](Value root, const Indices &index, bool isWrite) {
    const Storage &storage = plan.storage(root);
    AffineExpr address = applyMap(storage.address, index, {}, space).front();
    auto form = linearForm(address, stage.extents.size(), space.symbols.size());
    if (!form)
      return;
    for (auto [stride, extent] :
         llvm::zip_equal(form->dimStrides, stage.extents))
      if (extent == 1)
        stride = 0;
    accesses.push_back(
        {root, isWrite, elementBytes(storage.elementType), std::move(*form)});
  };
  for (const Read &read : stage.reads.reads)
    if (!read.dataDependent && !read.isInit)
      add(read.root, read.index, /*isWrite=*/false);
  for (auto [target, index] : llvm::zip_equal(stage.targets, stage.targetIndex))
    if (plan.isStored(target) && plan.storage(target).space != Space::Scratch)
      add(target, index, /*isWrite=*/true);
  return accesses;
}

int tp::cuda::dimOfLoop(const Stage &stage, int loop) {
  for (auto [dim, at] : llvm::enumerate(stage.loopOfDim))
    if (at == loop)
      return dim;
  return -1;
}

int64_t tp::cuda::vectorAlong(const StoragePlan &plan, const Bundle &bundle,
                              int loop, int row) {
  int64_t vector = 0, all = 0;
  llvm::SmallMapVector<int64_t, int64_t, 4> trafficOf;
  for (Stage *stage : bundle.stages) {
    int dim = loop >= 0  ? dimOfLoop(*stage, loop)
              : row >= 0 ? int(stage->slots[row])
                         : -1;
    for (const Access &access : accessesOf(plan, *stage)) {
      if (dim < 0 || access.form.dimStrides[dim] != 1)
        continue;
      int64_t traffic = access.traffic(stage->extents);
      trafficOf[access.bytes] += traffic;
      all += traffic;
      vector = std::max(vector, std::min(accessBytes / access.bytes,
                                         access.alignmentAlong(dim)));
    }
  }
  if (vector == 0)
    return 0;
  int64_t widest = 1;
  for (auto [bytes, traffic] : trafficOf)
    if (traffic * 4 >= all)
      widest = std::max(widest, bytes);
  return std::min(vector, accessBytes / widest);
}

bool tp::cuda::movesAcrossRows(const StoragePlan &plan, const Group &group) {
  int64_t along = 0, across = 0;
  for (Stage *stage : group.stages)
    for (const Access &access : accessesOf(plan, *stage)) {
      int dim = access.contiguousDim();
      if (dim >= 0)
        (llvm::is_contained(stage->slots, unsigned(dim)) ? across : along) +=
            access.traffic(stage->extents);
    }
  return across > along;
}

int64_t tp::cuda::readBytes(const StoragePlan &plan, const Bundle &bundle) {
  int64_t bytes = 0;
  for (Stage *stage : bundle.stages) {
    int64_t elements = product(stage->extents);
    for (const Access &access : accessesOf(plan, *stage))
      // What repeats comes from the caches.
      if (!access.isWrite &&
          access.traffic(stage->extents) >= elements * access.bytes / 2)
        bytes += access.bytes;
  }
  return bytes;
}
