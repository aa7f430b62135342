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

SmallVector<Access> tp::cuda::accessesOf(const StoredValues &plan,
                                         const ComputeLoop &computeLoop) {
  SmallVector<Access> accesses;
  IndexSpace space = IndexSpace::ofExtents(computeLoop.extents);
  space.symbols = computeLoop.reads.symbols;
  auto add = [&](Value root, const Indices &index, bool isWrite) {
    const Storage &storage = plan.storage(root);
    AffineExpr address = applyMap(storage.address, index, {}, space).front();
    auto form =
        linearForm(address, computeLoop.extents.size(), space.symbols.size());
    if (!form)
      return;
    for (auto [stride, extent] :
         llvm::zip_equal(form->dimStrides, computeLoop.extents))
      if (extent == 1)
        stride = 0;
    accesses.push_back(
        {root, isWrite, elementBytes(storage.elementType), std::move(*form)});
  };
  for (const Read &read : computeLoop.reads.reads)
    if (!read.dataDependent && !read.isInit)
      add(read.root, read.index, /*isWrite=*/false);
  for (auto [target, index] :
       llvm::zip_equal(computeLoop.targets, computeLoop.targetIndex))
    if (plan.isStored(target) && plan.storage(target).space != Space::Scratch)
      add(target, index, /*isWrite=*/true);
  return accesses;
}

int tp::cuda::dimOfLoop(const ComputeLoop &computeLoop, int loop) {
  for (auto [dim, at] : llvm::enumerate(computeLoop.loopOfDim))
    if (at == loop)
      return dim;
  return -1;
}

int64_t tp::cuda::vectorAlong(const StoredValues &plan, const LoopNest &loopNest,
                              int loop, int row) {
  int64_t vector = 0, all = 0;
  llvm::SmallMapVector<int64_t, int64_t, 4> trafficOf;
  for (ComputeLoop *computeLoop : loopNest.computeLoops) {
    int dim = loop >= 0  ? dimOfLoop(*computeLoop, loop)
              : row >= 0 ? int(computeLoop->slots[row])
                         : -1;
    for (const Access &access : accessesOf(plan, *computeLoop)) {
      if (dim < 0 || access.form.dimStrides[dim] != 1)
        continue;
      int64_t traffic = access.traffic(computeLoop->extents);
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

bool tp::cuda::movesAcrossRows(const StoredValues &plan,
                               const FusedKernel &fusedKernel) {
  int64_t along = 0, across = 0;
  for (ComputeLoop *computeLoop : fusedKernel.computeLoops)
    for (const Access &access : accessesOf(plan, *computeLoop)) {
      int dim = access.contiguousDim();
      if (dim >= 0)
        (llvm::is_contained(computeLoop->slots, unsigned(dim)) ? across
                                                               : along) +=
            access.traffic(computeLoop->extents);
    }
  return across > along;
}

int64_t tp::cuda::readBytes(const StoredValues &plan, const LoopNest &loopNest) {
  int64_t bytes = 0;
  for (ComputeLoop *computeLoop : loopNest.computeLoops) {
    int64_t elements = product(computeLoop->extents);
    for (const Access &access : accessesOf(plan, *computeLoop))
      // What repeats comes from the caches.
      if (!access.isWrite &&
          access.traffic(computeLoop->extents) >= elements * access.bytes / 2)
        bytes += access.bytes;
  }
  return bytes;
}
